//! Content, and opening.

use handfast::ErrorKind;
use handfast_session::{OpenOptions, Session};
use monty_types::{FileMode, MontyFileHandle, MontyObject};

use super::write;
use crate::error::CallError;
use crate::files::Target;

pub(super) fn bytes(session: &Session, at: Target<'_>) -> Result<MontyObject, CallError> {
    Ok(MontyObject::bytes(content(session, at)?))
}

pub(super) fn text(session: &Session, at: Target<'_>) -> Result<MontyObject, CallError> {
    match String::from_utf8(content(session, at)?) {
        Ok(text) => Ok(MontyObject::string(text)),
        Err(error) => {
            let (start, wrong) = (
                error.utf8_error().valid_up_to(),
                error.utf8_error().error_len(),
            );
            Err(CallError::NotUtf8 {
                bytes: error.into_bytes(),
                start,
                wrong,
            })
        }
    }
}

fn content(session: &Session, at: Target<'_>) -> Result<Vec<u8>, CallError> {
    let limit = at.mount.limits.memory;
    session
        .read_to_limit(at.path, limit)
        .map_err(|error| match error.kind() {
            ErrorKind::Limit => CallError::MemoryLimit(limit),
            _ => at.said(&error),
        })
}

/// What `open()` does at once. No handle stays: Monty asks again by name for everything else.
pub(super) fn open(
    session: &Session,
    at: Target<'_>,
    mode: FileMode,
) -> Result<MontyObject, CallError> {
    if mode.truncate() {
        write::replace(session, at, b"")?;
    } else {
        let how = match mode.create() {
            true => OpenOptions::new().read(false).append(true).create(true),
            false => OpenOptions::new(),
        };
        let opened = session.open_with(at.path, how);
        drop(opened.map_err(|error| at.said(&error))?);
    }
    Ok(MontyObject::file_handle(MontyFileHandle {
        path: at.path.to_owned(),
        mode,
        position: 0,
    }))
}
