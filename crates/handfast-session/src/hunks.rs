//! Committing some lines of what was shown.

use std::collections::BTreeSet;

use handfast::{ErrorKind, Verb};

use crate::change::{Hunk, ReviewOptions, Side, apply};
use crate::error::Error;
use crate::mount::Mount;
use crate::overlay::{DiffKind, Part, Past};
use crate::session::Session;
use crate::vpath::VirtualPath;
use crate::whole::{Committed, verdict};

impl Session {
    /// Commits some hunks of what [`Session::review`] showed, by their IDs. Each file gets the base's
    /// content with these lines changed, if both sides are still what was shown; the rest stays in
    /// the session. `message` says why, for the log.
    ///
    /// # Errors
    /// `NotFound` if a hunk is gone, because its file was changed since, with nothing committed;
    /// `Invalid` for some of the lines of a file that is new or was moved. What was changed between
    /// the look and the commit is a conflict in the report.
    pub fn commit_hunks(&self, ids: &[String], message: Option<&str>) -> Result<Committed, Error> {
        self.whole_because(Verb::Commit, None, message, |deed| {
            let parts = self.parts(ids)?;
            let paths: Vec<VirtualPath> = parts.iter().map(|(path, ..)| path.clone()).collect();
            if deed.is_recorded() {
                deed.also(&paths)?;
            }
            let mut all = Committed::default();
            let past = Past {
                commit: self.commit_time()?,
                message,
                why_not: None,
            };
            for (path, mount, part) in parts {
                let guard = self.commit_guard(mount);
                let overlay = mount
                    .layer
                    .overlay()
                    .ok_or_else(|| gone(&path.to_string()))?;
                match overlay.commit_part(&part, &past, &guard) {
                    Ok(why_not) => {
                        all.committed.push(path);
                        all.not_undoable = all.not_undoable.take().or(why_not);
                    }
                    Err(error) => all.conflicts.push((path, error.detail())),
                }
            }
            deed.done(verdict(&all))?;
            Ok(all)
        })
    }

    /// What the chosen hunks make of each file.
    fn parts(&self, ids: &[String]) -> Result<Vec<(VirtualPath, &Mount, Part)>, Error> {
        let options = ReviewOptions {
            text_limit: ReviewOptions::FULL,
            keep_content: true,
            ..ReviewOptions::default()
        };
        let mut left: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
        let mut parts = Vec::new();
        self.review(&options, &mut |change| {
            let chosen: Vec<&Hunk> = change
                .hunks()
                .iter()
                .filter(|hunk| left.contains(hunk.id.as_str()))
                .collect();
            if chosen.is_empty() {
                return Ok(());
            }
            if change.kind != DiffKind::Changed {
                return Err(Error::refused(
                    ErrorKind::Invalid,
                    format!(
                        "`{}` is new, moved or gone: commit it by its path",
                        change.path
                    ),
                ));
            }
            let digest = |side: &Option<Side>| {
                let side = side.as_ref();
                side.and_then(|side| side.digest.clone())
                    .unwrap_or_default()
            };
            let before = change.contents.as_ref().map_or(&[][..], |both| &both.0);
            parts.push((
                change.path.clone(),
                self.route(&change.path)?.mount,
                Part {
                    path: change.below.clone(),
                    before: digest(&change.before),
                    after: digest(&change.after),
                    content: apply(before, &chosen),
                },
            ));
            for hunk in chosen {
                left.remove(hunk.id.as_str());
            }
            Ok(())
        })?;
        match left.first() {
            None => Ok(parts),
            Some(id) => Err(gone(id)),
        }
    }
}

fn gone(what: &str) -> Error {
    Error::refused(
        ErrorKind::NotFound,
        format!("there is no hunk `{what}` any more: look at the changes again"),
    )
}
