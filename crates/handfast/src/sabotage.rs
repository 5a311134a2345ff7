//! Faults that are made on purpose, to show that a siege finds them. Part of the crate only with
//! `--cfg handfast_sabotage`; which one is named by `HANDFAST_SABOTAGE` when the program starts.

use std::borrow::Cow;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, ResolveFlags};

use crate::error::Fault;
use crate::path::RelPath;
use crate::root::Root;
use crate::sys;

/// Whether this fault was asked for.
#[must_use]
pub fn is(variant: &str) -> bool {
    static CHOSEN: OnceLock<Option<String>> = OnceLock::new();
    CHOSEN
        .get_or_init(|| std::env::var("HANDFAST_SABOTAGE").ok())
        .as_deref()
        == Some(variant)
}

/// `openat2` is asked without one of its promises.
pub(crate) fn without(flags: ResolveFlags, flag: ResolveFlags, variant: &str) -> ResolveFlags {
    if is(variant) { flags - flag } else { flags }
}

/// The walk opens `name/`, which the kernel follows whatever else was asked.
pub(crate) fn slashed(name: &[u8]) -> Cow<'_, [u8]> {
    match is("trailing-slash") {
        true => Cow::Owned([name, b"/"].concat()),
        false => Cow::Borrowed(name),
    }
}

/// The file is emptied by the open itself, before anybody looked at it.
pub(crate) fn truncating(flags: OFlags, truncate: bool) -> OFlags {
    match truncate && is("truncate-first") {
        true => flags | OFlags::TRUNC,
        false => flags,
    }
}

/// What was checked is opened a second time by its path.
pub(crate) fn opened_again(
    fd: OwnedFd,
    root: &Root,
    path: &RelPath,
    flags: OFlags,
) -> Result<OwnedFd, Fault> {
    match is("re-resolve") {
        true => Ok(sys::open_at(
            &root.pinned.fd,
            path.as_c_str(),
            flags - OFlags::CREATE - OFlags::EXCL,
            Mode::empty(),
        )?),
        false => Ok(fd),
    }
}
