//! A directory page by page.
//!
//! The first page reads and sorts the directory. If that is not all, the list is kept for a while, and
//! the pages after it are of that list: they cost what they show, and a name that somebody adds or
//! removes meanwhile shifts none of them. A page of a list whose directory has changed says so.

use std::sync::Arc;

use handfast::Verb;
use handfast::files::{Entry, Files, LastLink};

use super::ignored::Ignored;
use super::list_directory::{in_order, is_dir, read, unlisted};
use crate::answer::Cut;
use crate::call::{self, Call};
use crate::listings::{Listed, Listing, Reader};
use crate::place::Location;
use crate::text::names;
use crate::trouble::Trouble;

/// More lines than this are no answer any more.
const MOST: usize = 100_000;

/// As many entries as one answer holds, from where the caller wants to go on.
pub(crate) struct Page {
    pub(crate) shown: Vec<Entry>,
    pub(crate) cut: Option<Cut>,
    /// What there is to say about the list.
    pub(crate) note: Option<String>,
}

/// Where to go on: behind a name of a list, or of the directory if the list is gone.
struct Position {
    list: u64,
    name: Vec<u8>,
}

impl Position {
    fn given(call: &Call<'_>) -> Result<Option<Self>, Trouble> {
        let Some(cursor) = call.cursor()? else {
            return Ok(None);
        };
        let (list, name) = cursor
            .split_first_chunk()
            .ok_or_else(|| call.bad_cursor())?;
        Ok(Some(Self {
            list: u64::from_be_bytes(*list),
            name: name.to_owned(),
        }))
    }

    fn cursor(list: Option<u64>, name: &[u8]) -> String {
        call::cursor(&[&list.unwrap_or(0).to_be_bytes(), name].concat())
    }
}

/// The first entries of a directory, where there is no way to go on: nothing is kept for it.
pub(crate) fn first(call: &Call<'_>, place: &Location) -> Result<Page, Trouble> {
    let (_, entries) = fresh(call, place, false)?;
    let (page, _) = cut(call, &Arc::new(Listing::new(&entries)), 0, |_| None);
    Ok(page)
}

/// Lists a directory, as far as one answer holds it.
pub(crate) fn page(call: &Call<'_>, place: &Location) -> Result<Page, Trouble> {
    let reader = Reader {
        client: call.client.to_owned(),
        allowed: call.view.allowed.clone(),
        path: place.path.clone(),
        skip_ignored: call.flag("skipIgnored"),
        searches: false,
    };
    let position = Position::given(call)?;
    let lists = call.server.listings();
    if let Some(position) = &position
        && let Some((dir, listing)) = lists.find(position.list, &reader)
    {
        if let Some(now) = same_dir(call, call.files(), place, &dir)? {
            let from = listing.up_to(&position.name);
            let (page, ended) = cut(call, &listing, from, |_| Some(position.list));
            if ended {
                lists.drop(position.list);
            }
            let note = now.differs(&dir).then(|| {
                "[The directory was changed since its first page; this is the list as it was then.]"
                    .to_owned()
            });
            return Ok(Page { note, ..page });
        }
        lists.drop(position.list);
    }
    let (dir, entries) = fresh(call, place, reader.skip_ignored)?;
    let listing = Arc::new(Listing::new(&entries));
    drop(entries);
    let from = position
        .as_ref()
        .map_or(0, |position| listing.up_to(&position.name));
    let keep = |listing: &Arc<Listing>| lists.keep(reader, dir?, Arc::clone(listing));
    let (page, _) = cut(call, &listing, from, keep);
    let note = position.map(|_| {
        "[The directory was read again for this page: what was added or removed since the page before is not shown as such.]"
            .to_owned()
    });
    Ok(Page { note, ..page })
}

/// The directory as it is now, if it is the one that was listed and may be listed still.
pub(super) fn same_dir(
    call: &Call<'_>,
    files: &dyn Files,
    place: &Location,
    dir: &Listed,
) -> Result<Option<Listed>, Trouble> {
    let status = files.metadata(place.rel(), LastLink::Follow);
    let status = status.map_err(|error| unlisted(call, &error, place))?;
    call.is_allowed(place.rel(), Verb::ReadDir)
        .map_err(|error| unlisted(call, &error, place))?;
    let now = Listed::new(&status);
    Ok(now.is_same(dir).then_some(now))
}

/// The entries of a directory now, with the directory that they are of.
fn fresh(
    call: &Call<'_>,
    place: &Location,
    skip_ignored: bool,
) -> Result<(Option<Listed>, Vec<Entry>), Trouble> {
    let (dir, mut entries) = identified(call, call.files(), place)?;
    if skip_ignored {
        let mut ignored = Ignored::default();
        ignored.enter(call, place, "", 0);
        entries.retain(|entry| {
            let name = names::shown(entry.name.as_bytes());
            !ignored.holds(&name, is_dir(call, place, entry), 0)
        });
    }
    Ok((dir, entries))
}

/// All entries of a directory now, with the directory that they are of.
pub(super) fn identified(
    call: &Call<'_>,
    files: &dyn Files,
    place: &Location,
) -> Result<(Option<Listed>, Vec<Entry>), Trouble> {
    match call.looking().node(place.rel(), LastLink::Follow) {
        Ok(node) => {
            let listed = files.entries_of(&node).and_then(Iterator::collect);
            let entries = listed.map_err(|error| unlisted(call, &error, place))?;
            Ok((Some(Listed::new(node.metadata())), in_order(entries)))
        }
        // The verb says why, and the log has it.
        Err(_) => Ok((None, read(call, files, place)?)),
    }
}

/// The part of a list that fits into an answer, and whether it is the end. What is kept is asked for its number only
/// if there is more.
fn cut(
    call: &Call<'_>,
    listing: &Arc<Listing>,
    from: usize,
    list: impl FnOnce(&Arc<Listing>) -> Option<u64>,
) -> (Page, bool) {
    let mut room = call.server.answer_limit();
    let mut shown = Vec::new();
    while let Some(entry) = listing.entry(from + shown.len()) {
        // A line with a size is 50 bytes long, or as long as the name.
        let line = entry.name.as_bytes().len().max(30) as u64 + 20;
        if shown.len() == MOST || (line > room && !shown.is_empty()) {
            break;
        }
        room = room.saturating_sub(line);
        shown.push(entry);
    }
    let to = from + shown.len();
    let rest = shown.last().filter(|_| to < listing.len());
    let cut = rest.map(|last| Cut {
        note: format!(
            "[This is not all: entries {} to {to} of {}. Give `next` as cursor to go on.]",
            from + 1,
            listing.len()
        ),
        next: Some(Position::cursor(list(listing), last.name.as_bytes())),
    });
    let ended = cut.is_none();
    let page = Page {
        shown,
        cut,
        note: None,
    };
    (page, ended)
}
