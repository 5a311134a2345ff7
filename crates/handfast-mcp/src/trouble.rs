//! Refusals and failures as a client reads them.
//!
//! They begin with the words that clients of the reference server know. They name the path that
//! was asked for and never where a link leads.

use handfast::{Effect, ErrorKind, Version};
use handfast_session::{Error, NotRecorded, Reason, SessionError as _};

use crate::place::Location;
use crate::view::ClientView;

/// What to do if the log takes nothing.
pub(crate) const NOT_LOGGED: &str = ". What cannot be logged is not done. Ask the person who runs the server to free space or to look at the log (`handfast log verify`), then try again; `--no-log` does without a log.";

/// Why a call failed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Trouble {
    pub(crate) kind: ErrorKind,
    pub(crate) text: String,
    /// A link was in the way, or the path kept changing, and nothing was done: the next look may
    /// find something else.
    pub(crate) may_pass: bool,
    /// Which version the file is now, where that is the trouble.
    pub(crate) version: Option<Box<Version>>,
}

impl Trouble {
    pub(crate) fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            may_pass: false,
            version: None,
        }
    }

    /// What a session said about a place. `call` is the system call that the reference names.
    pub(crate) fn of(error: &Error, call: &str, place: &Location, view: &ClientView) -> Self {
        let quoted = format!("'{}'", place.shown);
        Self::about(error, call, &quoted, &place.shown, view)
    }

    /// What a session said about a source and a destination.
    pub(crate) fn of_two(error: &Error, from: &Location, to: &Location, view: &ClientView) -> Self {
        let quoted = format!("'{}' -> '{}'", from.shown, to.shown);
        let shown = format!("{} -> {}", from.shown, to.shown);
        Self::about(error, "rename", &quoted, &shown, view)
    }

    fn about(error: &Error, call: &str, quoted: &str, shown: &str, view: &ClientView) -> Self {
        let detail = &error.detail();
        let denied = |why: &str| format!("Access denied - {why}: {shown}");
        let mut text = match error.kind() {
            ErrorKind::NotFound => format!("ENOENT: no such file or directory, {call} {quoted}"),
            ErrorKind::IsADirectory if call == "read" => {
                "EISDIR: illegal operation on a directory, read".to_owned()
            }
            ErrorKind::IsADirectory => {
                format!("EISDIR: illegal operation on a directory, {call} {quoted}")
            }
            ErrorKind::NotADirectory => format!("ENOTDIR: not a directory, {call} {quoted}"),
            ErrorKind::Exists => format!("EEXIST: file already exists, {call} {quoted}"),
            ErrorKind::NotEmpty => format!("ENOTEMPTY: directory not empty, {call} {quoted}"),
            ErrorKind::TooLong => format!("ENAMETOOLONG: name too long, realpath {quoted}"),
            ErrorKind::Escape => format!(
                "Access denied - symlink target outside allowed directories: {shown} not in {}",
                view.texts().join(", ")
            ),
            ErrorKind::Link if detail.contains("loop") => {
                format!("ELOOP: too many symbolic links encountered, realpath {quoted}")
            }
            ErrorKind::Link if detail.contains("leads to nothing") => {
                denied("a symbolic link leads to nothing, and nothing is created through it")
            }
            ErrorKind::Link => denied("symbolic links are not followed here"),
            ErrorKind::HardLink => denied("the file has other names (hard links)"),
            ErrorKind::Kind => denied("not a regular file or directory"),
            ErrorKind::Mount if error.reason() == Some(Reason::TwoMounts) => format!(
                "EXDEV: cross-device link not permitted, {call} {quoted}: the two lie in different allowed directories; write a new file there instead"
            ),
            ErrorKind::Mount => denied("another filesystem is mounted there"),
            ErrorKind::Denied => match error.reason() {
                Some(Reason::ReadOnlyMount) => denied("the directory is read-only"),
                Some(Reason::Protected) => match error.rule() {
                    Some(rule) => denied(&format!("protected by {rule}")),
                    None => denied(detail),
                },
                Some(_) => denied(detail),
                None => format!("EACCES: permission denied, {call} {quoted}"),
            },
            ErrorKind::Quota => format!("ENOSPC: no space left, {call} {quoted}: {detail}"),
            ErrorKind::Stale => format!(
                "Stale - {detail}: {shown} is not the version that was expected. Read it again, then decide."
            ),
            ErrorKind::Raced => {
                format!("EAGAIN: the path kept changing, {call} {quoted}. Try again.")
            }
            ErrorKind::Busy => format!("EBUSY: {detail}, {call} {quoted}. Try again."),
            ErrorKind::Limit => format!("EFBIG: {detail}, {call} {quoted}"),
            ErrorKind::Invalid => format!("EINVAL: invalid argument, {call} {quoted}"),
            ErrorKind::Unsupported => format!("ENOTSUP: {detail}, {call} {quoted}"),
            ErrorKind::Io => format!("EIO: {detail}, {call} {quoted}"),
        };
        if error.cause::<NotRecorded>().is_some_and(|told| told.failed) {
            text.push_str(NOT_LOGGED);
        }
        match error.effect() {
            Effect::None => {}
            Effect::Visible => text.push_str(" (the change is visible)"),
            Effect::Unknown => text.push_str(" (whether anything changed is unknown)"),
        }
        let mut trouble = Self::new(error.kind(), text);
        trouble.may_pass = is_passing(error.kind()) && error.effect() == Effect::None;
        trouble
    }
}

/// Whether what stood in the way may be gone at the next look.
pub(crate) fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Escape | ErrorKind::Link | ErrorKind::Raced)
}
