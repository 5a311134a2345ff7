//! Looking without reading: what a path is, and what a directory holds.

use handfast::{FileKind, Metadata};
use handfast_session::Session;
use monty_types::scan::EntryInfo;
use monty_types::{MontyObject, dir_stat, file_stat};

use crate::error::CallError;
use crate::files::Target;
use crate::limits::Answer;
use crate::path;

/// What a path leads to; nothing where it is missing, leads outside or may not be seen.
fn followed(session: &Session, at: Target<'_>) -> Option<Metadata> {
    session.metadata(at.path).ok()
}

pub(super) fn exists(session: &Session, at: Target<'_>) -> MontyObject {
    MontyObject::bool(followed(session, at).is_some())
}

pub(super) fn is_file(session: &Session, at: Target<'_>) -> MontyObject {
    MontyObject::bool(followed(session, at).is_some_and(|found| found.is_file()))
}

pub(super) fn is_dir(session: &Session, at: Target<'_>) -> MontyObject {
    MontyObject::bool(followed(session, at).is_some_and(|found| found.is_dir()))
}

pub(super) fn is_symlink(session: &Session, at: Target<'_>) -> MontyObject {
    MontyObject::bool(is_link(session, at.path))
}

fn is_link(session: &Session, path: &str) -> bool {
    session
        .symlink_metadata(path)
        .is_ok_and(|found| found.is_symlink())
}

/// Facts that say nothing about the host: made-up bits, no owner, no inode.
pub(super) fn stat(session: &Session, at: Target<'_>) -> Result<MontyObject, CallError> {
    let found = session.metadata(at.path).map_err(|error| at.said(&error))?;
    let modified = found.modified.seconds as f64 + f64::from(found.modified.nanoseconds) / 1e9;
    if found.is_dir() {
        return Ok(dir_stat(0o755, modified));
    }
    let len = i64::try_from(found.len).unwrap_or(i64::MAX);
    Ok(file_stat(0o644, len, modified))
}

pub(super) fn iterdir(session: &Session, at: Target<'_>) -> Result<MontyObject, CallError> {
    // The names are held twice: as listed, and as the paths of the answer.
    let mut answer = Answer::new(at.mount.limits.memory);
    let names = visible(session, at, &mut answer)?;
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
    session: &Session,
    at: Target<'_>,
    answer: &mut Answer,
) -> Result<Vec<(String, EntryInfo)>, CallError> {
    let listed = session.read_dir(at.path).map_err(|error| at.said(&error))?;
    let mut found = Vec::new();
    for entry in listed {
        let Ok(name) = std::str::from_utf8(entry.name.as_bytes()) else {
            continue;
        };
        answer.charge_name(name.len())?;
        let info = match entry.kind {
            FileKind::Symlink | FileKind::Unknown => {
                match about(session, &path::child(at.path, name)) {
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
pub(crate) fn about(session: &Session, path: &str) -> Option<EntryInfo> {
    let found = session.metadata(path).ok()?;
    Some(EntryInfo {
        is_dir: found.is_dir(),
        is_file: found.is_file(),
        is_symlink: is_link(session, path),
    })
}
