//! What the system's error numbers mean.

use std::borrow::Cow;

use rustix::io::Errno;

use super::{Effect, ErrorKind, Fault};

impl From<Errno> for super::Error {
    fn from(errno: Errno) -> Self {
        Self::new(crate::verb::Verb::Resolve, "", Fault::errno(errno))
    }
}

impl Fault {
    /// A system call said no. The kind is the errno's usual meaning; callers that know better
    /// (EXDEV of a lookup, ELOOP of a policy) set it afterwards.
    pub(crate) fn sys(call: &'static str, errno: Errno) -> Self {
        Self {
            kind: usual_kind(errno),
            effect: Effect::None,
            call: Some(call),
            errno: Some(errno.raw_os_error()),
            why: Cow::Borrowed(""),
            cause: None,
        }
    }

    /// As [`Fault::sys`], where the caller does not know which call it was.
    pub(crate) fn errno(errno: Errno) -> Self {
        let text = std::io::Error::from(errno).to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        Self {
            errno: Some(errno.raw_os_error()),
            ..Self::rule(usual_kind(errno), text.to_owned())
        }
    }

    /// Whether the call failed with exactly this number.
    pub(crate) fn is(&self, errno: Errno) -> bool {
        self.errno == Some(errno.raw_os_error())
    }
}

fn usual_kind(errno: Errno) -> ErrorKind {
    match errno {
        Errno::NOENT => ErrorKind::NotFound,
        Errno::EXIST => ErrorKind::Exists,
        Errno::NOTDIR => ErrorKind::NotADirectory,
        Errno::ISDIR => ErrorKind::IsADirectory,
        Errno::NOTEMPTY => ErrorKind::NotEmpty,
        Errno::LOOP => ErrorKind::Link,
        Errno::XDEV => ErrorKind::Mount,
        Errno::NAMETOOLONG => ErrorKind::TooLong,
        Errno::ACCESS | Errno::PERM | Errno::ROFS => ErrorKind::Denied,
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => ErrorKind::Quota,
        Errno::AGAIN | Errno::TXTBSY | Errno::BUSY => ErrorKind::Busy,
        Errno::NXIO | Errno::NODEV => ErrorKind::Kind,
        Errno::NOSYS | Errno::OPNOTSUPP => ErrorKind::Unsupported,
        Errno::INVAL => ErrorKind::Invalid,
        Errno::MLINK => ErrorKind::Limit,
        Errno::STALE => ErrorKind::Raced,
        _ => ErrorKind::Io,
    }
}
