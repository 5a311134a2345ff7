//! What an error is to a program that knows nothing of Handfast.

use fuser::Errno;
use handfast::{Error, ErrorKind};

/// The number that the kernel gives to the program. The system's own number is kept where a call of
/// the system failed; a rule of ours becomes what a filesystem would say.
pub(crate) fn errno(error: &Error) -> Errno {
    if let Some(raw) = error.raw_os_error()
        && is_told(raw)
    {
        return Errno::from_i32(raw);
    }
    match error.kind() {
        ErrorKind::Escape | ErrorKind::Denied => Errno::EACCES,
        // The kernel looks the name up again and tries once more.
        ErrorKind::Raced | ErrorKind::Stale => Errno::ESTALE,
        ErrorKind::Link => Errno::ELOOP,
        ErrorKind::HardLink => Errno::EPERM,
        ErrorKind::Kind => Errno::ENXIO,
        ErrorKind::Mount => Errno::EXDEV,
        ErrorKind::Invalid => Errno::EINVAL,
        ErrorKind::TooLong => Errno::ENAMETOOLONG,
        ErrorKind::Limit => Errno::EFBIG,
        ErrorKind::NotFound => Errno::ENOENT,
        ErrorKind::Exists => Errno::EEXIST,
        ErrorKind::NotADirectory => Errno::ENOTDIR,
        ErrorKind::IsADirectory => Errno::EISDIR,
        ErrorKind::NotEmpty => Errno::ENOTEMPTY,
        ErrorKind::Quota => Errno::ENOSPC,
        ErrorKind::Unsupported => Errno::EOPNOTSUPP,
        ErrorKind::Busy => Errno::EAGAIN,
        ErrorKind::Io => Errno::EIO,
    }
}

/// As [`errno`], for verbs that a filesystem without the feature refuses with `EPERM`: hard links,
/// links that lead out, owners, special files.
pub(crate) fn errno_of_feature(error: &Error) -> Errno {
    match error.kind() {
        ErrorKind::Unsupported | ErrorKind::Escape | ErrorKind::Kind | ErrorKind::Link => {
            Errno::EPERM
        }
        ErrorKind::Limit => Errno::EMLINK,
        _ => errno(error),
    }
}

/// Numbers that mean something else in an answer of FUSE, or that a layer's own calls leave behind
/// (`openat2` says `ELOOP` and `EXDEV` for its own flags), are not passed on.
fn is_told(raw: i32) -> bool {
    !matches!(
        raw,
        libc::ENOSYS | libc::EINTR | libc::EXDEV | libc::ELOOP | libc::EBADF | libc::EOPNOTSUPP
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_number_of_its_own_meaning() {
        for kind in ErrorKind::ALL {
            let number = errno(&Error::refused(kind, ""));
            assert_ne!(number.code(), libc::ENOSYS, "{kind:?}");
            assert_ne!(number.code(), libc::EBUSY, "{kind:?}");
        }
        let unsupported = Error::refused(ErrorKind::Unsupported, "");
        assert_eq!(errno_of_feature(&unsupported).code(), libc::EPERM);
        assert_eq!(errno(&unsupported).code(), libc::EOPNOTSUPP);
    }
}
