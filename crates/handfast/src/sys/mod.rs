//! System calls: the only place with `unsafe`, and the only one that knows the platform.
//!
//! The rest of the crate calls these names. Each returns a [`Fault`](crate::error::Fault) that
//! carries the call's name and number, retries EINTR within a bound, and never takes a name that
//! could hold `/` except where a comment says why that is sound.

mod calls;
mod linux;

pub(crate) use calls::*;
pub(crate) use linux::*;

use rustix::io::Errno;

/// How often a call that a signal interrupted is made again. A storm of signals then shows as
/// `Busy` and not as a hang.
const MAX_INTERRUPTIONS: usize = 10_000;

/// Makes a call again while signals interrupt it.
#[inline(always)]
pub(crate) fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    for _ in 0..MAX_INTERRUPTIONS {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
    Err(Errno::BUSY)
}
