//! The kernel's requests, each one a call of the face.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite,
    ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use handfast::RenameMode;
use handfast::files::WhatToRemove;

use crate::attr::{nothing, unseen, unseen_number};
use crate::content::{Wanted, options};
use crate::face::{Face, name};
use crate::listing::Listing;
use crate::names::Place;
use crate::table::TOP;

/// Numbers are not used again while the kernel knows them.
const GENERATION: Generation = Generation(0);

impl Face {
    fn place<'a>(dir: INodeNo, text: &'a OsStr) -> Result<Place<'a>, Errno> {
        let name = name(text)?;
        Ok(Place { dir: dir.0, name })
    }

    fn answer(&self, reply: ReplyEntry, made: Result<FileAttr, Errno>) {
        match made {
            Ok(attr) => {
                reply.entry_with_ttls(&self.times.facts, &self.times.names, &attr, GENERATION);
            }
            Err(errno) => reply.error(errno),
        }
    }
}

fn done(reply: ReplyEmpty, result: Result<(), Errno>) {
    match result {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

impl Filesystem for Face {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What a kernel does not have is left out; nothing here depends on it.
        for flag in [
            InitFlags::FUSE_ATOMIC_O_TRUNC,
            InitFlags::FUSE_AUTO_INVAL_DATA,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_DO_READDIRPLUS,
            InitFlags::FUSE_READDIRPLUS_AUTO,
        ] {
            let _ = config.add_capabilities(flag);
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, text: &OsStr, reply: ReplyEntry) {
        match Self::place(parent, text).and_then(|place| self.lookup(place)) {
            Err(Errno::ENOENT) => {
                reply.entry(&self.absent_time(parent.0, text), &nothing(), GENERATION)
            }
            Ok(found) => {
                reply.entry_with_ttls(&found.facts_time, &found.name_time, &found.attr, GENERATION)
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn forget(&self, _: &Request, ino: INodeNo, times: u64) {
        self.forget(ino.0, times);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attr_for(ino.0) {
            Ok((attr, time)) => reply.attr(&time, &attr),
            Err(errno) => reply.error(errno),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        len: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        fh: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let wanted = Wanted {
            mode,
            uid,
            gid,
            len,
            accessed,
            modified,
        };
        match self.set_attributes(ino.0, fh.map(|fh| fh.0), &wanted) {
            Ok(attr) => reply.attr(&self.times.facts, &attr),
            Err(errno) => reply.error(errno),
        }
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        match self.on_node(ino.0, |node| self.files.link_of(node)) {
            Ok(target) => reply.data(target.as_bytes()),
            Err(errno) => reply.error(errno),
        }
    }

    fn mknod(
        &self,
        _: &Request,
        parent: INodeNo,
        text: &OsStr,
        mode: u32,
        _umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        if mode & libc::S_IFMT != libc::S_IFREG {
            // No FIFO, socket or device is kept by any of the files behind this.
            reply.error(Errno::EPERM);
            return;
        }
        let how = options(libc::O_WRONLY).create_new(true).mode(mode & 0o7777);
        let made = Self::place(parent, text).and_then(|place| self.create(place, how));
        let made = made.map(|(attr, id)| {
            self.close_file(id);
            attr
        });
        self.answer(reply, made);
    }

    fn mkdir(
        &self,
        _: &Request,
        parent: INodeNo,
        text: &OsStr,
        mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        let made = Self::place(parent, text);
        let made = made.and_then(|place| self.create_dir(place, mode & 0o7777));
        self.answer(reply, made);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, text: &OsStr, reply: ReplyEmpty) {
        let place = Self::place(parent, text);
        done(
            reply,
            place.and_then(|place| self.remove(place, WhatToRemove::File)),
        );
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, text: &OsStr, reply: ReplyEmpty) {
        let place = Self::place(parent, text);
        done(
            reply,
            place.and_then(|place| self.remove(place, WhatToRemove::Dir)),
        );
    }

    fn symlink(
        &self,
        _: &Request,
        parent: INodeNo,
        text: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        use std::os::unix::ffi::OsStrExt;
        let target = target.as_os_str().as_bytes();
        let made = Self::place(parent, text).and_then(|place| self.symlink(target, place));
        self.answer(reply, made);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        text: &OsStr,
        to: INodeNo,
        new: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let mode = match flags.bits() {
            0 => RenameMode::Replace,
            libc::RENAME_NOREPLACE => RenameMode::NoReplace,
            libc::RENAME_EXCHANGE => RenameMode::Exchange,
            _ => {
                reply.error(Errno::EINVAL);
                return;
            }
        };
        let both = Self::place(parent, text)
            .and_then(|from| Self::place(to, new).map(|to| (from, to)))
            .and_then(|(from, to)| self.rename(from, to, mode));
        done(reply, both);
    }

    fn link(&self, _: &Request, ino: INodeNo, parent: INodeNo, text: &OsStr, reply: ReplyEntry) {
        let made = Self::place(parent, text).and_then(|place| self.link(ino.0, place));
        self.answer(reply, made);
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.open_file(ino.0, flags.0) {
            Ok((id, true)) => reply.opened(FileHandle(id), FopenFlags::FOPEN_KEEP_CACHE),
            Ok((id, false)) => reply.opened(FileHandle(id), FopenFlags::empty()),
            Err(errno) => reply.error(errno),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.read(fh.0, offset, size) {
            Ok(data) => reply.data(&data),
            Err(errno) => reply.error(errno),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.write(fh.0, offset, data) {
            Ok(written) => reply.written(written),
            Err(errno) => reply.error(errno),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // Everything is written when `write` answers. The kernel does not ask again.
        reply.error(Errno::ENOSYS);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.close_file(fh.0);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, fh: FileHandle, _: bool, reply: ReplyEmpty) {
        done(reply, self.sync(fh.0));
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let id = self.open.add_dir(Listing::default());
        // The kernel keeps what a directory lists as long as nobody says that it changed.
        let flags = match self.watch_dir(ino.0) {
            true => FopenFlags::FOPEN_CACHE_DIR | FopenFlags::FOPEN_KEEP_CACHE,
            false => FopenFlags::empty(),
        };
        reply.opened(FileHandle(id), flags);
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let told = self.each_entry(ino.0, fh.0, offset, |next, entry, file_type, number| {
            reply.add(INodeNo(number), next, file_type, entry)
        });
        match told {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(errno),
        }
    }

    fn readdirplus(
        &self,
        _: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let told = self.each_object(ino.0, fh.0, offset, |next, entry, kind, number, found| {
            let (attr, time) = match (found, entry.as_encoded_bytes()) {
                (Some(found), _) => (found.attr, found.name_time.min(found.facts_time)),
                (None, b"." | b"..") => (unseen(number, kind), Duration::ZERO),
                (None, name) => (unseen(unseen_number(ino.0, name), kind), Duration::ZERO),
            };
            reply.add(INodeNo(number), next, entry, &time, &attr, GENERATION)
        });
        match told {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(errno),
        }
    }

    fn releasedir(&self, _: &Request, _: INodeNo, fh: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.open.close_dir(fh.0);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        // Names are in the journal, which is synced with the files.
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        const BLOCK: u64 = 4096;
        match self.on_node(TOP, |top| self.files.space_of(top)) {
            Ok(space) => {
                let free = space.bytes_free / BLOCK;
                let (names, names_free) = (space.names, space.names_free);
                reply.statfs(
                    space.bytes / BLOCK,
                    free,
                    free,
                    names,
                    names_free,
                    4096,
                    255,
                    4096,
                );
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn getxattr(&self, _: &Request, ino: INodeNo, text: &OsStr, size: u32, reply: ReplyXattr) {
        // Only names in `user.` are known: of the others no file has one.
        let Some(attribute) = text.to_str().filter(|text| text.starts_with("user.")) else {
            reply.error(Errno::ENODATA);
            return;
        };
        match self.on_node(ino.0, |node| self.files.xattr_of(node, attribute)) {
            Ok(Some(value)) => bounded(reply, size, &value),
            Ok(None) => reply.error(Errno::ENODATA),
            Err(errno) => reply.error(errno),
        }
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        match self.on_node(ino.0, |node| self.files.xattrs_of(node)) {
            Ok(names) => {
                let ended = |name: String| name.into_bytes().into_iter().chain([0]);
                let list: Vec<u8> = names.into_iter().flat_map(ended).collect();
                bounded(reply, size, &list);
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn setxattr(
        &self,
        _: &Request,
        ino: INodeNo,
        text: &OsStr,
        value: &[u8],
        flags: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let Some(attribute) = text.to_str().filter(|_| flags == 0) else {
            reply.error(Errno::EOPNOTSUPP);
            return;
        };
        let set = |node: &_| self.files.set_xattr_of(node, attribute, Some(value));
        done(reply, self.on_node(ino.0, set));
    }

    fn removexattr(&self, _: &Request, ino: INodeNo, text: &OsStr, reply: ReplyEmpty) {
        let Some(attribute) = text.to_str() else {
            reply.error(Errno::EOPNOTSUPP);
            return;
        };
        let remove = |node: &_| self.files.set_xattr_of(node, attribute, None);
        done(reply, self.on_node(ino.0, remove));
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let end = offset.checked_add(length).ok_or(Errno::EFBIG);
        done(
            reply,
            end.and_then(|end| self.allocate(fh.0, offset..end, mode)),
        );
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        text: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        // A file that is created is written through this handle, whatever the program asked for.
        let how = match flags & libc::O_ACCMODE {
            libc::O_RDONLY => options(libc::O_RDWR),
            _ => options(flags & !libc::O_TRUNC),
        };
        let how = match flags & libc::O_EXCL != 0 {
            true => how.create_new(true),
            false => how.create(true),
        };
        let how = how.mode(mode & 0o7777);
        match Self::place(parent, text).and_then(|place| self.create(place, how)) {
            Ok((attr, id)) => reply.created(
                &self.times.names,
                &attr,
                GENERATION,
                FileHandle(id),
                FopenFlags::empty(),
            ),
            Err(errno) => reply.error(errno),
        }
    }
}

/// The value of an attribute, or how long it is, as the program asked.
fn bounded(reply: ReplyXattr, size: u32, value: &[u8]) {
    let len = u32::try_from(value.len()).unwrap_or(u32::MAX);
    match size {
        0 => reply.size(len),
        size if len <= size => reply.data(value),
        _ => reply.error(Errno::ERANGE),
    }
}
