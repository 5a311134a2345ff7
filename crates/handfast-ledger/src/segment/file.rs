//! One segment, to be appended to.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::frame::{FrameKind, push_frame};
use super::header::SegmentHeader;
use crate::disk::Disk;
use crate::error::{Error, ErrorKind};
use crate::store::Store;

/// Kept free in every segment, so that the last event of a log fits when the disk is full.
pub(crate) const TAIL_ROOM: u64 = 16 * 1024;
/// Space is taken in pieces that grow with the segment up to the second.
const FIRST_CHUNK: u64 = BLOCK;
const LAST_CHUNK: u64 = 1024 * 1024;
/// A write of so many bytes takes space for itself alone: what is zeroed ahead is written twice.
const LARGE: u64 = 256 * 1024;
const BLOCK: u64 = 4096;

/// A segment and how far it is written, prepared and synced.
#[derive(Debug)]
pub(crate) struct SegmentFile {
    pub(crate) file: Arc<File>,
    pub(crate) first: u64,
    /// Where the next frame goes.
    pub(crate) offset: u64,
    /// Up to where it is known to be on the disk.
    pub(crate) synced: u64,
    /// Up to where space has been taken, which reads as zero.
    pub(crate) prepared: u64,
    /// Behind the header.
    pub(crate) start: u64,
}

impl SegmentFile {
    /// Makes a segment with its header, on the disk with its name.
    pub(crate) fn create(
        store: &Store,
        disk: &Disk,
        header: &SegmentHeader,
    ) -> Result<Self, Error> {
        let first = header.frontier.size();
        let name = super::name(first);
        let file = store.open_file(&name, true)?;
        let mut segment = Self {
            file: Arc::new(file),
            first,
            offset: 0,
            synced: 0,
            prepared: 0,
            start: 0,
        };
        let mut bytes = Vec::new();
        push_frame(&mut bytes, FrameKind::Header, &header.to_bytes());
        segment.start = bytes.len() as u64;
        let made = segment
            .prepare(disk, bytes.len() as u64)
            .and_then(|()| segment.append(&bytes))
            .and_then(|()| segment.sync(disk))
            .and_then(|()| store.sync_dir(super::DIR));
        if let Err(error) = made {
            // Nobody has seen it; without it the log ends with the segment before.
            drop(store.remove(&name));
            return Err(error);
        }
        Ok(segment)
    }

    /// Takes up a segment at the end of what is good in it; what follows becomes zero.
    pub(crate) fn resume(
        store: &Store,
        disk: &Disk,
        first: u64,
        offset: u64,
        dirty: bool,
    ) -> Result<Self, Error> {
        let file = store.open_file(&super::name(first), false)?;
        let length = file
            .metadata()
            .map_err(|error| Error::os("looking at a segment", error))?
            .len();
        let segment = Self {
            file: Arc::new(file),
            first,
            offset,
            synced: 0,
            prepared: length.max(offset),
            // Only asked of a segment that was just made.
            start: 0,
        };
        if dirty {
            zero(&segment.file, offset, segment.prepared)?;
        }
        disk.sync(&segment.file)?;
        Ok(Self {
            synced: offset,
            ..segment
        })
    }

    /// Takes space for so many bytes and the tail room.
    pub(crate) fn prepare(&mut self, disk: &Disk, bytes: u64) -> Result<(), Error> {
        let needed = self.offset + bytes + TAIL_ROOM;
        if needed <= self.prepared {
            return Ok(());
        }
        let chunk = match bytes {
            LARGE.. => BLOCK,
            _ => {
                let taken = self.prepared.next_multiple_of(BLOCK);
                taken.clamp(FIRST_CHUNK, LAST_CHUNK)
            }
        };
        let target = needed.next_multiple_of(chunk);
        disk.may_extend()?;
        let taken = rustix::fs::fallocate(
            &*self.file,
            FallocateFlags::empty(),
            self.prepared,
            target - self.prepared,
        );
        // What is written now needs no zeros. Space for later writes is synced faster if it has
        // been written than if it has only been taken.
        let mut zeroed = self.prepared.max(self.offset + bytes);
        match taken {
            Ok(()) => {}
            // Where a filesystem cannot take space ahead, writing zeros does it.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => zeroed = self.prepared,
            Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => {
                return Err(Error::new(ErrorKind::Full, "no space left for the log"));
            }
            Err(error) => return Err(Error::os("taking space for the log", error)),
        }
        zero(&self.file, zeroed, target)?;
        self.prepared = target;
        Ok(())
    }

    /// Writes frames at the end.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file
            .write_all_at(bytes, self.offset)
            .map_err(|error| write_error("writing to the log", error))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Gives back the space that was taken ahead. The next writer takes it again.
    pub(crate) fn trim(&mut self) -> Result<(), Error> {
        self.file
            .set_len(self.offset)
            .map_err(|error| write_error("giving back space", error))?;
        self.prepared = self.offset;
        Ok(())
    }

    /// Waits until everything written is on the disk.
    pub(crate) fn sync(&mut self, disk: &Disk) -> Result<(), Error> {
        disk.sync(&self.file)?;
        self.synced = self.offset;
        Ok(())
    }
}

fn zero(file: &File, from: u64, to: u64) -> Result<(), Error> {
    let mut at = from;
    let zeros = vec![0; usize::try_from(to.saturating_sub(from).min(LARGE)).unwrap_or(0)];
    while at < to {
        let step = (to - at).min(zeros.len() as u64);
        file.write_all_at(&zeros[..usize::try_from(step).unwrap_or(0)], at)
            .map_err(|error| write_error("taking space for the log", error))?;
        at += step;
    }
    Ok(())
}

fn write_error(doing: &str, error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            Error::new(ErrorKind::Full, "no space left for the log")
        }
        _ => Error::os(doing, error),
    }
}
