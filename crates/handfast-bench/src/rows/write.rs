//! Replace a file atomically, without waiting for the disk.
#![expect(
    clippy::disallowed_methods,
    reason = "one column is what people write who confine nothing"
)]

use std::cell::Cell;
use std::ffi::CStr;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use handfast::{Durability, RelPath, WriteOptions};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, Statx};
use rustix::rand::GetRandomFlags;

use super::buffer::Buffer;
use super::{SMALL, fixtures};
use crate::Failure;
use crate::column::Column;
use crate::raw::{Components, Lookup, Openat2, PIN, RawPath, status, status_at};
use crate::row::{Case, Row, Stage, Work};
use crate::site::Site;
use crate::sys;

pub(super) fn row() -> Row {
    Row::new(
        "atomic-write/no-sync",
        "atomic write of 4 KiB, no fsync, depth 4",
        |site: &Site| {
            let text = fixtures::file(site, 4, "replaced")?;
            let stage = Replaced {
                path: site.path(&text),
                inode: Cell::new(0),
            };
            let mut cases = vec![
                raw(Openat2, site, &text)?,
                raw(Components, site, &text)?,
                std(site, &text),
            ];
            for (column, root) in site.roots() {
                let (path, data) = (RelPath::parse(&text)?, Buffer::filled());
                let options = WriteOptions::new().durability(Durability::None);
                cases.push(Case::new(column, move |_| {
                    root.write_with(&path, &*data, options)?;
                    Ok(data.len() as u64)
                }));
            }
            #[cfg(feature = "peers")]
            cases.push(cap_std(site, text)?);
            Ok(Work::new(cases).staged(usize::MAX, stage))
        },
    )
}

/// The library's sequence: what stands there is pinned, looked at and asked whether it may be
/// written; a file without a name is locked, filled, dressed like the old one and named; one rename
/// publishes it, and a last look says that it is the one under the name.
fn raw<L: Lookup>(lookup: L, site: &Site, text: &str) -> Result<Case, Failure> {
    let (dir, path, data) = (site.dir(), RawPath::new(text)?, Buffer::filled());
    Ok(Case::new(L::COLUMN, move |_| {
        let parent = lookup.parent(dir.as_fd(), &path)?;
        let pin = rustix::fs::openat(&parent, path.name(), PIN, Mode::empty())?;
        let old = status(&pin)?;
        sys::may_write(pin.as_fd())?;
        drop(pin);
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        let draft = rustix::fs::openat(&parent, c".", flags, Mode::from_raw_mode(0o600))?;
        rustix::fs::flock(&draft, FlockOperation::NonBlockingLockExclusive)?;
        let written = rustix::io::write(&draft, &data)?;
        if status(&draft)?.stx_mode != old.stx_mode {
            rustix::fs::fchmod(&draft, Mode::from_raw_mode(u32::from(old.stx_mode) & 0o777))?;
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
            return Err("another file stands under the name".into());
        }
        rustix::fs::flock(&draft, FlockOperation::Unlock)?;
        Ok(written as u64)
    }))
}

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

fn std(site: &Site, text: &str) -> Case {
    let (path, data) = (site.path(text), Buffer::filled());
    let draft = path.with_extension("draft");
    Case::new(Column::Std, move |_| {
        let written = std::fs::File::create_new(&draft)?.write(&data)?;
        std::fs::rename(&draft, &path)?;
        Ok(written as u64)
    })
}

#[cfg(feature = "peers")]
fn cap_std(site: &Site, text: String) -> Result<Case, Failure> {
    let (dir, data) = (site.cap_std()?, Buffer::filled());
    let draft = format!("{text}.draft");
    let mut options = cap_std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    Ok(Case::new(Column::CapStd, move |_| {
        let written = dir.open_with(&draft, &options)?.write(&data)?;
        dir.rename(&draft, &dir, &text)?;
        Ok(written as u64)
    }))
}

/// Another file stands under the name after each operation.
struct Replaced {
    path: PathBuf,
    inode: Cell<u64>,
}

impl Stage for Replaced {
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
            if entry?.file_name().as_encoded_bytes().starts_with(b".") {
                return Err("a draft was left behind".into());
            }
        }
        Ok(())
    }
}
