//! The kernel walks: one `openat2` for the whole path.

use std::ffi::CStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use super::itinerary::link_in_the_way;
use super::{Last, probe, walk};
use crate::error::{ErrorKind, Fault};
use crate::options::{Links, Mounts};
use crate::root::Root;
use crate::rules;
use crate::sys;

/// How often a lookup that met a loop of links is repeated before the loop is reported.
const MAX_LOOP_TRIES: u32 = 3;

/// A lookup that got EAGAIN is repeated at least this often and for at least this long. Time alone is
/// not enough: on a busy machine a thread may lose its core for all of it and hardly try.
const MIN_TRIES: u32 = 128;
const MIN_RETRY_TIME: Duration = Duration::from_millis(1);
/// The upper bound on both.
const MAX_TRIES: u32 = 4096;

/// The kernel's answer, or that `openat2` is absent.
pub(super) enum KernelReply {
    Done(Result<OwnedFd, Fault>),
    Absent,
}

/// Always on: nothing above the root, no magic links; other mounts by policy.
fn base(root: &Root) -> ResolveFlags {
    let base = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    #[cfg(handfast_sabotage)]
    let base = crate::sabotage::without(base, ResolveFlags::BENEATH, "no-beneath");
    match root.options.mounts {
        Mounts::Refuse => base | ResolveFlags::NO_XDEV,
        Mounts::Allow => base,
    }
}

/// `path` is `bytes` in the form that costs the caller least.
#[inline(always)]
pub(super) fn open(
    root: &Root,
    bytes: &[u8],
    path: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
    last: Last,
) -> KernelReply {
    if bytes.is_empty() {
        // openat2 wants `.` for the directory itself.
        return open_named(root, bytes, c".", flags, mode, last);
    }
    open_named(root, bytes, path, flags, mode, last)
}

#[inline(always)]
fn open_named(
    root: &Root,
    bytes: &[u8],
    path: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
    last: Last,
) -> KernelReply {
    let flags = match last {
        Last::Follow => flags,
        Last::Itself => flags | OFlags::NOFOLLOW,
    };
    // First without any link: if this succeeds, the components walked are those that were asked
    // for. The path holds no `..`, so EAGAIN can only be a lease, and EXDEV a mount or a directory
    // that left the root while it was walked.
    let strict = base(root) | ResolveFlags::NO_SYMLINKS;
    #[cfg(handfast_sabotage)]
    let strict = crate::sabotage::without(strict, ResolveFlags::NO_SYMLINKS, "no-symlinks");
    match sys::open_beneath(&root.pinned.fd, path, flags, mode, strict) {
        Ok(fd) => KernelReply::Done(Ok(fd)),
        Err(errno) => refused(root, bytes, path, flags, mode, last, errno),
    }
}

/// How often an EXDEV that the second lookup cannot confirm is asked for again.
const MAX_UNCONFIRMED: u32 = 64;

/// What the first refusal means.
#[cold]
fn refused(
    root: &Root,
    bytes: &[u8],
    path: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
    last: Last,
    errno: Errno,
) -> KernelReply {
    match errno {
        Errno::NOSYS => return KernelReply::Absent,
        // Genuine for append-only and immutable files; a filter answers so to everything.
        Errno::PERM if probe::is_absent(&root.pinned.fd) => return KernelReply::Absent,
        Errno::LOOP if root.link_policy().are_followed() => {}
        Errno::XDEV => {
            return KernelReply::Done(Err(match name_exdev(root, bytes, flags, last, errno) {
                mount if mount.kind == ErrorKind::Mount => mount,
                other => other.with_kind(ErrorKind::Raced, "a directory left the root"),
            }));
        }
        errno => return KernelReply::Done(Err(strict_fault(errno))),
    }
    if flags.contains(OFlags::CREATE) {
        // Never create while links are followed; the caller finds the place first.
        return KernelReply::Done(Err(link_in_the_way()));
    }
    follow(root, bytes, path, flags, mode, last)
}

/// How the second lookup keeps links inside.
fn following(root: &Root) -> ResolveFlags {
    match root.link_policy() {
        // The kernel takes one of the two.
        Links::InRoot => (base(root) - ResolveFlags::BENEATH) | ResolveFlags::IN_ROOT,
        Links::Refuse | Links::Beneath => base(root),
    }
}

/// Second, with links that stay beneath, or that are taken from the root.
fn follow(
    root: &Root,
    bytes: &[u8],
    path: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
    last: Last,
) -> KernelReply {
    let resolve = following(root);
    let (mut deadline, mut loops, mut unconfirmed) = (None, 0, 0);
    for tries in 1..=MAX_TRIES {
        match sys::open_beneath(&root.pinned.fd, path, flags, mode, resolve) {
            Ok(fd) => return KernelReply::Done(Ok(fd)),
            // A process renamed or mounted something, anywhere, while a `..` in a link was walked;
            // or the file has a lease. Retry within a bound, and on this backend only.
            Err(Errno::AGAIN) => {
                let now = Instant::now();
                if now > *deadline.get_or_insert(now + MIN_RETRY_TIME) && tries >= MIN_TRIES {
                    break;
                }
            }
            Err(Errno::NOSYS) => return KernelReply::Absent,
            Err(Errno::PERM) if probe::is_absent(&root.pinned.fd) => return KernelReply::Absent,
            Err(errno @ Errno::XDEV) => match name_exdev(root, bytes, flags, last, errno) {
                // By now nothing there leads outside: the attacker who swaps it may be ahead again next
                // time, but hardly every time.
                raced if raced.kind == ErrorKind::Raced && unconfirmed < MAX_UNCONFIRMED => {
                    unconfirmed += 1;
                }
                named => return KernelReply::Done(Err(named)),
            },
            // A lookup that the kernel began again goes on counting links, so a long chain may be
            // called a loop by chance. A loop is one each time.
            Err(Errno::LOOP) if loops < MAX_LOOP_TRIES => loops += 1,
            Err(Errno::LOOP) => {
                return KernelReply::Done(Err(Fault::rule(
                    ErrorKind::Link,
                    "too many links, a loop, or a link of procfs",
                )));
            }
            Err(errno) => return KernelReply::Done(Err(Fault::sys("openat2", errno))),
        }
    }
    KernelReply::Done(Err(name_eagain(root, path, flags)))
}

fn strict_fault(errno: Errno) -> Fault {
    match errno {
        Errno::LOOP => link_in_the_way(),
        Errno::AGAIN => lease_fault(),
        errno => Fault::sys("openat2", errno),
    }
}

fn lease_fault() -> Fault {
    Fault::sys("openat2", Errno::AGAIN)
        .with_kind(ErrorKind::Busy, "another process holds a lease on it")
}

/// EXDEV is an escape or a mount. A second lookup names it; its success would only mean that the
/// tree changed, and is never used.
fn name_exdev(root: &Root, bytes: &[u8], flags: OFlags, last: Last, errno: Errno) -> Fault {
    let fault = Fault::sys("openat2", errno);
    let named = crate::path::RelPath::parse_with(bytes, &EVERYTHING)
        .map_err(|_| ErrorKind::Escape)
        .and_then(|path| {
            let flags = sys::PIN | (flags & OFlags::DIRECTORY);
            walk::open(root, &path, flags, Mode::empty(), last).map_err(|fault| fault.kind)
        });
    match named {
        Err(ErrorKind::Mount) => fault.with_kind(
            ErrorKind::Mount,
            "something is mounted there, and the root does not allow other mounts",
        ),
        Ok(_) => fault.with_kind(ErrorKind::Raced, ""),
        // Nothing there leads outside: a directory was moved out of the root while it was walked.
        Err(_) if root.link_policy() == Links::InRoot => fault.with_kind(ErrorKind::Raced, ""),
        Err(_) => fault.with_kind(ErrorKind::Escape, "a link leads outside the root"),
    }
}

const EVERYTHING: crate::path::Limits = crate::path::Limits::DEFAULT
    .with_segment(usize::MAX)
    .with_total(usize::MAX)
    .with_depth(usize::MAX);

/// EAGAIN that stayed is a lease or a race. Pinning breaks no lease, so its answer distinguishes the two.
fn name_eagain(root: &Root, path: impl Arg + Copy, flags: OFlags) -> Fault {
    let pin = sys::PIN - (OFlags::NOFOLLOW - flags);
    let pinned = sys::open_beneath(&root.pinned.fd, path, pin, Mode::empty(), following(root));
    match pinned {
        Err(Errno::AGAIN) => Fault::sys("openat2", Errno::AGAIN).with_kind(ErrorKind::Raced, ""),
        _ => lease_fault(),
    }
}

pub(super) fn open_child_dir(root: &Root, dir: BorrowedFd<'_>, name: &CStr) -> KernelReply {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | crate::root::CAUTIOUS;
    let strict = base(root) | ResolveFlags::NO_SYMLINKS;
    match sys::open_beneath(dir, name, flags, Mode::empty(), strict) {
        Ok(fd) => KernelReply::Done(Ok(fd)),
        Err(Errno::NOSYS) => KernelReply::Absent,
        Err(Errno::PERM) if probe::is_absent(&root.pinned.fd) => KernelReply::Absent,
        Err(Errno::XDEV) => KernelReply::Done(Err(name_child_exdev(root, dir, name))),
        Err(errno) => KernelReply::Done(Err(strict_fault(errno))),
    }
}

/// EXDEV of one component is a mount, or a directory that left meanwhile.
fn name_child_exdev(root: &Root, dir: BorrowedFd<'_>, name: &CStr) -> Fault {
    let named = sys::status_at(dir, name).and_then(|status| rules::check_passage(root, &status));
    match named {
        Err(fault) if fault.kind == ErrorKind::Mount => fault,
        _ => Fault::sys("openat2", Errno::XDEV).with_kind(ErrorKind::Raced, ""),
    }
}
