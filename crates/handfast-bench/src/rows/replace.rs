//! Replace a file atomically, with and without waiting for the disk.

use std::cell::Cell;
use std::ffi::CStr;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, Statx};
use rustix::rand::GetRandomFlags;

use super::{LEFTOVERS, SMALL, fixtures};
use crate::Failure;
use crate::buffer::Buffer;
use crate::contender::Sync;
use crate::raw::{CAUTIOUS, Components, LISTED, Lookup, Openat2, PIN, RawPath, status, status_at};
use crate::row::{BatchSetup, Case, Row, Work};
use crate::site::Site;
use crate::sys;

pub(super) fn rows() -> impl Iterator<Item = Row> {
    [
        ("no-sync", "no fsync", Sync::No),
        ("sync", "file and directory synced", Sync::Full),
    ]
    .into_iter()
    .map(|(id, title, sync)| {
        Row::new(
            format!("atomic-write/{id}"),
            format!("atomic write of 4 KiB, depth 4, {title}"),
            move |site| work(site, sync),
        )
    })
}

fn work(site: &Site, sync: Sync) -> Result<Work, Failure> {
    let text = fixtures::file(site, 4, "replaced")?;
    let stage = Replaced {
        path: site.path(&text),
        inode: Cell::new(0),
    };
    let floor = vec![
        floor(Openat2, site, &text, sync)?,
        floor(Components, site, &text, sync)?,
    ];
    let work = Work::new(site, floor, |contender| contender.replace(&text, sync))?;
    // A disk may be slow; a memory filesystem does not notice.
    let most = match sync {
        Sync::No => usize::MAX,
        Sync::Full => LEFTOVERS,
    };
    Ok(work.staged(most, stage))
}

/// The library's sequence: what is there is pinned, looked at and asked whether it may be
/// written; a file without a name is locked, filled, dressed like the old one and named; one rename
/// publishes it, and a last look says that it is the one under the name.
fn floor<L: Lookup>(lookup: L, site: &Site, text: &str, sync: Sync) -> Result<Case, Failure> {
    let (dir, path, data) = (site.dir(), RawPath::new(text)?, Buffer::filled());
    Ok(Case::new(L::COLUMN, move |_| {
        let parent = lookup.parent(dir.as_fd(), &path)?;
        let pin = rustix::fs::openat(&parent, path.name(), PIN, Mode::empty())?;
        let old = status(&pin)?;
        sys::may_write(pin.as_fd())?;
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        let draft = rustix::fs::openat(&parent, c".", flags, Mode::from_raw_mode(0o600))?;
        rustix::fs::flock(&draft, FlockOperation::NonBlockingLockExclusive)?;
        let written = rustix::io::write(&draft, &data)?;
        let now = status(&draft)?;
        // No access control list is lost, and none is inherited.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | CAUTIOUS;
        let same = rustix::fs::openat(&parent, path.name(), flags, Mode::empty())?;
        let list = rustix::fs::fgetxattr(&same, LIST, &mut [0; 512][..]);
        if status(&same)?.stx_ino != old.stx_ino || list.is_ok() {
            return Err("another file has this name now".into());
        }
        drop(same);
        // There need not be one.
        drop(rustix::fs::fremovexattr(&draft, LIST).map_err(Failure::from));
        if now.stx_mode != old.stx_mode {
            rustix::fs::fchmod(&draft, Mode::from_raw_mode(u32::from(old.stx_mode) & 0o777))?;
        }
        // What cannot be opened shall stop the write and not its report.
        let above = match sync {
            Sync::No => None,
            Sync::Full => Some(rustix::fs::openat(&parent, c".", LISTED, Mode::empty())?),
        };
        if sync == Sync::Full {
            rustix::fs::fsync(&draft)?;
        }
        let new = status(&draft)?;
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, GetRandomFlags::empty())?;
        let mut buffer = [0; STAGING];
        let staging = staging_name(&mut buffer, &new, random);
        rustix::fs::linkat(&draft, c"", &parent, staging, AtFlags::EMPTY_PATH)?;
        rustix::fs::renameat(&parent, staging, &parent, path.name())?;
        let there = status_at(&parent, path.name())?;
        if there.stx_ino != new.stx_ino {
            return Err("another file has this name now".into());
        }
        rustix::fs::flock(&draft, FlockOperation::Unlock)?;
        if let Some(above) = above {
            rustix::fs::fsync(above)?;
        }
        Ok(written as u64)
    }))
}

const LIST: &CStr = c"system.posix_acl_access";

/// Three numbers in hexadecimal, and dashes between them.
const STAGING: usize = 64;

/// A name as long as the library's, in memory that needs no allocation.
fn staging_name<'a>(buffer: &'a mut [u8; STAGING], new: &Statx, random: [u8; 8]) -> &'a CStr {
    let seconds = new.stx_btime.tv_sec.cast_unsigned();
    let born = seconds.wrapping_mul(1_000_000_000) + u64::from(new.stx_btime.tv_nsec);
    let mut length = 0;
    let mut put = |byte: u8| {
        buffer[length] = byte;
        length += 1;
    };
    b".staging-f".iter().copied().for_each(&mut put);
    for number in [new.stx_ino, born, u64::from_ne_bytes(random)] {
        put(b'-');
        for digit in (0..(number | 1).ilog2() / 4 + 1).rev() {
            put(b"0123456789abcdef"[(number >> (digit * 4)) as usize & 0xf]);
        }
    }
    // What was not written is zero, so there is an end.
    CStr::from_bytes_until_nul(buffer).unwrap_or(c"staging")
}

/// Another file has the name after each operation.
struct Replaced {
    path: PathBuf,
    inode: Cell<u64>,
}

impl BatchSetup for Replaced {
    fn prepare(&self, _count: usize) -> Result<(), Failure> {
        self.inode.set(std::fs::symlink_metadata(&self.path)?.ino());
        Ok(())
    }

    fn verify_one(&self) -> Result<(), Failure> {
        let now = std::fs::symlink_metadata(&self.path)?;
        if now.ino() == self.inode.get() || now.len() != SMALL as u64 {
            return Err("the file was not replaced".into());
        }
        let parent = self.path.parent().ok_or("the file has no parent")?;
        for entry in std::fs::read_dir(parent)? {
            let name = entry?.file_name();
            let name = name.as_encoded_bytes();
            if name.starts_with(b".") || name.ends_with(b".draft") {
                return Err("a draft was left behind".into());
            }
        }
        Ok(())
    }

    fn reset(&self) {
        let Some(name) = self.path.file_name() else {
            return;
        };
        let mut draft = name.to_owned();
        draft.push(".draft");
        // There need not be one.
        let _absent = rustix::fs::unlink(self.path.with_file_name(draft));
    }
}
