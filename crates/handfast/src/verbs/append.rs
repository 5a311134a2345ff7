//! Append to a file, creating it if it is missing.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::open::{OpenOptions, open_ruled};
use super::write::{DirSync, WriteOptions, Written};
use crate::error::{Effect, Error, ErrorKind, Fault};
use crate::metadata::Metadata;
use crate::path::RelPath;
use crate::resolve::{self, Last};
use crate::root::Root;
use crate::staging::{drop_inherited, remove_if_same};
use crate::sys;
use crate::verb::Verb;

impl Root {
    /// Appends to a file, creating it if it is missing.
    ///
    /// # Errors
    /// `HardLink` if the file has other names; `Quota` before anything is written where the
    /// filesystem can reserve space; an error with effect `visible` if only a part could be
    /// written. Otherwise as [`Root::open_with`].
    pub fn append(&self, path: &RelPath, data: impl AsRef<[u8]>) -> Result<Written, Error> {
        self.append_with(
            path,
            data,
            WriteOptions::new().durability(crate::Durability::None),
        )
    }

    /// As [`Root::append`], with options: by default nothing is synced. A mode is that of a file
    /// that is created; a file that is there keeps its own.
    ///
    /// # Errors
    /// As [`Root::append`].
    pub fn append_with(
        &self,
        path: &RelPath,
        data: impl AsRef<[u8]>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        let data = data.as_ref();
        self.act(Verb::Append, path, |op| {
            let how = OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .mode(options.appended_mode());
            let existing = match open_appending(self, path, how.create(false)) {
                Err(fault) if fault.kind == ErrorKind::NotFound => None,
                opened => Some(opened?),
            };
            op.allow(existing.as_ref().map(|(_, status)| status))?;
            let mut made = false;
            let (fd, status) = match existing {
                Some(opened) => opened,
                None => match open_ruled(self, path, how.create_new(true)) {
                    // Another process was faster, or a link leads to nothing: the next open shows which.
                    Err(fault) if fault.kind == ErrorKind::Exists => {
                        open_appending(self, path, how)?
                    }
                    opened => {
                        made = true;
                        opened?
                    }
                },
            };
            op.note(&status);
            let ready = match (made, options.mode) {
                (true, Some(mode)) => make_exact(&fd, mode),
                _ => Ok(()),
            };
            ready
                .and_then(|()| reserve(&fd, status.len, data.len()))
                .inspect_err(|_| {
                    if made && let Ok(place) = resolve::place(self, path, Last::Itself) {
                        // Nothing was written: the file that this call made goes again.
                        drop(remove_if_same(
                            place.dir.as_fd(),
                            &place.name,
                            &status.identity,
                        ));
                    }
                })?;
            sys::write_all(&fd, data).map_err(|fault| match sys::status(&fd) {
                Ok(now) if now.len == status.len => fault,
                _ => fault.with_effect(Effect::Visible),
            })?;
            if options.durability.syncs_file() {
                sys::sync_all(&fd).map_err(|fault| fault.with_effect(Effect::Visible))?;
            }
            if made && options.durability.syncs_dir() {
                resolve::place(self, path, Last::Itself)
                    .and_then(|place| DirSync::prepare(&place, options.durability))
                    .and_then(DirSync::sync)
                    .map_err(|fault| fault.with_effect(Effect::Visible))?;
            }
            Ok(Written::new(fd, path, status.identity))
        })
    }
}

/// Gives a new file the mode that was asked for, whatever the umask and the lists that it inherited
/// say.
fn make_exact(fd: &OwnedFd, mode: u32) -> Result<(), Fault> {
    sys::chmod_open(fd, drop_inherited(fd, mode)?)
}

/// Readable as well where possible, so that the version can be read afterwards.
fn open_appending(
    root: &Root,
    path: &RelPath,
    how: OpenOptions,
) -> Result<(OwnedFd, Metadata), Fault> {
    match open_ruled(root, path, how) {
        Err(fault) if fault.is(Errno::ACCESS) => open_ruled(root, path, how.read(false)),
        opened => opened,
    }
}

/// Detects a full disk before the file is changed, where the filesystem can reserve space.
fn reserve(fd: impl std::os::fd::AsFd, offset: u64, len: usize) -> Result<(), Fault> {
    if len == 0 {
        return Ok(());
    }
    let mode = FallocateFlags::KEEP_SIZE;
    match sys::retry(|| rustix::fs::fallocate(&fd, mode, offset, len as u64)) {
        Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::ROFS | Errno::IO)) => {
            Err(Fault::sys("fallocate", errno))
        }
        // Filesystems that cannot reserve say so; the write itself will fail then.
        _ => Ok(()),
    }
}
