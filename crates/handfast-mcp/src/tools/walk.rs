//! Everything below a directory, parents first, in byte order, within limits.

use std::time::{Duration, Instant};

use handfast::FileKind;
use handfast_session::VirtualPath;

use super::ignored::Ignored;
use super::list_directory;
use crate::answer::{Answer, Cut};
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
    /// Whether it comes before the place where the walk begins: it is only entered.
    pub(super) is_before: bool,
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
    /// Leaves out what ignore files name.
    ignored: Option<Ignored>,
    /// Where it begins, and whether that entry itself was told already.
    begin: Option<(String, bool)>,
    last: Option<String>,
    pending: Vec<Found>,
    begun: Instant,
    seen: usize,
    unreadable: usize,
    stopped: Option<String>,
}

impl<'a> Walk<'a> {
    /// Begins below a directory; that one must be readable.
    pub(super) fn new(
        call: &'a Call<'a>,
        top: &'a Place,
        skip_ignored: bool,
    ) -> Result<Self, Trouble> {
        let mut walk = Self {
            call,
            top,
            ignored: skip_ignored.then(Ignored::default),
            begin: None,
            last: None,
            pending: Vec::new(),
            begun: Instant::now(),
            seen: 0,
            unreadable: 0,
            stopped: None,
        };
        walk.push(top, "", 0)?;
        Ok(walk)
    }

    /// Leaves out what comes before an entry.
    pub(super) fn begin_at(&mut self, relative: String) {
        self.begin = Some((relative, false));
    }

    /// Leaves out what comes before an entry, and the entry, which was told already.
    pub(super) fn begin_after(&mut self, relative: String) {
        self.begin = Some((relative, true));
    }

    /// The next entry; [`Walk::enter`] goes into it.
    pub(super) fn next(&mut self) -> Option<Found> {
        loop {
            let mut found = self.pending.pop()?;
            self.seen += 1;
            if self.seen > MOST {
                self.stop(format!("after {MOST} entries"));
                return None;
            }
            if self.seen.is_multiple_of(64) && self.begun.elapsed() > PATIENCE {
                self.stop(format!("after {} seconds", PATIENCE.as_secs()));
                return None;
            }
            if self.call.is_cancelled(self.seen) {
                self.stop("because it was cancelled".to_owned());
                return None;
            }
            if !self.has_begun(&mut found) || self.is_ignored(&found) {
                continue;
            }
            if !found.is_before {
                self.last = Some(found.relative.clone());
            }
            return Some(found);
        }
    }

    fn is_ignored(&self, found: &Found) -> bool {
        let is_dir = found.kind == FileKind::Dir;
        let ignored = self.ignored.as_ref();
        ignored.is_some_and(|rules| rules.holds(&found.relative, is_dir, found.depth))
    }

    /// Whether an entry, or something in it, comes at or after the place to begin at.
    fn has_begun(&mut self, found: &mut Found) -> bool {
        let Some((begin, told)) = &self.begin else {
            return true;
        };
        let is_above = begin
            .strip_prefix(&found.relative)
            .is_some_and(|rest| rest.starts_with('/'));
        if is_above {
            found.is_before = true;
            return true;
        }
        match found.relative.split('/').cmp(begin.split('/')) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => {
                found.is_before = *told;
                true
            }
            std::cmp::Ordering::Greater => {
                self.begin = None;
                true
            }
        }
    }

    /// Ends the walk early.
    pub(super) fn stop(&mut self, why: String) {
        self.pending.clear();
        self.stopped = Some(why);
    }

    /// The last entry that was told.
    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_deref()
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

    /// Says at the end of an answer what is missing. `next` goes on.
    pub(super) fn finish(&self, answer: Answer, next: Option<String>) -> Answer {
        let how = match &next {
            Some(_) => "Give `next` as cursor to go on",
            None => "Begin further down, or exclude something",
        };
        let cut = self.stopped.as_ref().map(|why| Cut {
            note: format!("[This is not all: stopped {why}. {how}.]"),
            next,
        });
        let unreadable = match self.unreadable {
            0 => None,
            1 => Some("[One directory could not be read.]".to_owned()),
            count => Some(format!("[{count} directories could not be read.]")),
        };
        answer.with_cut(cut).with_note(unreadable)
    }

    fn push(&mut self, dir: &Place, relative: &str, depth: usize) -> Result<(), Trouble> {
        // The top is in the log; what lies below it belongs to the same question.
        let files = match depth {
            0 => self.call.files(),
            _ => self.call.looking(),
        };
        let entries = list_directory::read(self.call, files, dir)?;
        if let Some(ignored) = &mut self.ignored {
            ignored.enter(self.call, dir, relative, depth);
        }
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
                is_before: false,
            });
        }
        Ok(())
    }
}
