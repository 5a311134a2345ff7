//! The ledger's errors, as the command prints them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use handfast::{Effect, ErrorKind as PathError, escape};
use handfast_ledger::{Error, ErrorKind};

use crate::exit::Exit;
use crate::failure::Failure;

/// What went wrong with the log in a directory.
pub(crate) fn trouble(verb: &'static str, dir: &OsStr, error: &Error) -> Box<Failure> {
    let (kind, exit, hint) = match error.kind() {
        ErrorKind::Busy => (
            PathError::Busy,
            Exit::No,
            "only one process writes to a log; servers keep logs of their own below it",
        ),
        ErrorKind::NotALog => (
            PathError::NotFound,
            Exit::Usage,
            "`handfast log init DIR` makes a log",
        ),
        ErrorKind::Exists => (
            PathError::Exists,
            Exit::No,
            "`handfast log stat DIR` says what is in it; a new log needs a directory of its own",
        ),
        ErrorKind::Full => (
            PathError::Quota,
            Exit::No,
            "nothing is done while it cannot be logged; make room",
        ),
        ErrorKind::Corrupt => (
            PathError::Invalid,
            Exit::No,
            "`handfast log verify DIR` says what is damaged; a new log can be made with `--after`",
        ),
        ErrorKind::Rollback => (
            PathError::Stale,
            Exit::No,
            "do not continue it: keep it, and make a new log with `--after`",
        ),
        ErrorKind::Key => (
            PathError::Denied,
            Exit::Usage,
            "the key lies in a directory of its own, with mode 0600, named in log.json",
        ),
        ErrorKind::TooLarge => (PathError::TooLong, Exit::Usage, ""),
        ErrorKind::Invalid => (PathError::Invalid, Exit::Usage, ""),
        ErrorKind::Poisoned | ErrorKind::Io => (PathError::Io, Exit::No, ""),
    };
    let hints = [hint].into_iter().filter(|hint| !hint.is_empty());
    let hints = hints.map(str::to_owned).collect();
    Box::new(Failure {
        kind,
        verb,
        sentence: format!("cannot use the log `{}`", escape(dir.as_bytes())),
        path: "<log>".to_owned(),
        destination: None,
        detail: error.to_string(),
        effect: Effect::None,
        exit,
        hints,
    })
}

/// What was given is not what it should be.
pub(crate) fn usage(verb: &'static str, sentence: &str, detail: String) -> Box<Failure> {
    Box::new(Failure {
        kind: PathError::Invalid,
        verb,
        sentence: sentence.to_owned(),
        path: String::new(),
        destination: None,
        detail,
        effect: Effect::None,
        exit: Exit::Usage,
        hints: Vec::new(),
    })
}

/// Reads a small file that the operator names.
#[expect(
    clippy::disallowed_methods,
    reason = "the operator's own file, outside of any root"
)]
pub(crate) fn read_given(verb: &'static str, path: &OsStr) -> Result<Vec<u8>, Box<Failure>> {
    std::fs::read(path).map_err(|error| {
        let sentence = format!("cannot read `{}`", escape(path.as_bytes()));
        usage(verb, &sentence, error.to_string())
    })
}

/// The index of an event, as it is typed.
pub(super) fn event_index(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "an index is a whole number; `handfast log show DIR` shows them".to_owned())
}
