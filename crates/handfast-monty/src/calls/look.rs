//! Looking without reading: what a path is, and what a directory holds.

use handfast::files::{Entry, LastLink};
use handfast::{FileKind, Files, Metadata, RelPath};
use monty_types::scan::EntryInfo;
use monty_types::{MontyObject, dir_stat, file_stat};

use crate::error::CallError;
use crate::files::Target;
use crate::limits::AnswerBudget;
use crate::path;

/// What a path leads to; nothing where it is missing, leads outside or may not be seen.
fn followed(files: &dyn Files, at: Target<'_>) -> Option<Metadata> {
    files.metadata(at.path, LastLink::Follow).ok()
}

pub(super) fn exists(files: &dyn Files, at: Target<'_>) -> MontyObject {
    MontyObject::bool(followed(files, at).is_some())
}

pub(super) fn is_file(files: &dyn Files, at: Target<'_>) -> MontyObject {
    MontyObject::bool(followed(files, at).is_some_and(|found| found.is_file()))
}

pub(super) fn is_dir(files: &dyn Files, at: Target<'_>) -> MontyObject {
    MontyObject::bool(followed(files, at).is_some_and(|found| found.is_dir()))
}

pub(super) fn is_symlink(files: &dyn Files, at: Target<'_>) -> MontyObject {
    MontyObject::bool(is_link(files, at.path))
}

fn is_link(files: &dyn Files, path: &RelPath) -> bool {
    files
        .metadata(path, LastLink::Itself)
        .is_ok_and(|found| found.is_symlink())
}

/// Facts that say nothing about the host: made-up bits, no owner, no inode.
pub(super) fn stat(files: &dyn Files, at: Target<'_>) -> Result<MontyObject, CallError> {
    let found = files
        .metadata(at.path, LastLink::Follow)
        .map_err(|error| at.said(&error))?;
    let modified = found.modified.seconds as f64 + f64::from(found.modified.nanoseconds) / 1e9;
    if found.is_dir() {
        return Ok(dir_stat(0o755, modified));
    }
    let len = i64::try_from(found.len).unwrap_or(i64::MAX);
    Ok(file_stat(0o644, len, modified))
}

pub(super) fn iterdir(files: &dyn Files, at: Target<'_>) -> Result<MontyObject, CallError> {
    // The names are held twice: as listed, and as the paths of the answer.
    let mut answer = AnswerBudget::new(at.mount.limits.memory);
    let names = visible(files, at, &mut answer)?;
    let mut paths = Vec::with_capacity(names.len());
    for (name, _) in names {
        let path = path::child(at.asked, &name);
        answer.charge_name(path.len())?;
        paths.push(MontyObject::path(path));
    }
    Ok(MontyObject::list(paths))
}

/// The entries of a directory that a program may know of, in byte order: names that are UTF-8, and
/// links only if they lead somewhere inside.
pub(crate) fn visible(
    files: &dyn Files,
    at: Target<'_>,
    answer: &mut AnswerBudget,
) -> Result<Vec<(String, EntryInfo)>, CallError> {
    let listed = files.entries(at.path).and_then(Iterator::collect);
    let mut listed: Vec<Entry> = listed.map_err(|error| at.said(&error))?;
    listed.sort_by(|one, other| one.name.as_bytes().cmp(other.name.as_bytes()));
    let mut found = Vec::new();
    for entry in listed {
        let Some(name) = entry.name.to_str() else {
            continue;
        };
        answer.charge_name(name.len())?;
        let info = match entry.kind {
            FileKind::Symlink | FileKind::Unknown => {
                match about(files, &at.path.join(&entry.name)) {
                    Some(info) => info,
                    None => continue,
                }
            }
            kind => EntryInfo {
                is_dir: kind == FileKind::Dir,
                is_file: kind == FileKind::File,
                is_symlink: false,
            },
        };
        found.push((name.to_owned(), info));
    }
    Ok(found)
}

/// What a path is, all predicates at once; nothing where `exists` says no.
pub(crate) fn about(files: &dyn Files, path: &RelPath) -> Option<EntryInfo> {
    let found = files.metadata(path, LastLink::Follow).ok()?;
    Some(EntryInfo {
        is_dir: found.is_dir(),
        is_file: found.is_file(),
        is_symlink: is_link(files, path),
    })
}
