//! Answers that several requests have in common.

use fuser::{Errno, ReplyEmpty, ReplyXattr};

/// That it was done, or why not.
pub(crate) fn done(reply: ReplyEmpty, result: Result<(), Errno>) {
    match result {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

/// The value of an attribute, or how long it is, as the program asked.
pub(crate) fn bounded(reply: ReplyXattr, size: u32, value: &[u8]) {
    let len = u32::try_from(value.len()).unwrap_or(u32::MAX);
    match size {
        0 => reply.size(len),
        size if len <= size => reply.data(value),
        _ => reply.error(Errno::ERANGE),
    }
}
