//! Standard input, for the verbs that write.

use std::io::{self, IsTerminal, Read, StdinLock};

use handfast::ErrorKind;

use super::asked::Asked;
use crate::failure::Failure;
use crate::output::Output;

/// Standard input. On a terminal, a note says how to end it.
pub(crate) fn stdin(out: &mut Output) -> StdinLock<'static> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        out.note("reading from the terminal; end with Ctrl-D, give up with Ctrl-C");
    }
    stdin.lock()
}

/// Fills the buffer as far as one read does; interruptions by signals are not ends.
pub(super) fn read_some(
    asked: &Asked<'_>,
    input: &mut impl Read,
    buffer: &mut [u8],
) -> Result<usize, Box<Failure>> {
    loop {
        match input.read(buffer) {
            Ok(got) => return Ok(got),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(asked, &error)),
        }
    }
}

/// All of standard input.
pub(super) fn read_all(asked: &Asked<'_>, out: &mut Output) -> Result<Vec<u8>, Box<Failure>> {
    let mut data = Vec::new();
    stdin(out)
        .read_to_end(&mut data)
        .map_err(|error| unreadable(asked, &error))?;
    Ok(data)
}

fn unreadable(asked: &Asked<'_>, error: &io::Error) -> Box<Failure> {
    let detail = format!("standard input cannot be read: {}", reason(error));
    asked.refused(ErrorKind::Io, &detail)
}

/// The system's words, without the number behind them.
pub(super) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// What an error while content is written or read means.
pub(super) fn kind_of(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            ErrorKind::Quota
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Denied,
        _ => ErrorKind::Io,
    }
}
