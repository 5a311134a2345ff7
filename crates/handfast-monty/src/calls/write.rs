//! Whole files and what is added to them.

use handfast::files::Put;
use handfast::{Durability, Files, WriteOptions};
use monty_types::MontyObject;

use crate::error::CallError;
use crate::files::Target;

pub(super) fn text(
    files: &dyn Files,
    at: Target<'_>,
    data: &str,
) -> Result<MontyObject, CallError> {
    replace(files, at, data.as_bytes())?;
    Ok(count(data.chars().count()))
}

pub(super) fn bytes(
    files: &dyn Files,
    at: Target<'_>,
    data: &[u8],
) -> Result<MontyObject, CallError> {
    replace(files, at, data)?;
    Ok(count(data.len()))
}

pub(super) fn append_text(
    files: &dyn Files,
    at: Target<'_>,
    data: &str,
) -> Result<MontyObject, CallError> {
    append(files, at, data.as_bytes())?;
    Ok(count(data.chars().count()))
}

pub(super) fn append_bytes(
    files: &dyn Files,
    at: Target<'_>,
    data: &[u8],
) -> Result<MontyObject, CallError> {
    append(files, at, data)?;
    Ok(count(data.len()))
}

/// Replaces a file atomically: a reader sees the old content or the new, whole.
pub(super) fn replace(files: &dyn Files, at: Target<'_>, data: &[u8]) -> Result<(), CallError> {
    charged(at, data.len(), || {
        files.put(at.path, data, Put::Replace, at.mount.options)
    })
}

fn append(files: &dyn Files, at: Target<'_>, data: &[u8]) -> Result<(), CallError> {
    charged(at, data.len(), || {
        let added = WriteOptions::new().durability(Durability::None);
        files.append(at.path, data, added)
    })
}

/// Charges the mount's own limit before the act, and gives back what was not written.
fn charged<T>(
    at: Target<'_>,
    bytes: usize,
    act: impl FnOnce() -> Result<T, handfast_session::Error>,
) -> Result<(), CallError> {
    let charged = at.mount.written.charge(&at.mount.limits, bytes)?;
    match act() {
        Ok(_) => Ok(()),
        Err(error) => {
            at.mount.written.refund(charged);
            Err(at.said(&error))
        }
    }
}

fn count(number: usize) -> MontyObject {
    MontyObject::int(i64::try_from(number).unwrap_or(i64::MAX))
}
