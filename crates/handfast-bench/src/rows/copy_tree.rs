//! Copy a tree to a free name.
#![expect(
    clippy::disallowed_methods,
    reason = "a copy is taken away by path: the scratch directory is ours alone"
)]

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{
    FileType, FlockOperation, Mode, OFlags, RawDir, RenameFlags, SeekFrom, XattrFlags, mkdirat,
    openat, renameat_with,
};
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

use super::fixtures;
use crate::Failure;
use crate::raw::{
    BUFFER, CAUTIOUS, Components, LISTED, Lookup, Openat2, RawPath, list, status, status_at,
};
use crate::row::{BatchSetup, Case, Row, Work};
use crate::site::Site;

const COPY: &str = "copy";
const MARK: &CStr = c"user.bench.staging";

pub(super) fn row() -> Row {
    Row::new(
        "copy-tree",
        "copy of a tree of 1,000 files",
        |site: &Site| {
            let from = fixtures::small_tree(site)?;
            let floor = vec![
                floor(Openat2, site, &from)?,
                floor(Components, site, &from)?,
            ];
            let (dirs, files) = site.scale().small_tree;
            let stage = Copied {
                top: site.path(""),
                copy: site.path(COPY),
                entries: dirs + dirs * files,
            };
            let work = Work::new(site, floor, |contender| contender.copy_tree(&from, COPY))?;
            Ok(work.staged(1, stage))
        },
    )
}

/// The library's sequence: a directory under a secret name is marked, locked and filled, and one
/// rename publishes it. The trees here have two levels.
fn floor<L: Lookup>(lookup: L, site: &Site, from: &str) -> Result<Case, Failure> {
    let (dir, from, to) = (site.dir(), RawPath::new(from)?, RawPath::new(COPY)?);
    Ok(Case::new(L::COLUMN, move |_| {
        let source = lookup.list(dir.as_fd(), &from)?;
        let mode = permissions(status(&source)?.stx_mode);
        let place = lookup.parent(dir.as_fd(), &to)?;
        match status_at(&place, to.name()) {
            Err(Errno::NOENT) => {}
            _ => return Err("the name is taken".into()),
        }
        let first = secret()?;
        mkdirat(&place, &first, Mode::RWXU)?;
        let staging = lookup.child(place.as_fd(), &first)?;
        let made = status(&staging)?;
        if made.stx_uid != crate::sys::making_user() {
            return Err("a foreign directory has the name".into());
        }
        // Nothing is in it.
        let mut buffer = [MaybeUninit::uninit(); 512];
        let mut entries = RawDir::new(&staging, &mut buffer);
        for _ in [".", ".."] {
            entries.next().transpose()?;
        }
        rustix::fs::seek(&staging, SeekFrom::Start(0))?;
        rustix::fs::flock(&staging, FlockOperation::NonBlockingLockExclusive)?;
        let name = secret()?;
        // Not every filesystem has such attributes.
        let marked = rustix::fs::fsetxattr(&staging, MARK, b"1", XattrFlags::empty());
        renameat_with(&place, &first, &place, &name, RenameFlags::NOREPLACE)?;
        let top = openat(&staging, c".", LISTED, Mode::empty())?;
        fill(lookup, &source, &top)?;
        if marked.is_ok() {
            rustix::fs::fremovexattr(&staging, MARK)?;
        }
        rustix::fs::fchmod(&staging, mode)?;
        renameat_with(&place, &name, &place, to.name(), RenameFlags::NOREPLACE)?;
        rustix::fs::flock(&staging, FlockOperation::Unlock)?;
        if status_at(&place, to.name())?.stx_ino != made.stx_ino {
            return Err("another directory has this name now".into());
        }
        Ok(1)
    }))
}

fn secret() -> Result<CString, Failure> {
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random, GetRandomFlags::empty())?;
    let number = u64::from_ne_bytes(random);
    Ok(CString::new(format!(".staging-t-{number:x}"))?)
}

fn fill<L: Lookup>(lookup: L, source: &OwnedFd, copy: &OwnedFd) -> Result<(), Errno> {
    let mut buffer = Vec::with_capacity(BUFFER);
    let mut dirs: Vec<CString> = Vec::new();
    list(source.as_fd(), buffer.spare_capacity_mut(), |name, kind| {
        if kind == FileType::Directory {
            dirs.push(name.to_owned());
            return Ok(());
        }
        copy_file(source.as_fd(), copy.as_fd(), name)
    })?;
    for name in dirs {
        let from = lookup.child(source.as_fd(), &name)?;
        let mode = permissions(status(&from)?.stx_mode);
        mkdirat(copy, &name, Mode::RWXU)?;
        let to = lookup.child(copy.as_fd(), &name)?;
        status(&to)?;
        list(from.as_fd(), buffer.spare_capacity_mut(), |name, _| {
            copy_file(from.as_fd(), to.as_fd(), name)
        })?;
        rustix::fs::fchmod(&to, mode)?;
    }
    Ok(())
}

fn permissions(mode: u16) -> Mode {
    Mode::from_raw_mode(u32::from(mode) & 0o777)
}

fn copy_file(from: BorrowedFd<'_>, to: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | CAUTIOUS;
    let from = openat(from, name, flags, Mode::empty())?;
    let mode = permissions(status(&from)?.stx_mode);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let to = openat(to, name, flags, mode)?;
    // As much as it has now, however it grows.
    let length = status(&from)?.stx_size;
    // A short file is read and written: that costs less than asking for shared blocks.
    if (1..=64 * 1024).contains(&length) {
        let mut buffer = vec![0; usize::try_from(length).unwrap_or(0)];
        let got = rustix::io::pread(&from, &mut *buffer, 0)?;
        rustix::io::pwrite(&to, &buffer[..got], 0)?;
        return Ok(());
    }
    if length > 0 && rustix::fs::ioctl_ficlone(&to, &from).is_ok() {
        return Ok(());
    }
    let mut at = 0;
    while at < length {
        let (mut input, mut output) = (at, at);
        let most = usize::try_from(length - at).unwrap_or(1 << 30).min(1 << 30);
        match rustix::fs::copy_file_range(&from, Some(&mut input), &to, Some(&mut output), most)? {
            0 => break,
            copied => at += copied as u64,
        }
    }
    if at == 0 {
        // Some files have content and no length.
        let mut buffer = vec![0; 64 * 1024];
        let got = rustix::io::pread(&from, &mut *buffer, 0)?;
        if got > 0 {
            rustix::io::pwrite(&to, &buffer[..got], 0)?;
        }
    }
    Ok(())
}

/// There is no copy whenever an operation begins, and a whole one when it ends.
struct Copied {
    top: PathBuf,
    copy: PathBuf,
    entries: usize,
}

impl BatchSetup for Copied {
    fn verify_one(&self) -> Result<(), Failure> {
        let mut entries = 0;
        for dir in std::fs::read_dir(&self.copy)? {
            entries += 1 + std::fs::read_dir(dir?.path())?.count();
        }
        if entries == self.entries {
            return Ok(());
        }
        Err(format!("{entries} entries were copied, not {}", self.entries).into())
    }

    fn clean(&self, _count: usize) -> Result<(), Failure> {
        Ok(std::fs::remove_dir_all(&self.copy)?)
    }

    /// Removes what a secret name refers to as well.
    fn reset(&self) {
        // There need not be any of it.
        drop(self.clean(1));
        for found in std::fs::read_dir(&self.top).into_iter().flatten().flatten() {
            if found.file_name().as_encoded_bytes().starts_with(b".") {
                drop(std::fs::remove_dir_all(found.path()));
            }
        }
    }
}
