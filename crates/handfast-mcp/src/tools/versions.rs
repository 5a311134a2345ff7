//! Versions of files: which one was expected, and what differs.

use handfast::files::Put;
use handfast::{Difference, ErrorKind, Version, Written};
use sha2::{Digest, Sha256};

use crate::call::Call;
use crate::place::Location;
use crate::trouble::Trouble;

/// What differs between the version that was expected and the one that was read with its content;
/// `None` if nothing.
pub(super) fn difference(
    expected: &Version,
    now: &Version,
    content: &[u8],
) -> Option<&'static str> {
    if let Some(difference) = expected.differs_from(now) {
        return Some(difference.sentence());
    }
    let digest = expected.digest()?;
    let found: [u8; 32] = Sha256::digest(content).into();
    (digest != found).then_some(Difference::Content.sentence())
}

/// The answer to somebody who expected another version.
pub(super) fn stale(why: &str, place: &Location, now: Option<Version>) -> Trouble {
    Trouble {
        kind: ErrorKind::Stale,
        text: format!(
            "Stale - {why}: {} is not the version that was expected. Read it again, then decide.",
            place.shown
        ),
        may_pass: false,
        version: now.map(Box::new),
    }
}

/// Which version was written.
pub(super) fn of_written(written: &Written) -> Option<Version> {
    written.version().ok()
}

/// Puts content under a place.
pub(super) fn put(
    call: &Call<'_>,
    place: &Location,
    data: &[u8],
    put: Put<'_>,
) -> Result<Written, Trouble> {
    let options = call.write_options();
    let put = call.files().put(place.rel(), data, put, options);
    put.map_err(|error| {
        let verb = match error.kind() {
            ErrorKind::NotADirectory => "realpath",
            _ => "open",
        };
        call.trouble(&error, verb, place)
    })
}
