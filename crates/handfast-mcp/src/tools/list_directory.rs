//! `list_directory`: one line an entry, in byte order.

use handfast::files::{Entry, Files, LastLink};
use handfast::{Error, ErrorKind, FileKind};

use crate::answer::ToolResult;
use crate::call::Call;
use crate::place::Location;
use crate::text::names;
use crate::trouble::Trouble;

use super::pages;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let place = call.place("path")?;
    let entries = pages::page(call, &place)?;
    let text = text(call, &place, &entries.shown);
    Ok(ToolResult::text(text)
        .with_cut(entries.cut)
        .with_note(entries.note))
}

/// One line an entry.
pub(crate) fn text(call: &Call<'_>, place: &Location, entries: &[Entry]) -> String {
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

/// Lists a directory.
pub(crate) fn read(
    call: &Call<'_>,
    files: &dyn Files,
    place: &Location,
) -> Result<Vec<Entry>, Trouble> {
    let listed = files.entries(place.rel()).and_then(Iterator::collect);
    let entries: Vec<Entry> = listed.map_err(|error| unlisted(call, &error, place))?;
    Ok(in_order(entries))
}

/// Entries in the order of their names.
pub(super) fn in_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by(|one, other| one.name.as_bytes().cmp(other.name.as_bytes()));
    entries
}

/// A directory that cannot be listed.
pub(super) fn unlisted(call: &Call<'_>, error: &Error, place: &Location) -> Trouble {
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
    call.trouble(error, verb, place)
}

/// Whether an entry is a directory itself; a link to one is not.
pub(crate) fn is_dir(call: &Call<'_>, place: &Location, entry: &Entry) -> bool {
    match entry.kind {
        FileKind::Unknown => {
            let path = place.path.join(&entry.name);
            let status = call.looking().metadata(path.as_rel(), LastLink::Itself);
            status.is_ok_and(|status| status.is_dir())
        }
        kind => kind == FileKind::Dir,
    }
}
