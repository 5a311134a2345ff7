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
use crate::names::NamePlace;
use crate::reply::{bounded, done};
use crate::specials::NewSpecial;
use crate::table::TOP;

/// Numbers are not used again while the kernel knows them.
const GENERATION: Generation = Generation(0);

impl Face {
    fn place<'a>(dir: INodeNo, text: &'a OsStr) -> Result<NamePlace<'a>, Errno> {
        let name = name(text)?;
        Ok(NamePlace { dir: dir.0, name })
    }

    fn answer(&self, reply: ReplyEntry, made: Result<FileAttr, Errno>) {
        match made {
            Ok(attr) => {
                reply.entry_with_ttls(&self.times.facts, &self.times.names, &attr, GENERATION);
                self.heard(&attr, attr.ino.0);
            }
            Err(errno) => reply.error(errno),
        }
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
        // Otherwise the kernel asks before every write whether the file has capabilities.
        let _ = config.add_capabilities(InitFlags::FUSE_HANDLE_KILLPRIV_V2);
        let past_the_cache = config.add_capabilities(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP);
        self.can_read_past_the_cache = past_the_cache.is_ok();
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, text: &OsStr, reply: ReplyEntry) {
        let asked = self.asked_by(request.pid());
        match Self::place(parent, text).and_then(|place| asked.lookup(place)) {
            Err(Errno::ENOENT) => {
                reply.entry(&self.absent_time(parent.0, text), &nothing(), GENERATION)
            }
            Ok(found) => {
                reply.entry_with_ttls(&found.facts_time, &found.name_time, &found.attr, GENERATION);
                self.heard(&found.attr, found.attr.ino.0);
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn forget(&self, _: &Request, ino: INodeNo, times: u64) {
        let _turn = self.turns.begin();
        self.forget(ino.0, times);
    }

    fn getattr(&self, request: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let asked = self.asked_by(request.pid());
        match asked.attr_for(ino.0) {
            Ok((attr, time)) => {
                reply.attr(&time, &attr);
                self.heard(&attr, ino.0);
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn setattr(
        &self,
        request: &Request,
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
        let asked = self.asked_by(request.pid());
        let wanted = Wanted {
            mode,
            uid,
            gid,
            len,
            accessed,
            modified,
        };
        match asked.set_attributes(ino.0, fh.map(|fh| fh.0), &wanted) {
            Ok(attr) => {
                reply.attr(&self.times.facts, &attr);
                self.heard(&attr, ino.0);
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn readlink(&self, request: &Request, ino: INodeNo, reply: ReplyData) {
        let asked = self.asked_by(request.pid());
        match asked.on_node(ino.0, |node| asked.files.link_of(node)) {
            Ok(target) => reply.data(target.as_bytes()),
            Err(errno) => reply.error(errno),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        text: &OsStr,
        mode: u32,
        _umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        let asked = self.asked_by(request.pid());
        if mode & libc::S_IFMT != libc::S_IFREG {
            let (uid, gid) = (request.uid(), request.gid());
            let new = NewSpecial { mode, uid, gid };
            let made = Self::place(parent, text).and_then(|place| asked.make_special(place, new));
            return self.answer(reply, made);
        }
        let how = options(libc::O_WRONLY).create_new(true).mode(mode & 0o7777);
        let made = Self::place(parent, text).and_then(|place| asked.create(place, how));
        let made = made.map(|(attr, id)| {
            asked.close_file(id);
            attr
        });
        self.answer(reply, made);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        text: &OsStr,
        mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        let asked = self.asked_by(request.pid());
        let made = Self::place(parent, text);
        let made = made.and_then(|place| asked.create_dir(place, mode & 0o7777));
        self.answer(reply, made);
    }

    fn unlink(&self, request: &Request, parent: INodeNo, text: &OsStr, reply: ReplyEmpty) {
        let asked = self.asked_by(request.pid());
        let place = Self::place(parent, text);
        done(
            reply,
            place.and_then(|place| asked.remove(place, WhatToRemove::File)),
        );
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, text: &OsStr, reply: ReplyEmpty) {
        let asked = self.asked_by(request.pid());
        let place = Self::place(parent, text);
        done(
            reply,
            place.and_then(|place| asked.remove(place, WhatToRemove::Dir)),
        );
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        text: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let asked = self.asked_by(request.pid());
        use std::os::unix::ffi::OsStrExt;
        let target = target.as_os_str().as_bytes();
        let made = Self::place(parent, text).and_then(|place| asked.symlink(target, place));
        self.answer(reply, made);
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        text: &OsStr,
        to: INodeNo,
        new: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let asked = self.asked_by(request.pid());
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
            .and_then(|(from, to)| asked.rename(from, to, mode));
        done(reply, both);
    }

    fn link(
        &self,
        request: &Request,
        ino: INodeNo,
        parent: INodeNo,
        text: &OsStr,
        reply: ReplyEntry,
    ) {
        let asked = self.asked_by(request.pid());
        let made = Self::place(parent, text).and_then(|place| asked.link(ino.0, place));
        self.answer(reply, made);
    }

    fn open(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let asked = self.asked_by(request.pid());
        match asked.open_file(ino.0, flags.0) {
            Ok((id, caching)) => reply.opened(FileHandle(id), caching.flags()),
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
        let _turn = self.turns.begin();
        match self.read(fh.0, offset, size) {
            Ok(data) => reply.data(&data),
            Err(errno) => reply.error(errno),
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        flags: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let _turn = self.turns.begin();
        if flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID) {
            self.drop_set_ids(ino.0, fh.0);
        }
        match self.write(fh.0, offset, data) {
            Ok(written) => reply.written(written),
            Err(errno) => reply.error(errno),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        let _turn = self.turns.begin();
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
        let _turn = self.turns.begin();
        self.close_file(fh.0);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, fh: FileHandle, _: bool, reply: ReplyEmpty) {
        let _turn = self.turns.begin();
        done(reply, self.sync(fh.0));
    }

    fn opendir(&self, request: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let asked = self.asked_by(request.pid());
        let id = self.open.add_dir(Listing::default());
        // The kernel keeps what a directory lists as long as nobody says that it changed.
        let flags = match asked.watch_dir(ino.0) {
            true => FopenFlags::FOPEN_CACHE_DIR | FopenFlags::FOPEN_KEEP_CACHE,
            false => FopenFlags::empty(),
        };
        reply.opened(FileHandle(id), flags);
    }

    fn readdir(
        &self,
        request: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let asked = self.asked_by(request.pid());
        let told = asked.each_entry(ino.0, fh.0, offset, |next, entry, file_type, number| {
            reply.add(INodeNo(number), next, file_type, entry)
        });
        match told {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(errno),
        }
    }

    fn readdirplus(
        &self,
        request: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let asked = self.asked_by(request.pid());
        let mut heard = Vec::new();
        let told = asked.each_object(ino.0, fh.0, offset, |next, entry, kind, number, found| {
            let (attr, time) = match (found, entry.as_encoded_bytes()) {
                (Some(found), _) => (found.attr, found.name_time.min(found.facts_time)),
                (None, b"." | b"..") => (unseen(number, kind), Duration::ZERO),
                (None, name) => (unseen(unseen_number(ino.0, name), kind), Duration::ZERO),
            };
            let is_full = reply.add(INodeNo(number), next, entry, &time, &attr, GENERATION);
            if found.is_some() && !is_full {
                heard.push(attr);
            }
            is_full
        });
        match told {
            Ok(()) => {
                reply.ok();
                self.all_heard(&heard);
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn releasedir(&self, _: &Request, _: INodeNo, fh: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        let _turn = self.turns.begin();
        self.open.close_dir(fh.0);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let _turn = self.turns.begin();
        // Names are in the journal, which is synced with the files.
        reply.ok();
    }

    fn statfs(&self, request: &Request, _: INodeNo, reply: ReplyStatfs) {
        let asked = self.asked_by(request.pid());
        const BLOCK: u64 = 4096;
        match asked.on_node(TOP, |top| asked.files.space_of(top)) {
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

    fn getxattr(
        &self,
        request: &Request,
        ino: INodeNo,
        text: &OsStr,
        size: u32,
        reply: ReplyXattr,
    ) {
        let asked = self.asked_by(request.pid());
        // Only names in `user.` are known: of the others no file has one.
        let Some(attribute) = text.to_str().filter(|text| text.starts_with("user.")) else {
            reply.error(Errno::ENODATA);
            return;
        };
        match asked.xattr(ino.0, attribute) {
            Ok(Some(value)) => bounded(reply, size, &value),
            Ok(None) => reply.error(Errno::ENODATA),
            Err(errno) => reply.error(errno),
        }
    }

    fn listxattr(&self, request: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        let asked = self.asked_by(request.pid());
        match asked.xattr_names(ino.0) {
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
        request: &Request,
        ino: INodeNo,
        text: &OsStr,
        value: &[u8],
        flags: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let asked = self.asked_by(request.pid());
        // Other names carry capabilities, labels and access lists, which these files do not have.
        let Some(attribute) = text.to_str().filter(|text| text.starts_with("user.")) else {
            reply.error(Errno::EOPNOTSUPP);
            return;
        };
        done(reply, asked.set_xattr(ino.0, attribute, value, flags));
    }

    fn removexattr(&self, request: &Request, ino: INodeNo, text: &OsStr, reply: ReplyEmpty) {
        let asked = self.asked_by(request.pid());
        let Some(attribute) = text.to_str().filter(|text| text.starts_with("user.")) else {
            reply.error(Errno::EOPNOTSUPP);
            return;
        };
        let remove = |node: &_| asked.files.set_xattr_of(node, attribute, None);
        done(reply, asked.on_node(ino.0, remove));
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
        let _turn = self.turns.begin();
        let end = offset.checked_add(length).ok_or(Errno::EFBIG);
        done(
            reply,
            end.and_then(|end| self.allocate(fh.0, offset..end, mode)),
        );
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        text: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let asked = self.asked_by(request.pid());
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
        match Self::place(parent, text).and_then(|place| asked.create(place, how)) {
            Ok((attr, id)) => {
                let (time, none) = (&self.times.names, FopenFlags::empty());
                reply.created(time, &attr, GENERATION, FileHandle(id), none);
                self.heard(&attr, attr.ino.0);
            }
            Err(errno) => reply.error(errno),
        }
    }
}
