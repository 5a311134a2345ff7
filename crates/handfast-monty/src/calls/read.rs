//! Content, and opening.

use handfast::{ErrorKind, Files, OpenOptions};
use monty_types::{FileMode, MontyFileHandle, MontyObject};

use super::write;
use crate::error::CallError;
use crate::files::Target;
use crate::path;

pub(super) fn bytes(files: &dyn Files, at: Target<'_>) -> Result<MontyObject, CallError> {
    Ok(MontyObject::bytes(content(files, at)?))
}

pub(super) fn text(files: &dyn Files, at: Target<'_>) -> Result<MontyObject, CallError> {
    match String::from_utf8(content(files, at)?) {
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

fn content(files: &dyn Files, at: Target<'_>) -> Result<Vec<u8>, CallError> {
    let limit = at.mount.limits.memory;
    files
        .read(at.path, limit)
        .map_err(|error| match error.kind() {
            ErrorKind::Limit => CallError::MemoryLimit(limit),
            _ => at.said(&error),
        })
}

/// What `open()` does at once. No handle stays: Monty asks again by name for everything else.
pub(super) fn open(
    files: &dyn Files,
    at: Target<'_>,
    mode: FileMode,
) -> Result<MontyObject, CallError> {
    if mode.truncate() {
        write::replace(files, at, b"")?;
    } else {
        let how = match mode.create() {
            true => OpenOptions::new().read(false).append(true).create(true),
            false => OpenOptions::new(),
        };
        let opened = files.open(at.path, how);
        drop(opened.map_err(|error| at.said(&error))?);
    }
    Ok(MontyObject::file_handle(MontyFileHandle {
        path: path::shown(at.path),
        mode,
        position: 0,
    }))
}
