//! `list_directory`: one line an entry, in byte order.

use handfast::files::{Entry, Files, LastLink};
use handfast::{ErrorKind, FileKind};

use super::ignored::Ignored;
use crate::answer::{Answer, Cut};
use crate::call::{self, Call};
use crate::place::Place;
use crate::text::names;
use crate::trouble::Trouble;

/// More lines than this are no answer any more.
const MOST: usize = 100_000;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Trouble> {
    let place = call.place("path")?;
    let entries = page(call, &place)?;
    let text = text(call, &place, &entries.shown);
    Ok(Answer::text(text).with_cut(entries.cut))
}

/// One line an entry.
pub(crate) fn text(call: &Call<'_>, place: &Place, entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(if is_dir(call, place, entry) {
            "[DIR] "
        } else {
            "[FILE] "
        });
        text.push_str(&names::shown(entry.name.as_bytes()));
    }
    text
}

/// As many entries as one answer holds, from where the caller wants to go on.
pub(crate) struct Page {
    pub(crate) shown: Vec<Entry>,
    pub(crate) cut: Option<Cut>,
}

/// Lists a directory, as far as one answer holds it.
pub(crate) fn page(call: &Call<'_>, place: &Place) -> Result<Page, Trouble> {
    let after = call.cursor()?;
    let mut entries = read(call, call.files(), place)?;
    if call.flag("skipIgnored") {
        let mut ignored = Ignored::default();
        ignored.enter(call, place, "", 0);
        entries.retain(|entry| {
            let name = names::shown(entry.name.as_bytes());
            !ignored.holds(&name, is_dir(call, place, entry), 0)
        });
    }
    let all = entries.len();
    if let Some(after) = &after {
        entries.retain(|entry| entry.name.as_bytes() > after.as_slice());
    }
    let first = all - entries.len() + 1;
    let mut room = call.server.answer_limit();
    // A line with a size is 50 bytes long, or as long as the name.
    let fits = entries.iter().take(MOST).take_while(|entry| {
        let line = entry.name.as_bytes().len().max(30) as u64 + 20;
        let fits = line <= room;
        room = room.saturating_sub(line);
        fits
    });
    let count = fits.count().max(1).min(entries.len());
    let rest = entries.split_off(count);
    let last = entries.last().filter(|_| !rest.is_empty());
    let cut = last.map(|last| Cut {
        note: format!(
            "[This is not all: entries {first} to {} of {all}. Give `next` as cursor to go on.]",
            first + count - 1
        ),
        next: Some(call::cursor(last.name.as_bytes())),
    });
    Ok(Page {
        shown: entries,
        cut,
    })
}

/// Lists a directory.
pub(crate) fn read(
    call: &Call<'_>,
    files: &dyn Files,
    place: &Place,
) -> Result<Vec<Entry>, Trouble> {
    let listed = files.entries(place.rel()).and_then(Iterator::collect);
    let mut entries: Vec<Entry> = listed.map_err(|error| {
        // A file where a directory is wanted, or on the way to it: two calls of the reference.
        let is_there = || {
            call.looking()
                .metadata(place.rel(), LastLink::Follow)
                .is_ok()
        };
        let verb = match error.kind() {
            ErrorKind::NotADirectory if !is_there() => "realpath",
            _ => "scandir",
        };
        call.trouble(&error, verb, place)
    })?;
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

/// Whether an entry is a directory itself; a link to one is not.
pub(crate) fn is_dir(call: &Call<'_>, place: &Place, entry: &Entry) -> bool {
    match entry.kind {
        FileKind::Unknown => {
            let path = place.path.join(&entry.name);
            let status = call.looking().metadata(path.as_rel(), LastLink::Itself);
            status.is_ok_and(|status| status.is_dir())
        }
        kind => kind == FileKind::Dir,
    }
}
