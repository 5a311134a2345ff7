//! Times of files that are committed.

use std::os::fd::AsFd;

use handfast::Timestamp;

use crate::error::Error;

/// A file that is committed was changed when it was changed in the session, not when it is
/// committed: what compares times would take it for newer than it is.
pub(in crate::overlay) fn keep_times(
    staged: impl AsFd,
    accessed: Timestamp,
    modified: Timestamp,
) -> Result<(), Error> {
    let spec = |time: Timestamp| rustix::fs::Timespec {
        tv_sec: time.seconds,
        tv_nsec: time.nanoseconds.into(),
    };
    let times = rustix::fs::Timestamps {
        last_access: spec(accessed),
        last_modification: spec(modified),
    };
    Ok(rustix::fs::futimens(staged, &times)?)
}
