//! Facts about objects, as the kernel wants them.

use std::time::SystemTime;

use fuser::{FileAttr, FileType, INodeNo, TimeOrNow};
use handfast::{FileKind, Metadata, Timestamp};

/// The kind, as the kernel wants it. An unknown kind is reported as a file.
pub(crate) fn kind(kind: FileKind) -> FileType {
    match kind {
        FileKind::Dir => FileType::Directory,
        FileKind::Symlink => FileType::Symlink,
        FileKind::Fifo => FileType::NamedPipe,
        FileKind::Socket => FileType::Socket,
        FileKind::Block => FileType::BlockDevice,
        FileKind::Char => FileType::CharDevice,
        FileKind::File | FileKind::Unknown => FileType::RegularFile,
    }
}

/// All facts. The device number of a special file is not told: nobody opens a device here.
pub(crate) fn attr(number: u64, of: &Metadata) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        size: of.len,
        blocks: of.blocks,
        atime: of.accessed.to_system_time(),
        mtime: of.modified.to_system_time(),
        ctime: of.changed.to_system_time(),
        crtime: of.changed.to_system_time(),
        kind: kind(of.kind),
        perm: u16::try_from(of.mode & 0o7777).unwrap_or(0),
        nlink: u32::try_from(of.nlink).unwrap_or(u32::MAX),
        uid: of.uid,
        gid: of.gid,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

/// The time that a program wants. `fuser` 0.18 counts the nanoseconds of a time before 1970 backwards:
/// it subtracts the kernel's seconds and nanoseconds both. Here both are put together as the kernel
/// sent them.
pub(crate) fn wanted_time(time: TimeOrNow) -> Timestamp {
    let time = match time {
        TimeOrNow::SpecificTime(time) => time,
        TimeOrNow::Now => SystemTime::now(),
    };
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(_) => Timestamp::from(time),
        Err(before) => Timestamp {
            seconds: 0_i64.saturating_sub_unsigned(before.duration().as_secs()),
            nanoseconds: before.duration().subsec_nanos(),
        },
    }
}

/// An answer that nothing is there, which the kernel may remember.
pub(crate) fn nothing() -> FileAttr {
    let epoch = SystemTime::UNIX_EPOCH;
    FileAttr {
        ino: INodeNo(0),
        size: 0,
        blocks: 0,
        atime: epoch,
        mtime: epoch,
        ctime: epoch,
        crtime: epoch,
        kind: FileType::RegularFile,
        perm: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 0,
        flags: 0,
    }
}

/// A name that is listed and was not looked up. Programs skip entries with the number 0.
pub(crate) fn unseen(number: u64, kind: FileType) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        kind,
        ..nothing()
    }
}

/// A number for such a name, which no object has: the kernel keeps names apart by it.
pub(crate) fn unseen_number(dir: u64, name: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (dir, name).hash(&mut hasher);
    hasher.finish() | 1 << 63
}
