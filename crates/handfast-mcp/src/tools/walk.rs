//! Everything below a directory, parents first, in byte order, within limits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use handfast::FileKind;
use handfast::files::Entry;
use handfast_session::VirtualPath;

use super::ignored::Ignored;
use super::position::{Begin, DirEntries};
use super::{list_directory, pages};
use crate::answer::{Cut, ToolResult};
use crate::call::Call;
use crate::listings::{Listed, Listing, Reader};
use crate::place::Location;
use crate::text::names;
use crate::trouble::Trouble;

/// How many entries one call looks at, and for how long.
const MOST: usize = 200_000;
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// A directory with more entries is not read again for the next page.
const LARGE: usize = 1_000;

/// One entry.
pub(super) struct WalkedName {
    /// Where it is.
    pub(super) place: Location,
    /// Below the directory that was walked, as text.
    pub(super) relative: String,
    pub(super) kind: FileKind,
    /// How many directories lie between it and the top.
    pub(super) depth: usize,
    /// Whether it comes before the place where the walk begins: it is only entered.
    pub(super) is_before: bool,
}

impl WalkedName {
    /// Its name, as text.
    pub(super) fn name(&self) -> &str {
        self.relative.rsplit('/').next().unwrap_or_default()
    }
}

/// A directory that is being gone through.
struct WalkLevel {
    place: Location,
    /// Below the top, as text.
    relative: String,
    /// How deep its entries are.
    depth: usize,
    entries: DirEntries,
    /// The next entry.
    at: usize,
    /// The directory that the entries are of, if that was looked at.
    dir: Option<Listed>,
    /// The next entry comes before the place to begin at.
    next_is_before: bool,
}

/// A walk that is under way.
pub(super) struct ToolWalk<'a> {
    call: &'a Call<'a>,
    top: VirtualPath,
    /// Leaves out what ignore files name.
    ignored: Option<Ignored>,
    begin: Begin,
    last: Option<VirtualPath>,
    /// From the top to where we are.
    levels: Vec<WalkLevel>,
    begun: Instant,
    seen: usize,
    unreadable: usize,
    stopped: Option<String>,
    cancelled: bool,
    /// A list of a page before is used although its directory was changed since.
    is_old: bool,
}

impl<'a> ToolWalk<'a> {
    /// Begins below a directory; that one must be readable.
    pub(super) fn new(
        call: &'a Call<'a>,
        top: &Location,
        skip_ignored: bool,
        begin: Begin,
    ) -> Result<Self, Trouble> {
        let mut walk = Self {
            call,
            top: top.path.clone(),
            ignored: skip_ignored.then(Ignored::default),
            begin,
            last: None,
            levels: Vec::new(),
            begun: Instant::now(),
            seen: 0,
            unreadable: 0,
            stopped: None,
            cancelled: false,
            is_old: false,
        };
        walk.push(top.clone(), String::new(), 0)?;
        Ok(walk)
    }

    /// The next entry; [`ToolWalk::enter`] goes into it.
    pub(super) fn next(&mut self) -> Option<WalkedName> {
        while self.stopped.is_none() {
            let level = self.levels.last_mut()?;
            let is_before = std::mem::take(&mut level.next_is_before);
            let Some(entry) = level.entries.entry(level.at) else {
                if let DirEntries::Kept(list, _) = level.entries {
                    self.call.server.listings().drop(list);
                }
                self.levels.pop();
                continue;
            };
            let found = level.found(self.call, &entry, is_before);
            level.at += 1;
            self.seen += 1;
            if self.seen > MOST {
                self.stop(format!("after {MOST} entries"));
                return None;
            }
            if self.seen.is_multiple_of(64) && self.begun.elapsed() > TIME_LIMIT {
                self.stop(format!("after {} seconds", TIME_LIMIT.as_secs()));
                return None;
            }
            if self.call.is_cancelled(self.seen) {
                self.cancelled = true;
                self.stop("because it was cancelled".to_owned());
                return None;
            }
            if self.is_ignored(&found) {
                continue;
            }
            if !found.is_before {
                self.last = Some(found.place.path.clone());
            }
            return Some(found);
        }
        None
    }

    fn is_ignored(&self, found: &WalkedName) -> bool {
        let is_dir = found.kind == FileKind::Dir;
        let ignored = self.ignored.as_ref();
        ignored.is_some_and(|rules| rules.holds(&found.relative, is_dir, found.depth))
    }

    /// Ends the walk early.
    pub(super) fn stop(&mut self, why: String) {
        self.stopped = Some(why);
    }

    /// The last entry that was told.
    pub(super) fn last(&self) -> Option<&[u8]> {
        self.last.as_ref().map(|path| self.below_top(path))
    }

    /// A path below the top, relative to it, in the bytes that are on disk.
    pub(super) fn below_top<'b>(&self, path: &'b VirtualPath) -> &'b [u8] {
        path.strip_prefix(&self.top)
            .map_or(b"", |below| below.as_bytes())
    }

    /// Goes into a directory. One that cannot be read is counted and counts as empty.
    pub(super) fn enter(&mut self, dir: &WalkedName) {
        if self
            .push(dir.place.clone(), dir.relative.clone(), dir.depth + 1)
            .is_err()
        {
            self.unreadable += 1;
        }
    }

    /// Says at the end of an answer what is missing. `next` goes on.
    pub(super) fn finish(&self, answer: ToolResult, next: Option<String>) -> ToolResult {
        let how = match &next {
            Some(_) => "Give `next` as cursor to go on",
            None => "Begin further down, or exclude something",
        };
        if next.is_some() && self.stopped.is_some() && !self.cancelled {
            self.keep_lists();
        }
        let cut = self.stopped.as_ref().map(|why| Cut {
            note: format!("[This is not all: stopped {why}. {how}.]"),
            next,
        });
        let unreadable = match self.unreadable {
            0 => None,
            1 => Some("[One directory could not be read.]".to_owned()),
            count => Some(format!("[{count} directories could not be read.]")),
        };
        let old = self.is_old.then(|| {
            "[A directory was changed since the first page; its names are those of the first page.]"
                .to_owned()
        });
        answer.with_cut(cut).with_note(unreadable).with_note(old)
    }

    /// Keeps the lists of the large directories that the walk is in, for the page that goes on there.
    fn keep_lists(&self) {
        for level in &self.levels {
            let DirEntries::Read(entries) = &level.entries else {
                continue;
            };
            if entries.len() <= LARGE {
                continue;
            }
            let list = match level.dir {
                Some(dir) => Some((dir, Listing::new(entries))),
                // By its path it may be another directory already: it is read again together with what it is.
                None => pages::identified(self.call, self.call.looking(), &level.place)
                    .ok()
                    .and_then(|(dir, entries)| Some((dir?, Listing::new(&entries)))),
            };
            if let Some((dir, listing)) = list {
                let reader = self.reader(&level.place);
                let lists = self.call.server.listings();
                lists.keep_one(reader, dir, Arc::new(listing));
            }
        }
    }

    /// For whom a directory is listed.
    fn reader(&self, place: &Location) -> Reader {
        Reader {
            client: self.call.client.to_owned(),
            allowed: self.call.view.allowed.clone(),
            path: place.path.clone(),
            skip_ignored: false,
            searches: true,
        }
    }

    fn push(&mut self, place: Location, relative: String, depth: usize) -> Result<(), Trouble> {
        let (dir, entries) = self.entries(&place, depth)?;
        if let Some(ignored) = &mut self.ignored {
            ignored.enter(self.call, &place, &relative, depth);
        }
        let on_disk = self.below_top(&place.path);
        let (at, next_is_before) = self.begin.position(on_disk, &entries);
        self.levels.push(WalkLevel {
            place,
            relative,
            depth,
            entries,
            at,
            dir,
            next_is_before,
        });
        Ok(())
    }

    /// The entries of a directory: as a page before kept them, or read now.
    fn entries(
        &mut self,
        place: &Location,
        depth: usize,
    ) -> Result<(Option<Listed>, DirEntries), Trouble> {
        // The top is in the log; what lies below it belongs to the same question.
        let files = match depth {
            0 => self.call.files(),
            _ => self.call.looking(),
        };
        let on_the_way = self.begin.below(self.below_top(&place.path)).is_some();
        let lists = self.call.server.listings();
        if on_the_way && let Some((id, dir, listing)) = lists.newest(&self.reader(place)) {
            if let Some(now) = pages::same_dir(self.call, files, place, &dir)? {
                self.is_old |= now.differs(&dir);
                return Ok((Some(dir), DirEntries::Kept(id, listing)));
            }
            lists.drop(id);
        }
        let (dir, entries) = match depth {
            0 => pages::identified(self.call, files, place)?,
            _ => (None, list_directory::read(self.call, files, place)?),
        };
        Ok((dir, DirEntries::Read(entries)))
    }
}

impl WalkLevel {
    fn found(&self, call: &Call<'_>, entry: &Entry, is_before: bool) -> WalkedName {
        let kind = match entry.kind {
            FileKind::Unknown if list_directory::is_dir(call, &self.place, entry) => FileKind::Dir,
            kind => kind,
        };
        let name = names::shown(entry.name.as_bytes());
        WalkedName {
            place: Location {
                shown: [self.place.shown.trim_end_matches('/'), "/", &name].concat(),
                path: self.place.path.join(&entry.name),
            },
            relative: match self.relative.as_str() {
                "" => name.into_owned(),
                above => [above, "/", &name].concat(),
            },
            kind,
            depth: self.depth,
            is_before,
        }
    }
}
