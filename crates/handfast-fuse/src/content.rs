//! Requests about what files hold, and about their attributes.

use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use fuser::{Errno, FileAttr, TimeOrNow};
use handfast::files::Attributes;
use handfast::{Metadata, OpenOptions, Timestamp};

use crate::errno::{errno, errno_of_feature};
use crate::face::Face;
use crate::open_files::OpenFile;

/// So many zeros are written at a time.
const ZEROS: usize = 64 * 1024;

/// What a program wants changed.
#[derive(Default)]
pub(crate) struct Wanted {
    pub(crate) mode: Option<u32>,
    pub(crate) uid: Option<u32>,
    pub(crate) gid: Option<u32>,
    pub(crate) len: Option<u64>,
    pub(crate) accessed: Option<TimeOrNow>,
    pub(crate) modified: Option<TimeOrNow>,
}

/// The options of an `open`, as the kernel sends them. `None` if nothing is read or written.
pub(crate) fn options(flags: i32) -> OpenOptions {
    let appends = flags & libc::O_APPEND != 0;
    let how = OpenOptions::new();
    match flags & libc::O_ACCMODE {
        libc::O_RDONLY => how,
        access => how
            .read(access == libc::O_RDWR)
            .write(!appends)
            .append(appends)
            .truncate(flags & libc::O_TRUNC != 0 && !appends),
    }
}

impl Face {
    /// Opens a file. The second answer says whether what the kernel has cached of it still holds.
    pub(crate) fn open_file(&self, number: u64, flags: i32) -> Result<(u64, bool), Errno> {
        let how = options(flags);
        // Before a look at what has the name now takes its place in the table.
        let told = self.seen(number)?.node;
        let file = self.on_node(number, |node| self.files.open_node(node, how))?;
        let opened = file.opened_metadata();
        if !how.changes() && !told.metadata().identity.same_object(&opened.identity) {
            // A person has replaced the file: the kernel would cut the new content to the length of the
            // old one. This makes it look the name up again, and ask once more.
            return Err(Errno::ESTALE);
        }
        if flags & libc::O_TRUNC != 0 && how.appends() {
            file.set_len(0).map_err(|error| errno(&error))?;
        }
        self.table().opened(number);
        let (id, is_same) = self.open.add(OpenFile::new(number, how.changes(), file));
        if how.changes() {
            self.follow_copy(number);
        }
        Ok((id, is_same && !how.changes()))
    }

    pub(crate) fn close_file(&self, id: u64) {
        if let Some(file) = self.open.close(id) {
            self.table().closed(file.number);
        }
    }

    fn file(&self, id: u64) -> Result<Arc<OpenFile>, Errno> {
        self.open.file(id).ok_or(Errno::EBADF)
    }

    pub(crate) fn read(&self, id: u64, offset: u64, size: u32) -> Result<Vec<u8>, Errno> {
        let handle = self.file(id)?.handle();
        let mut buffer = vec![0; size as usize];
        let mut filled = 0;
        while filled < buffer.len() {
            let got = handle
                .read_at(&mut buffer[filled..], offset + filled as u64)
                .map_err(|error| errno(&error))?;
            if got == 0 {
                break;
            }
            filled += got;
        }
        buffer.truncate(filled);
        Ok(buffer)
    }

    pub(crate) fn write(&self, id: u64, offset: u64, data: &[u8]) -> Result<u32, Errno> {
        let handle = self.file(id)?.handle();
        let mut done = 0;
        while done < data.len() {
            match handle.write_at(&data[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(written) => done += written,
                // The answer is what was written; the next call gets the error.
                Err(_) if done > 0 => break,
                Err(error) => return Err(errno(&error)),
            }
        }
        Ok(u32::try_from(done).unwrap_or(u32::MAX))
    }

    /// Makes room for content, or takes content away. Nothing is reserved: a file grows, or the
    /// range reads as zeros.
    pub(crate) fn allocate(&self, id: u64, range: Range<u64>, mode: i32) -> Result<(), Errno> {
        let handle = self.file(id)?.handle();
        let metadata = handle.metadata().map_err(|error| errno(&error))?;
        let keeps_size = mode & libc::FALLOC_FL_KEEP_SIZE != 0;
        let told = |error| errno(&error);
        match mode & !libc::FALLOC_FL_KEEP_SIZE {
            0 => {}
            libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE => {
                let zeros = vec![0; ZEROS];
                let end = range.end.min(metadata.len);
                let mut at = range.start;
                while at < end {
                    let most = usize::try_from(end - at).map_or(ZEROS, |left| left.min(ZEROS));
                    at += handle.write_at(&zeros[..most], at).map_err(told)? as u64;
                }
            }
            _ => return Err(Errno::EOPNOTSUPP),
        }
        if !keeps_size && range.end > metadata.len {
            handle.set_len(range.end).map_err(told)?;
        }
        Ok(())
    }

    pub(crate) fn sync(&self, id: u64) -> Result<(), Errno> {
        let handle = self.file(id)?.handle();
        handle.sync().map_err(|error| errno(&error))
    }

    pub(crate) fn set_attributes(
        &self,
        number: u64,
        id: Option<u64>,
        wanted: &Wanted,
    ) -> Result<FileAttr, Errno> {
        if let Some(len) = wanted.len {
            self.set_len(number, id, len)?;
        }
        let now = self.metadata(number)?;
        let attributes = changes(wanted, &now);
        if attributes != Attributes::new() {
            let set = |node: &_| self.files.set_attributes_of(node, &attributes);
            self.on_node_with(number, set, errno_of_feature)?;
            self.follow_copy(number);
            return self.attr(number);
        }
        Ok(self.attr_of(number, &now))
    }

    fn set_len(&self, number: u64, id: Option<u64>, len: u64) -> Result<(), Errno> {
        let open = match id {
            Some(id) => self.open.file(id),
            None => None,
        };
        let open = open.or_else(|| {
            let files = self.open.files_of(number);
            files.into_iter().find(|file| file.changes)
        });
        if let Some(file) = open {
            return file.handle().set_len(len).map_err(|error| errno(&error));
        }
        let how = OpenOptions::new().read(false).write(true);
        let file = self.on_node(number, |node| self.files.open_node(node, how))?;
        file.set_len(len).map_err(|error| errno(&error))?;
        self.follow_copy(number);
        Ok(())
    }

    /// Gives readers of a file the copy that is written to. The kernel has one cache for both: what
    /// a reader of the old file fetched would be taken for the content of the new one.
    fn follow_copy(&self, number: u64) {
        let readers = self.open.files_of(number);
        if readers.iter().all(|file| file.changes) {
            return;
        }
        let again = || {
            self.on_node(number, |node| {
                self.files.open_node(node, OpenOptions::new())
            })
        };
        let Ok(now) = again() else {
            // It has no name any more: nobody can write to another file under that name.
            return;
        };
        let current = now.opened_metadata().identity;
        for file in readers {
            let held = file.handle().opened_metadata().identity;
            if !file.changes
                && !held.same_object(&current)
                && let Ok(handle) = again()
            {
                file.replace(handle);
            }
        }
    }
}

/// What differs from what is. An owner that is there already is not changed.
fn changes(wanted: &Wanted, now: &Metadata) -> Attributes {
    let time = |time: TimeOrNow| {
        Timestamp::from(match time {
            TimeOrNow::SpecificTime(time) => time,
            TimeOrNow::Now => SystemTime::now(),
        })
    };
    let uid = wanted.uid.filter(|uid| *uid != now.uid);
    let gid = wanted.gid.filter(|gid| *gid != now.gid);
    let mut attributes = Attributes::new()
        .owner(uid, gid)
        .times(wanted.accessed.map(time), wanted.modified.map(time));
    attributes.mode = wanted
        .mode
        .map(|mode| mode & 0o7777)
        .filter(|mode| *mode != now.mode & 0o7777);
    attributes
}
