//! Whether a directory that was opened by name is the one that was just made under it.
//!
//! A user who may write the parent can rename a directory of his own over a new, empty one before it is
//! opened. A directory has no descriptor until then, so the opened one is asked: whose it is, since
//! when it exists, what it lets others do, and where nobody else can know its name, whether there is
//! anything in it.

use std::os::fd::BorrowedFd;

use rustix::fs::{Mode, OFlags};

use crate::error::{Effect, ErrorKind, Fault};
use crate::filesystem::FilesystemKind;
use crate::metadata::{Metadata, Timestamp};
use crate::root::Root;
use crate::staging::{Role, StagingName, remove_if_same};
use crate::sys;

/// A directory that is about to be made.
pub(super) struct Making {
    since: Timestamp,
    mode: u32,
}

impl Making {
    /// To be called before the directory is made.
    pub(super) fn begin(mode: u32) -> Self {
        Self {
            since: sys::stamping_clock(),
            mode,
        }
    }

    /// Whether the opened object is the directory that was made; `Raced` if not, with an effect,
    /// since one was made.
    pub(super) fn check(
        &self,
        root: &Root,
        parent: BorrowedFd<'_>,
        status: &Metadata,
    ) -> Result<(), Fault> {
        #[cfg(handfast_sabotage)]
        if crate::sabotage::is("any-owner") {
            return Ok(());
        }
        if !status.is_dir() {
            return Err(not_ours(
                "something else has the name right after it was made",
            ));
        }
        let keeps_owners = keeps_owners(root, status);
        let owned = status.uid == sys::making_user()
            || (!keeps_owners && Some(status.uid) == owner_given(parent));
        if !owned {
            return Err(not_ours("a directory of another user has the name"));
        }
        if !keeps_owners {
            // Modes and times are the filesystem's own there, and some are never empty.
            return Ok(());
        }
        if status.mode & 0o022 & !self.mode != 0 || !self.is_new(status) {
            return Err(not_ours("an older directory has the name"));
        }
        Ok(())
    }

    /// Whether it was born since. That it is still empty cannot be asked for: others who know its name
    /// may honestly have put something into it by now.
    fn is_new(&self, status: &Metadata) -> bool {
        match status.identity.born {
            // Some filesystems keep whole seconds only.
            Some(born) if born.nanoseconds == 0 => born.seconds >= self.since.seconds,
            Some(born) => born >= self.since,
            // Nothing distinguishes it from an older one of the same owner.
            None => true,
        }
    }
}

/// Whether nothing is in a directory. The descriptor is at its beginning again afterwards.
pub(super) fn is_empty(dir: BorrowedFd<'_>) -> Result<bool, Fault> {
    // Room for `.` and `..` and one more.
    let mut buffer = [0; 512];
    let listed =
        sys::list_entries(dir, &mut buffer).map_err(|errno| Fault::sys("getdents64", errno))?;
    sys::rewind(dir)?;
    let mut at = 0;
    while at < listed {
        let name = buffer.get(at + 19..).unwrap_or_default();
        let length = usize::from(u16::from_ne_bytes([buffer[at + 16], buffer[at + 17]]));
        if !(name.starts_with(b".\0") || name.starts_with(b"..\0")) || length == 0 {
            return Ok(false);
        }
        at += length;
    }
    Ok(true)
}

/// Whether the filesystem gives what is made to who made it, with the mode asked for. Network
/// filesystems may map owners, others have one owner for everything.
fn keeps_owners(root: &Root, status: &Metadata) -> bool {
    root.pinned.identity.device == status.identity.device
        && matches!(
            root.pinned.filesystem,
            FilesystemKind::Ext
                | FilesystemKind::Xfs
                | FilesystemKind::Btrfs
                | FilesystemKind::Tmpfs
                | FilesystemKind::F2fs
                | FilesystemKind::Zfs
                | FilesystemKind::Bcachefs
                | FilesystemKind::Overlay
        )
}

/// Whom a filesystem gives what we make, learned from a file: that one has a descriptor from the
/// beginning.
fn owner_given(parent: BorrowedFd<'_>) -> Option<u32> {
    let name = StagingName::nameless(Role::File, sys::random().ok()?).to_name();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let mode = Mode::from_raw_mode(0o600);
    let fd = sys::open_at(parent, name.as_c_str(), flags, mode).ok()?;
    let status = sys::status(&fd).ok()?;
    drop(remove_if_same(parent, &name, &status.identity));
    Some(status.uid)
}

fn not_ours(why: &'static str) -> Fault {
    Fault::rule(ErrorKind::Raced, why).with_effect(Effect::Unknown)
}
