//! `list_directory`: one line an entry, in byte order.

use handfast::files::{Entry, Files, LastLink};
use handfast::{ErrorKind, FileKind};

use crate::answer::Answer;
use crate::call::Call;
use crate::place::Place;
use crate::text::names;
use crate::trouble::Trouble;

/// More lines than this are no answer any more.
const MOST: usize = 100_000;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Trouble> {
    let place = call.place("path")?;
    let entries = read(call, call.files(), &place)?;
    let mut text = String::new();
    for entry in entries.iter().take(MOST) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(if is_dir(call, &place, entry) {
            "[DIR] "
        } else {
            "[FILE] "
        });
        text.push_str(&names::shown(entry.name.as_bytes()));
    }
    Ok(Answer::text(text).with_note(cut(entries.len())))
}

/// The note for a listing that was cut.
pub(super) fn cut(entries: usize) -> Option<String> {
    (entries > MOST).then(|| format!("[This is not all: the first {MOST} of {entries} entries.]"))
}

/// How many entries of a listing are shown.
pub(super) fn shown(entries: Vec<Entry>) -> Vec<Entry> {
    entries.into_iter().take(MOST).collect()
}

/// Lists a directory.
pub(super) fn read(
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
pub(super) fn is_dir(call: &Call<'_>, place: &Place, entry: &Entry) -> bool {
    match entry.kind {
        FileKind::Unknown => {
            let path = place.path.join(&entry.name);
            let status = call.looking().metadata(path.as_rel(), LastLink::Itself);
            status.is_ok_and(|status| status.is_dir())
        }
        kind => kind == FileKind::Dir,
    }
}
