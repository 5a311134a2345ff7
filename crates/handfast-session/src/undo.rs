//! Taking the last commits of a session back.

use std::time::{SystemTime, UNIX_EPOCH};

use handfast::{ErrorKind, Verb};

use crate::error::Error;
use crate::mount::Mount;
use crate::overlay::{DiffKind, Overlay};
use crate::rules::Access;
use crate::session::Session;
use crate::vpath::VirtualPath;
use crate::whole::{Committed, verdict, virtual_path};

/// A commit that was made, and what taking it back would do.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PastCommit {
    /// Names it, for [`Session::undo`].
    pub id: u64,
    /// Why it was made, as it was told then.
    pub message: Option<String>,
    /// Why it cannot be taken back.
    pub why_not: Option<String>,
    /// How many bytes are kept for it.
    pub bytes: u64,
    /// What taking it back does to the base.
    pub changes: Vec<(VirtualPath, DiffKind)>,
}

impl PastCommit {
    /// When it was made, since the epoch.
    #[must_use]
    pub fn made(&self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.id)
    }
}

impl Session {
    /// The last commits, the newest first: as many as can be taken back. Of a commit that cannot be,
    /// the reason is known.
    ///
    /// # Errors
    /// `Stale` if the session's store was changed behind our back; what the disk says.
    pub fn past_commits(&self) -> Result<Vec<PastCommit>, Error> {
        let mut found: Vec<PastCommit> = Vec::new();
        for (mount, overlay) in self.overlays() {
            for record in overlay.past()? {
                let mut changes = Vec::new();
                for (path, kind) in record.changes {
                    changes.push((virtual_path(mount, &path)?, kind));
                }
                match found.iter_mut().find(|known| known.id == record.commit) {
                    Some(known) => {
                        known.why_not = known.why_not.take().or(record.why_not);
                        known.bytes += record.bytes;
                        known.changes.extend(changes);
                    }
                    None => found.push(PastCommit {
                        id: record.commit,
                        message: record.message,
                        why_not: record.why_not,
                        bytes: record.bytes,
                        changes,
                    }),
                }
            }
        }
        found.sort_by_key(|commit| std::cmp::Reverse(commit.id));
        for commit in &mut found {
            commit.changes.sort();
        }
        Ok(found)
    }

    /// Takes a commit back, which must be the last one: the base is as it was before, and what was
    /// committed is a change of the session again. If others changed one of its files since, that is a
    /// conflict in the report and nothing is changed.
    ///
    /// Content, modes, times of files, links and names come back. Extended attributes do not, and a file
    /// that had several names comes back with one.
    ///
    /// # Errors
    /// `NotFound` if it is not the last commit; `Unsupported` if it cannot be taken back; `Quota` if
    /// the session may not hold what was committed; what the disk says.
    pub fn undo(&self, id: u64) -> Result<Committed, Error> {
        self.whole(Verb::Undo, None, |deed| {
            let commits = self.past_commits()?;
            let Some(last) = commits.first().filter(|last| last.id == id) else {
                return Err(Error::refused(
                    ErrorKind::NotFound,
                    "this is not the last commit of the session any more; look again",
                ));
            };
            let paths: Vec<VirtualPath> =
                last.changes.iter().map(|(path, _)| path.clone()).collect();
            for path in &paths {
                self.caller().check(path, Access::Change)?;
            }
            if deed.is_recorded() {
                deed.also(&paths)?;
            }
            let all = self.undo_in_mounts(id)?;
            deed.done(verdict(&all))?;
            Ok(all)
        })
    }

    fn undo_in_mounts(&self, id: u64) -> Result<Committed, Error> {
        let mut all = Committed::default();
        let mut parts: Vec<(&Mount, &Overlay)> = Vec::new();
        for (mount, overlay) in self.overlays() {
            if overlay.last_commit()? == id {
                parts.push((mount, overlay));
            }
        }
        // A conflict in one mount refuses the others too.
        for only_looks in [true, false] {
            for (mount, overlay) in &parts {
                let guard = self.commit_guard(mount);
                if only_looks && parts.len() == 1 {
                    continue;
                }
                let report = overlay.undo(id, &guard, only_looks)?;
                all.take(mount, report)?;
            }
            if !all.conflicts.is_empty() {
                break;
            }
        }
        all.committed.sort();
        all.conflicts.sort();
        Ok(all)
    }

    /// The time of a new commit: later than those that are known.
    pub(crate) fn commit_time(&self) -> Result<u64, Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        let mut last = 0;
        for (_, overlay) in self.overlays() {
            last = last.max(overlay.last_commit()?);
        }
        Ok(now.max(last + 1))
    }
}
