//! Requests about what files hold, and about their attributes.

use std::ops::Range;
use std::sync::Arc;

use fuser::{Errno, FileAttr, TimeOrNow};
use handfast::files::{Attributes, FileHandle};
use handfast::{FileKind, Metadata, OpenOptions};

use crate::attr::wanted_time;
use crate::errno::{errno, errno_of_feature};
use crate::face::{Asked, Face};
use crate::fill::Caching;
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
        // A file is read short only at its end. What the answer lacks, the kernel takes for missing too.
        let read = handle.read_at(&mut buffer, offset);
        buffer.truncate(read.map_err(|error| errno(&error))?);
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
}

impl Asked<'_> {
    /// Opens a file. The second answer says how the kernel uses its cache.
    pub(crate) fn open_file(&self, number: u64, flags: i32) -> Result<(u64, Caching), Errno> {
        let how = options(flags);
        let file = match self.on_node(number, |node| self.files.open_node(node, how)) {
            Err(Errno::ESTALE | Errno::ENOENT) if self.seen(number)?.place.is_none() => {
                return self.open_nameless(number, flags);
            }
            file => file?,
        };
        if how.changes() {
            return self.opened_to_change(number, flags, file);
        }
        let file = OpenFile::new(number, false, file);
        let handle = file.handle();
        let opened = handle.opened_metadata();
        let is_believed = self.refresh_facts(number, opened);
        let seen = self.seen(number)?;
        let mut is_mixed = false;
        if !seen.node.metadata().identity.same_object(&opened.identity) {
            match self.look_again(number, seen) {
                Err(Errno::ESTALE) if self.reads_past_the_cache(number) => is_mixed = true,
                looked => drop(looked?),
            }
        }
        let (id, cached) = match self.open.add_reader(file) {
            Ok(added) => added,
            Err(file) if is_mixed || !self.is_replaced(number)? => self.open.add(file),
            Err(file) if self.reads_past_the_cache(number) => {
                is_mixed = true;
                self.open.add(file)
            }
            Err(_) => return Err(Errno::ESTALE),
        };
        self.table().opened(number);
        if is_mixed || self.is_unsettled(number, opened, is_believed) {
            return Ok((id, Caching::None));
        }
        if is_believed {
            self.fill(number, cached, &*handle);
        }
        Ok((id, cached.into()))
    }

    fn opened_to_change(
        &self,
        number: u64,
        flags: i32,
        file: Box<dyn FileHandle>,
    ) -> Result<(u64, Caching), Errno> {
        if flags & libc::O_TRUNC != 0 {
            self.set_ids.drop_from(&*file);
            if options(flags).appends() {
                file.set_len(0).map_err(|error| errno(&error))?;
            }
        }
        self.table().opened(number);
        let (id, _) = self.open.add(OpenFile::new(number, true, file));
        self.follow_copy(number);
        Ok((id, Caching::Dropped))
    }

    /// Whether a person has put another file under the name of one that somebody opens in the same
    /// moment. The kernel must not take both for one: it looks the name up again then, and asks once
    /// more. A copy that is written to is still the same file.
    fn is_replaced(&self, number: u64) -> Result<bool, Errno> {
        let Some((dir, name)) = self.seen(number)?.place else {
            return Ok(false);
        };
        let dir = self.node(dir)?;
        let now = self.files.lookup(&dir, name.as_ref());
        Ok(now.map_or(true, |now| now.is_watched_with_its_directory()))
    }

    /// Opens a file without a name once more, as `/proc/self/fd` allows it: the new handle is one that is
    /// open already.
    fn open_nameless(&self, number: u64, flags: i32) -> Result<(u64, Caching), Errno> {
        let how = options(flags);
        let open = self.open.files_of(number);
        let mut fitting = open.iter().filter(|file| file.changes || !how.changes());
        let file = fitting.next().filter(|_| !how.appends());
        let file = file.ok_or(Errno::ESTALE)?;
        if flags & libc::O_TRUNC != 0 {
            let cut = file.handle().set_len(0);
            cut.map_err(|error| errno(&error))?;
        }
        self.table().opened(number);
        let (id, _) = self.open.add(OpenFile::again(file));
        Ok((id, Caching::Dropped))
    }

    pub(crate) fn set_attributes(
        &self,
        number: u64,
        id: Option<u64>,
        wanted: &Wanted,
    ) -> Result<FileAttr, Errno> {
        if let Some((specials, _)) = self.special(number) {
            return specials.set(number, wanted);
        }
        self.set_ids.sets(wanted.mode);
        if let Some(len) = wanted.len {
            self.set_len(number, id, len)?;
        }
        let now = self.metadata(number)?;
        let attributes = changes(wanted, &now);
        if attributes != Attributes::new() {
            let set = |node: &_| self.files.set_attributes_of(node, &attributes);
            match self.on_node_with(number, set, errno_of_feature) {
                // It has no name any more.
                Err(Errno::ESTALE | Errno::ENOENT) => self.set_open(number, &attributes)?,
                done => {
                    done?;
                    self.follow_copy(number);
                }
            }
            return self.attr(number);
        }
        Ok(self.attr_of(number, &now))
    }

    /// An extended attribute. Links have none.
    pub(crate) fn xattr(&self, number: u64, name: &str) -> Result<Option<Vec<u8>>, Errno> {
        self.on_node(number, |node| match node.kind() {
            FileKind::Symlink => Ok(None),
            _ => self.files.xattr_of(node, name),
        })
    }

    /// Sets an extended attribute; the flags say whether it must be new, or must be there.
    pub(crate) fn set_xattr(
        &self,
        number: u64,
        name: &str,
        value: &[u8],
        flags: i32,
    ) -> Result<(), Errno> {
        if flags != 0 {
            let old = self.xattr(number, name)?;
            match (flags, old) {
                (libc::XATTR_CREATE, Some(_)) => return Err(Errno::EEXIST),
                (libc::XATTR_REPLACE, None) => return Err(Errno::ENODATA),
                (libc::XATTR_CREATE | libc::XATTR_REPLACE, _) => {}
                _ => return Err(Errno::EINVAL),
            }
        }
        self.on_node(number, |node| {
            self.files.set_xattr_of(node, name, Some(value))
        })
    }

    /// Changes attributes of a file without a name: through a handle that is open for writing, or else
    /// only for the programs that have it open.
    fn set_open(&self, number: u64, attributes: &Attributes) -> Result<(), Errno> {
        let open = self.open.files_of(number);
        if let Some(file) = open.iter().find(|file| file.changes) {
            let set = file.handle().set_attributes(attributes);
            return set.map_err(|error| errno_of_feature(&error));
        }
        if open.is_empty() {
            return Err(Errno::ESTALE);
        }
        if attributes.uid.is_some() || attributes.gid.is_some() {
            return Err(Errno::EPERM);
        }
        self.open.alter(number, attributes);
        Ok(())
    }

    fn set_len(&self, number: u64, id: Option<u64>, len: u64) -> Result<(), Errno> {
        let cut = |file: Arc<OpenFile>| {
            let handle = file.handle();
            self.set_ids.drop_from(&*handle);
            handle.set_len(len).map_err(|error| errno(&error))
        };
        if let Some(file) = id.and_then(|id| self.open.file(id)) {
            return cut(file);
        }
        // The request names the file and no open one, so it is judged: another program may have been
        // allowed to open it. Only a file without a name has nothing else than what is open.
        let how = OpenOptions::new().read(false).write(true);
        let file = match self.on_node(number, |node| self.files.open_node(node, how)) {
            Err(gone @ (Errno::ENOENT | Errno::ESTALE)) => {
                let mut files = self.open.files_of(number).into_iter();
                return files.find(|file| file.changes).map_or(Err(gone), cut);
            }
            opened => opened?,
        };
        self.set_ids.drop_from(&*file);
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
    let uid = wanted.uid.filter(|uid| *uid != now.uid);
    let gid = wanted.gid.filter(|gid| *gid != now.gid);
    let mut attributes = Attributes::new().owner(uid, gid).times(
        wanted.accessed.map(wanted_time),
        wanted.modified.map(wanted_time),
    );
    attributes.mode = wanted
        .mode
        .map(|mode| mode & 0o7777)
        .filter(|mode| *mode != now.mode & 0o7777);
    attributes
}
