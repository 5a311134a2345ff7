//! Names: making, removing, renaming.

use handfast::files::{LastLink, WhatToRemove};
use handfast::{ErrorKind, Files, RenameMode};
use handfast_session::Mode;
use monty_types::MontyObject;

use crate::error::CallError;
use crate::files::Target;

/// What new directories get; the umask narrows it.
const MODE: u32 = 0o777;

/// As `pathlib.Path.mkdir`: what exists is an error unless `exist_ok` and a directory, with and
/// without `parents`.
pub(super) fn mkdir(
    files: &dyn Files,
    at: Target<'_>,
    parents: bool,
    exist_ok: bool,
) -> Result<MontyObject, CallError> {
    let is_dir = || {
        let found = files.metadata(at.path, LastLink::Follow);
        found.is_ok_and(|found| found.is_dir())
    };
    if parents
        && !at.below.is_root()
        && let Some(above) = at.path.parent()
    {
        // Parents are made, or were there; whether the directory itself was is asked by making it.
        files
            .create_dir_all(&above, MODE)
            .map_err(|error| at.said(&error))?;
    }
    let made = match at.below.is_root() {
        true => Err(CallError::failed(
            std::io::ErrorKind::AlreadyExists,
            "File exists",
            at.asked,
        )),
        false => files.create_dir(at.path, MODE).map_err(|error| {
            match error.kind() {
                // A link where the directory should be: it is there.
                ErrorKind::Link => {
                    CallError::failed(std::io::ErrorKind::AlreadyExists, "File exists", at.asked)
                }
                _ => at.said(&error),
            }
        }),
    };
    match made {
        Err(CallError::Failed {
            kind: std::io::ErrorKind::AlreadyExists,
            ..
        }) if exist_ok && is_dir() => Ok(MontyObject::none()),
        made => made.map(|()| MontyObject::none()),
    }
}

pub(super) fn unlink(files: &dyn Files, at: Target<'_>) -> Result<MontyObject, CallError> {
    files
        .remove(at.path, WhatToRemove::File)
        .map_err(|error| at.said(&error))?;
    Ok(MontyObject::none())
}

pub(super) fn rmdir(files: &dyn Files, at: Target<'_>) -> Result<MontyObject, CallError> {
    files
        .remove(at.path, WhatToRemove::Dir)
        .map_err(|error| at.said(&error))?;
    Ok(MontyObject::none())
}

/// Renames within one mount; what stood there is replaced. A link moves itself.
pub(crate) fn rename(
    files: &dyn Files,
    from: Target<'_>,
    to: Target<'_>,
) -> Result<MontyObject, CallError> {
    // On a read-only mount the session says so first.
    if from.mount.mode != Mode::ReadOnly {
        for end in [from, to] {
            end.refuse_foreign()?;
            end.refuse_mount()?;
        }
    }
    let renamed = files.rename(from.path, to.path, RenameMode::Replace);
    renamed.map_err(|error| {
        // Monty names the end that is missing in an overlay, what is not empty anywhere, and the
        // old name otherwise.
        let overlay = matches!(from.mount.mode, Mode::Overlay | Mode::Memory);
        let source_is_there = || files.metadata(from.path, LastLink::Itself).is_ok();
        match error.kind() {
            ErrorKind::NotEmpty => to.said(&error),
            ErrorKind::NotFound if overlay && source_is_there() => to.said(&error),
            _ => from.said(&error),
        }
    })?;
    Ok(MontyObject::none())
}
