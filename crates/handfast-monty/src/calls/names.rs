//! Names: making, removing, renaming.

use handfast::{ErrorKind, RenameMode};
use handfast_session::{Mode, Session};
use monty_types::MontyObject;

use crate::error::CallError;
use crate::files::Target;

/// As `pathlib.Path.mkdir`: what exists is an error unless `exist_ok` and a directory, with and
/// without `parents`.
pub(super) fn mkdir(
    session: &Session,
    at: Target<'_>,
    parents: bool,
    exist_ok: bool,
) -> Result<MontyObject, CallError> {
    let is_dir = || session.metadata(at.path).is_ok_and(|found| found.is_dir());
    if parents && let Some((above, _)) = at.path.rsplit_once('/') {
        // Parents are made, or were there; whether the directory itself was is asked by making it.
        let above = if above.is_empty() { "/" } else { above };
        if !at.below.is_empty() {
            session
                .create_dir_all(above)
                .map_err(|error| at.said(&error))?;
        }
    }
    let made = match at.below.is_empty() {
        true => Err(CallError::failed(
            std::io::ErrorKind::AlreadyExists,
            "File exists",
            at.asked,
        )),
        false => session.create_dir(at.path).map_err(|error| {
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

pub(super) fn unlink(session: &Session, at: Target<'_>) -> Result<MontyObject, CallError> {
    session
        .remove_file(at.path)
        .map_err(|error| at.said(&error))?;
    Ok(MontyObject::none())
}

pub(super) fn rmdir(session: &Session, at: Target<'_>) -> Result<MontyObject, CallError> {
    session
        .remove_dir(at.path)
        .map_err(|error| at.said(&error))?;
    Ok(MontyObject::none())
}

/// Renames within one mount; what stood there is replaced. A link moves itself.
pub(crate) fn rename(
    session: &Session,
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
    let renamed = session.rename(from.path, to.path, RenameMode::Replace);
    renamed.map_err(|error| {
        // Monty names the end that is missing in an overlay, what is not empty anywhere, and the
        // old name otherwise.
        let overlay = matches!(from.mount.mode, Mode::Overlay | Mode::Memory);
        let source_is_there = || session.symlink_metadata(from.path).is_ok();
        match error.kind() {
            ErrorKind::NotEmpty => to.said(&error),
            ErrorKind::NotFound if overlay && source_is_there() => to.said(&error),
            _ => from.said(&error),
        }
    })?;
    Ok(MontyObject::none())
}
