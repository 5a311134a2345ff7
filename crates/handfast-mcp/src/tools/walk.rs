//! Everything below a directory, parents first, in byte order, within limits.

use std::time::{Duration, Instant};

use handfast::FileKind;
use handfast_session::VirtualPath;

use super::list_directory;
use crate::call::Call;
use crate::place::Place;
use crate::text::names;
use crate::trouble::Trouble;

/// How many entries one call looks at, and for how long.
const MOST: usize = 200_000;
const PATIENCE: Duration = Duration::from_secs(10);

/// One entry.
pub(super) struct Found {
    /// Its path in the session.
    pub(super) path: VirtualPath,
    /// Below the directory that was walked, as text.
    pub(super) relative: String,
    pub(super) kind: FileKind,
    /// How many directories lie between it and the top.
    pub(super) depth: usize,
}

impl Found {
    /// Its name, as text.
    pub(super) fn name(&self) -> &str {
        self.relative.rsplit('/').next().unwrap_or_default()
    }
}

/// A walk that is under way.
pub(super) struct Walk<'a> {
    call: &'a Call<'a>,
    top: &'a Place,
    pending: Vec<Found>,
    begun: Instant,
    seen: usize,
    unreadable: usize,
    stopped: Option<String>,
}

impl<'a> Walk<'a> {
    /// Begins below a directory; that one must be readable.
    pub(super) fn new(call: &'a Call<'a>, top: &'a Place) -> Result<Self, Trouble> {
        let mut walk = Self {
            call,
            top,
            pending: Vec::new(),
            begun: Instant::now(),
            seen: 0,
            unreadable: 0,
            stopped: None,
        };
        walk.push(top, "", 0)?;
        Ok(walk)
    }

    /// The next entry; [`Walk::enter`] goes into it.
    pub(super) fn next(&mut self) -> Option<Found> {
        let found = self.pending.pop()?;
        self.seen += 1;
        if self.seen > MOST {
            self.stop(format!("after {MOST} entries"));
            return None;
        }
        if self.seen.is_multiple_of(64) && self.begun.elapsed() > PATIENCE {
            self.stop(format!("after {} seconds", PATIENCE.as_secs()));
            return None;
        }
        Some(found)
    }

    /// Ends the walk early.
    pub(super) fn stop(&mut self, why: String) {
        self.pending.clear();
        self.stopped = Some(why);
    }

    /// Where an entry is.
    pub(super) fn place(&self, found: &Found) -> Place {
        let above = self.top.shown.trim_end_matches('/');
        Place {
            shown: format!("{above}/{}", found.relative),
            path: found.path.clone(),
        }
    }

    /// Goes into a directory. One that cannot be read is counted and counts as empty.
    pub(super) fn enter(&mut self, dir: &Found) {
        let place = self.place(dir);
        if self.push(&place, &dir.relative, dir.depth + 1).is_err() {
            self.unreadable += 1;
        }
    }

    /// What there is to say at the end.
    pub(super) fn note(&self) -> Option<String> {
        match (&self.stopped, self.unreadable) {
            (Some(why), _) => Some(format!(
                "[This is not all: stopped {why}. Begin further down, or exclude something.]"
            )),
            (None, 0) => None,
            (None, 1) => Some("[One directory could not be read.]".to_owned()),
            (None, count) => Some(format!("[{count} directories could not be read.]")),
        }
    }

    fn push(&mut self, dir: &Place, relative: &str, depth: usize) -> Result<(), Trouble> {
        // The top is in the log; what lies below it belongs to the same question.
        let files = match depth {
            0 => self.call.files(),
            _ => self.call.looking(),
        };
        let entries = list_directory::read(self.call, files, dir)?;
        self.pending.reserve(entries.len());
        for entry in entries.into_iter().rev() {
            let kind = match entry.kind {
                FileKind::Unknown if list_directory::is_dir(self.call, dir, &entry) => {
                    FileKind::Dir
                }
                kind => kind,
            };
            let name = names::shown(entry.name.as_bytes());
            self.pending.push(Found {
                path: dir.path.join(&entry.name),
                relative: match relative {
                    "" => name.into_owned(),
                    above => [above, "/", &name].concat(),
                },
                kind,
                depth,
            });
        }
        Ok(())
    }
}
