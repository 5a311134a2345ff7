//! What POSIX promises about open files, attributes, special files and directories: each check is
//! made in a directory of the filesystem below and in one of the mount, and both say the same. What
//! differs is listed with its reason.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use handfast_session::{Mode, Protect};
use rustix::fs::{
    CWD, FallocateFlags, FileType, FlockOperation, Mode as Bits, OFlags, RenameFlags, Timespec,
    Timestamps, XattrFlags,
};
use rustix::io::Errno;

use crate::support::{Mounted, Scratch, in_namespace};

type Answer = Result<String, Errno>;
type Check = (&'static str, fn(&Path) -> Answer);

fn io<T>(done: std::io::Result<T>) -> Result<T, Errno> {
    done.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

fn words<T: std::fmt::Debug>(value: T) -> Answer {
    Ok(format!("{value:?}"))
}

fn new(at: &Path, text: &str) -> Result<File, Errno> {
    let mut file = io(File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(at))?;
    io(file.write_all(text.as_bytes()))?;
    Ok(file)
}

fn at_2001(seconds: i64) -> Timestamps {
    let time = |tv_sec| Timespec { tv_sec, tv_nsec: 7 };
    Timestamps {
        last_access: time(1_000_000_000 + seconds),
        last_modification: time(1_000_000_001 + seconds),
    }
}

/// Mode, links, size and whether the times are those that were given.
fn facts(file: &File) -> Answer {
    let facts = io(file.metadata())?;
    words((facts.mode(), facts.nlink(), facts.len(), facts.mtime()))
}

const CHECKS: &[Check] = &[
    ("unlinked: mode", |dir| {
        let file = new(&dir.join("f"), "x")?;
        rustix::fs::unlink(dir.join("f"))?;
        rustix::fs::fchmod(&file, Bits::from(0o640))?;
        rustix::fs::futimens(&file, &at_2001(0))?;
        facts(&file)
    }),
    ("unlinked, open for reading: mode and times", |dir| {
        drop(new(&dir.join("f"), "x")?);
        let file = io(File::open(dir.join("f")))?;
        let again = io(File::open(dir.join("f")))?;
        rustix::fs::unlink(dir.join("f"))?;
        rustix::fs::fchmod(&file, Bits::from(0o604))?;
        rustix::fs::futimens(&file, &at_2001(9))?;
        rustix::fs::fchmod(&again, Bits::from(0o600))?;
        let access = io(file.metadata())?.atime();
        // A new file under the name is another one.
        let other = new(&dir.join("f"), "other")?;
        let other = io(other.metadata())?.mode();
        words((facts(&file)?, facts(&again)?, access, other))
    }),
    ("unlinked: times", |dir| {
        let file = new(&dir.join("f"), "x")?;
        rustix::fs::unlink(dir.join("f"))?;
        rustix::fs::futimens(&file, &at_2001(5))?;
        facts(&file)
    }),
    ("unlinked: write, read, truncate, sync", |dir| {
        let mut file = new(&dir.join("f"), "first")?;
        rustix::fs::unlink(dir.join("f"))?;
        io(file.write_all(b" second"))?;
        io(file.set_len(8))?;
        io(file.sync_all())?;
        let mut text = String::new();
        io(file.seek(SeekFrom::Start(0)))?;
        io(file.read_to_string(&mut text))?;
        words(text)
    }),
    ("unlinked: a new file has the name", |dir| {
        let old = new(&dir.join("f"), "old")?;
        rustix::fs::unlink(dir.join("f"))?;
        let fresh = new(&dir.join("f"), "fresh")?;
        let same = io(old.metadata())?.ino() == io(fresh.metadata())?.ino();
        words((same, io(old.metadata())?.len(), io(fresh.metadata())?.len()))
    }),
    ("unlinked: by proc", |dir| {
        use std::os::fd::AsRawFd;
        let file = new(&dir.join("f"), "still")?;
        rustix::fs::unlink(dir.join("f"))?;
        words(io(std::fs::read(format!(
            "/proc/self/fd/{}",
            file.as_raw_fd()
        )))?)
    }),
    ("directory removed: facts", |dir| {
        rustix::fs::mkdir(dir.join("d"), Bits::from(0o755))?;
        let open = io(File::open(dir.join("d")))?;
        rustix::fs::rmdir(dir.join("d"))?;
        words((io(open.metadata())?.nlink(), io(open.metadata())?.mode()))
    }),
    ("directory removed: list", |dir| {
        rustix::fs::mkdir(dir.join("d"), Bits::from(0o755))?;
        let open = io(File::open(dir.join("d")))?;
        rustix::fs::rmdir(dir.join("d"))?;
        let listed = rustix::fs::Dir::read_from(&open)?;
        words(listed.count())
    }),
    ("renamed over while open", |dir| {
        let old = new(&dir.join("f"), "old")?;
        new(&dir.join("g"), "new")?;
        rustix::fs::rename(dir.join("g"), dir.join("f"))?;
        rustix::fs::fchmod(&old, Bits::from(0o600))?;
        let mut text = [0; 3];
        io(old.read_exact_at(&mut text, 0))?;
        words((text, io(std::fs::read(dir.join("f")))?))
    }),
    ("directory removed while open", |dir| {
        rustix::fs::mkdir(dir.join("d"), Bits::from(0o755))?;
        let open = io(File::open(dir.join("d")))?;
        rustix::fs::rmdir(dir.join("d"))?;
        rustix::fs::openat(
            &open,
            "x",
            OFlags::CREATE | OFlags::WRONLY,
            Bits::from(0o644),
        )?;
        words(())
    }),
    ("append goes to the end", |dir| {
        new(&dir.join("f"), "one")?;
        let mut file = io(OpenOptions::new().append(true).open(dir.join("f")))?;
        io(file.seek(SeekFrom::Start(0)))?;
        io(file.write_all(b"two"))?;
        words(io(std::fs::read(dir.join("f")))?)
    }),
    ("two appenders", |dir| {
        new(&dir.join("f"), "")?;
        let open = || io(OpenOptions::new().append(true).open(dir.join("f")));
        let (mut one, mut two) = (open()?, open()?);
        for (first, second) in [("a", "b"), ("c", "d")] {
            io(one.write_all(first.as_bytes()))?;
            io(two.write_all(second.as_bytes()))?;
        }
        words(io(std::fs::read_to_string(dir.join("f")))?)
    }),
    ("write past the end leaves zeros", |dir| {
        let file = new(&dir.join("f"), "a")?;
        io(file.write_all_at(b"b", 4))?;
        words(io(std::fs::read(dir.join("f")))?)
    }),
    ("write of a reader", |dir| {
        new(&dir.join("f"), "a")?;
        let mut file = io(File::open(dir.join("f")))?;
        words(io(file.write(b"x"))?)
    }),
    ("read of a writer", |dir| {
        new(&dir.join("f"), "a")?;
        let mut file = io(OpenOptions::new().write(true).open(dir.join("f")))?;
        words(io(file.read(&mut [0]))?)
    }),
    ("created read-only, written by its maker", |dir| {
        let how = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
        let file = rustix::fs::open(dir.join("f"), how, Bits::from(0o400))?;
        rustix::io::write(&file, b"x")?;
        words(io(std::fs::metadata(dir.join("f")))?.mode())
    }),
    ("umask", |dir| {
        let old = rustix::process::umask(Bits::from(0o027));
        let made = new(&dir.join("f"), "");
        let dir_made = rustix::fs::mkdir(dir.join("d"), Bits::from(0o777));
        rustix::process::umask(old);
        dir_made?;
        let mode = io(std::fs::metadata(dir.join("d")))?.mode();
        words((io(made?.metadata())?.mode(), mode))
    }),
    ("mode of a file, every bit", |dir| {
        let file = new(&dir.join("f"), "")?;
        let mut seen = Vec::new();
        for mode in [0o000, 0o111, 0o421, 0o777] {
            rustix::fs::fchmod(&file, Bits::from(mode))?;
            seen.push(io(file.metadata())?.mode());
        }
        words(seen)
    }),
    ("sticky directory", |dir| {
        rustix::fs::mkdir(dir.join("d"), Bits::from(0o755))?;
        rustix::fs::chmod(dir.join("d"), Bits::from(0o1777))?;
        words(io(std::fs::metadata(dir.join("d")))?.mode())
    }),
    ("times to the nanosecond", |dir| {
        let file = new(&dir.join("f"), "")?;
        rustix::fs::futimens(&file, &at_2001(9))?;
        let facts = io(file.metadata())?;
        words((
            facts.atime(),
            facts.atime_nsec(),
            facts.mtime(),
            facts.mtime_nsec(),
        ))
    }),
    ("times before 1970", |dir| {
        let file = new(&dir.join("f"), "")?;
        rustix::fs::futimens(&file, &at_2001(-1_500_000_000))?;
        let facts = io(file.metadata())?;
        words((facts.mtime(), facts.mtime_nsec(), facts.atime_nsec()))
    }),
    ("times just before 1970, and none before it", |dir| {
        let file = new(&dir.join("f"), "")?;
        let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
        let mut seen = Vec::new();
        for (one, other) in [
            (time(-1, 999_999_999), time(-1, 1)),
            (time(-2, 0), time(0, 0)),
            (time(-1, 0), time(0, 999_999_999)),
        ] {
            let times = Timestamps {
                last_access: one,
                last_modification: other,
            };
            rustix::fs::futimens(&file, &times)?;
            let facts = io(file.metadata())?;
            seen.push((facts.atime(), facts.atime_nsec()));
            seen.push((facts.mtime(), facts.mtime_nsec()));
        }
        words(seen)
    }),
    ("a write changes the time", |dir| {
        let mut file = new(&dir.join("f"), "")?;
        rustix::fs::futimens(&file, &at_2001(0))?;
        io(file.write_all(b"x"))?;
        io(file.sync_all())?;
        words(io(file.metadata())?.mtime() > 1_500_000_000)
    }),
    ("a new name changes the time of its directory", |dir| {
        rustix::fs::mkdir(dir.join("d"), Bits::from(0o755))?;
        rustix::fs::utimensat(
            CWD,
            dir.join("d"),
            &at_2001(0),
            rustix::fs::AtFlags::empty(),
        )?;
        let before = io(std::fs::metadata(dir.join("d")))?.mtime();
        new(&dir.join("d/x"), "")?;
        words((
            before,
            io(std::fs::metadata(dir.join("d")))?.mtime() > 1_500_000_000,
        ))
    }),
    ("xattr: set, get, list, replace, remove", |dir| {
        let file = new(&dir.join("f"), "")?;
        let none = XattrFlags::empty();
        rustix::fs::fsetxattr(&file, "user.a", b"1", XattrFlags::CREATE)?;
        rustix::fs::fsetxattr(&file, "user.b", b"", none)?;
        rustix::fs::fsetxattr(&file, "user.a", b"22", XattrFlags::REPLACE)?;
        let mut value = [0; 16];
        let got = rustix::fs::fgetxattr(&file, "user.a", &mut value[..])?;
        let mut names = [0; 64];
        let listed = rustix::fs::flistxattr(&file, &mut names[..])?;
        let mut names: Vec<_> = names[..listed].split(|byte| *byte == 0).collect();
        names.sort();
        rustix::fs::fremovexattr(&file, "user.b")?;
        words((
            &value[..got],
            names,
            rustix::fs::fgetxattr(&file, "user.b", &mut [0; 4][..]),
        ))
    }),
    ("xattr: create what is there", |dir| {
        let file = new(&dir.join("f"), "")?;
        rustix::fs::fsetxattr(&file, "user.a", b"1", XattrFlags::empty())?;
        rustix::fs::fsetxattr(&file, "user.a", b"1", XattrFlags::CREATE)?;
        words(())
    }),
    ("xattr: replace what is not there", |dir| {
        let file = new(&dir.join("f"), "")?;
        rustix::fs::fsetxattr(&file, "user.a", b"1", XattrFlags::REPLACE)?;
        words(())
    }),
    ("xattr: remove what is not there", |dir| {
        let file = new(&dir.join("f"), "")?;
        rustix::fs::fremovexattr(&file, "user.a")?;
        words(())
    }),
    ("xattr: a small buffer", |dir| {
        let file = new(&dir.join("f"), "")?;
        rustix::fs::fsetxattr(&file, "user.a", b"12345", XattrFlags::empty())?;
        words(rustix::fs::fgetxattr(&file, "user.a", &mut [0; 2][..])?)
    }),
    ("xattr: list of a directory and of a link", |dir| {
        rustix::fs::mkdir(dir.join("d"), Bits::from(0o755))?;
        rustix::fs::symlink("d", dir.join("l"))?;
        let mut names = [0; 64];
        let listed = rustix::fs::listxattr(dir.join("d"), &mut names[..])?;
        words((
            listed,
            rustix::fs::llistxattr(dir.join("l"), &mut names[..])?,
        ))
    }),
    ("xattr: of a directory", |dir| {
        rustix::fs::mkdir(dir.join("d"), Bits::from(0o755))?;
        words(rustix::fs::setxattr(
            dir.join("d"),
            "user.a",
            b"1",
            XattrFlags::empty(),
        )?)
    }),
    ("xattr: of a link", |dir| {
        rustix::fs::symlink("nowhere", dir.join("l"))?;
        words(rustix::fs::lsetxattr(
            dir.join("l"),
            "user.a",
            b"1",
            XattrFlags::empty(),
        )?)
    }),
    ("xattr: after a rename and a second name", |dir| {
        let file = new(&dir.join("f"), "")?;
        rustix::fs::fsetxattr(&file, "user.a", b"1", XattrFlags::empty())?;
        rustix::fs::rename(dir.join("f"), dir.join("g"))?;
        rustix::fs::link(dir.join("g"), dir.join("h"))?;
        words(rustix::fs::getxattr(
            dir.join("h"),
            "user.a",
            &mut [0; 4][..],
        )?)
    }),
    ("fifo", |dir| {
        rustix::fs::mknodat(CWD, dir.join("p"), FileType::Fifo, Bits::from(0o600), 0)?;
        let kind = io(std::fs::symlink_metadata(dir.join("p")))?.file_type();
        words(kind.is_fifo())
    }),
    ("socket", |dir| {
        let made = std::os::unix::net::UnixListener::bind(dir.join("s"));
        io(made)?;
        words(
            io(std::fs::symlink_metadata(dir.join("s")))?
                .file_type()
                .is_socket(),
        )
    }),
    ("fifo: written and read, renamed, linked, removed", |dir| {
        let path = dir.join("p");
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Bits::from(0o600), 0)?;
        let both = io(File::options().read(true).write(true).open(&path))?;
        io((&both).write_all(b"through"))?;
        let mut text = [0; 7];
        io((&both).read_exact(&mut text))?;
        rustix::fs::chmod(&path, Bits::from(0o640))?;
        rustix::fs::mkdir(dir.join("d"), Bits::from(0o755))?;
        rustix::fs::rename(&path, dir.join("d/q"))?;
        let full = rustix::fs::rmdir(dir.join("d"));
        let listed: Vec<_> = io(std::fs::read_dir(dir.join("d")))?
            .map(|entry| entry.map(|entry| (entry.file_name(), entry.file_type())))
            .map(|entry| entry.map(|(name, kind)| (name, kind.unwrap().is_fifo())))
            .collect::<Result<_, _>>()
            .unwrap();
        let mode = io(std::fs::metadata(dir.join("d/q")))?.mode();
        rustix::fs::unlink(dir.join("d/q"))?;
        rustix::fs::rmdir(dir.join("d"))?;
        words((
            text,
            full,
            listed,
            mode,
            path.exists(),
            io(both.metadata())?.nlink(),
        ))
    }),
    ("fifo: over a file and under one", |dir| {
        for name in ["p", "q"] {
            rustix::fs::mknodat(CWD, dir.join(name), FileType::Fifo, Bits::from(0o600), 0)?;
        }
        let taken = rustix::fs::mkdir(dir.join("p"), Bits::from(0o755));
        new(&dir.join("f"), "file")?;
        new(&dir.join("g"), "file")?;
        rustix::fs::rename(dir.join("p"), dir.join("f"))?;
        rustix::fs::rename(dir.join("g"), dir.join("q"))?;
        let fifo = |name: &str| {
            Some(
                dir.join(name)
                    .symlink_metadata()
                    .ok()?
                    .file_type()
                    .is_fifo(),
            )
        };
        words((taken, ["p", "q", "f", "g"].map(fifo)))
    }),
    ("socket: connected", |dir| {
        let path = dir.join("s");
        let server = io(std::os::unix::net::UnixListener::bind(&path))?;
        let again = std::os::unix::net::UnixListener::bind(&path).map(|_| ());
        let mut client = io(std::os::unix::net::UnixStream::connect(&path))?;
        let (mut accepted, _) = io(server.accept())?;
        io(client.write_all(b"x"))?;
        let mut got = [0];
        io(accepted.read_exact(&mut got))?;
        rustix::fs::unlink(&path)?;
        let gone = std::os::unix::net::UnixStream::connect(&path).map(|_| ());
        words((
            again.map_err(|e| e.raw_os_error()),
            got,
            gone.map_err(|e| e.raw_os_error()),
        ))
    }),
    ("mknod of a plain file", |dir| {
        let bits = Bits::from(0o640);
        rustix::fs::mknodat(CWD, dir.join("f"), FileType::RegularFile, bits, 0)?;
        words(io(std::fs::symlink_metadata(dir.join("f")))?.mode())
    }),
    ("file without a name (O_TMPFILE)", |dir| {
        let how = OFlags::TMPFILE | OFlags::RDWR;
        rustix::fs::open(dir, how, Bits::from(0o600))?;
        words(())
    }),
    ("fallocate grows", |dir| {
        let file = new(&dir.join("f"), "abc")?;
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, 8192)?;
        words((
            io(file.metadata())?.len(),
            io(std::fs::read(dir.join("f")))?[..4].to_vec(),
        ))
    }),
    ("fallocate keeps the size", |dir| {
        let file = new(&dir.join("f"), "abc")?;
        rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, 8192)?;
        words(io(file.metadata())?.len())
    }),
    ("fallocate punches a hole", |dir| {
        let file = new(&dir.join("f"), &"x".repeat(12288))?;
        let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&file, how, 4096, 4096)?;
        let text = io(std::fs::read(dir.join("f")))?;
        words((text.len(), text[4095], text[4096], text[8191], text[8192]))
    }),
    ("fallocate of a reader", |dir| {
        new(&dir.join("f"), "abc")?;
        let file = io(File::open(dir.join("f")))?;
        words(rustix::fs::fallocate(
            &file,
            FallocateFlags::empty(),
            0,
            10,
        )?)
    }),
    ("copy_file_range", |dir| {
        let (from, to) = (new(&dir.join("f"), "0123456789")?, new(&dir.join("g"), "")?);
        let mut at = 2;
        let copied = rustix::fs::copy_file_range(&from, Some(&mut at), &to, Some(&mut 0), 5)?;
        words((copied, io(std::fs::read(dir.join("g")))?))
    }),
    ("seek to data and holes", |dir| {
        let file = new(&dir.join("f"), "x")?;
        io(file.set_len(1))?;
        let data = rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(0))?;
        words((
            data,
            rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(0))?,
        ))
    }),
    ("seek to data past the end", |dir| {
        let file = new(&dir.join("f"), "x")?;
        words(rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(9))?)
    }),
    ("lock against another open file", |dir| {
        let (one, two) = (new(&dir.join("f"), "")?, io(File::open(dir.join("f")))?);
        rustix::fs::flock(&one, FlockOperation::NonBlockingLockExclusive)?;
        words(rustix::fs::flock(
            &two,
            FlockOperation::NonBlockingLockShared,
        )?)
    }),
    ("lock goes with its file", |dir| {
        let (one, two) = (new(&dir.join("f"), "")?, io(File::open(dir.join("f")))?);
        rustix::fs::flock(&one, FlockOperation::NonBlockingLockExclusive)?;
        drop(one);
        words(rustix::fs::flock(
            &two,
            FlockOperation::NonBlockingLockShared,
        )?)
    }),
    ("a running program is not written", |dir| {
        io(std::fs::copy("/bin/sleep", dir.join("p")))?;
        let mut child = io(std::process::Command::new(dir.join("p")).arg("60").spawn())?;
        let opened = File::options().write(true).open(dir.join("p"));
        io(child.kill())?;
        io(child.wait())?;
        words(io(opened)?.metadata().is_ok())
    }),
    ("a script without the bit is not run", |dir| {
        new(&dir.join("p"), "#!/bin/sh\n")?;
        words(io(std::process::Command::new(dir.join("p")).status())?.code())
    }),
    ("exclusive over a broken link", |dir| {
        rustix::fs::symlink("nowhere", dir.join("l"))?;
        words(io(File::create_new(dir.join("l")))?.metadata().is_ok())
    }),
    ("create through a broken link", |dir| {
        rustix::fs::symlink("made", dir.join("l"))?;
        io(File::create(dir.join("l")))?;
        words(io(std::fs::symlink_metadata(dir.join("made")))?.is_file())
    }),
    ("name of 255 bytes", |dir| {
        new(&dir.join("n".repeat(255)), "x")?;
        words(io(std::fs::read(dir.join("n".repeat(255))))?)
    }),
    ("link with a long target", |dir| {
        let target = "t/".repeat(1500);
        rustix::fs::symlink(&target, dir.join("l"))?;
        words(io(std::fs::read_link(dir.join("l")))?.as_os_str().len())
    }),
    ("link with a target that is too long", |dir| {
        words(rustix::fs::symlink("t/".repeat(2048), dir.join("l"))?)
    }),
    ("link with an empty target", |dir| {
        words(rustix::fs::symlink("", dir.join("l"))?)
    }),
    ("hard link: count, inode, removal", |dir| {
        let file = new(&dir.join("f"), "x")?;
        rustix::fs::link(dir.join("f"), dir.join("g"))?;
        let two = io(file.metadata())?.nlink();
        let same = io(std::fs::metadata(dir.join("g")))?.ino() == io(file.metadata())?.ino();
        rustix::fs::unlink(dir.join("f"))?;
        words((two, same, io(file.metadata())?.nlink()))
    }),
    ("rename of one name to another of the same file", |dir| {
        new(&dir.join("f"), "x")?;
        rustix::fs::link(dir.join("f"), dir.join("g"))?;
        rustix::fs::rename(dir.join("f"), dir.join("g"))?;
        words((dir.join("f").exists(), dir.join("g").exists()))
    }),
    ("rename of a directory into itself", |dir| {
        rustix::fs::mkdir(dir.join("d"), Bits::from(0o755))?;
        words(rustix::fs::rename(dir.join("d"), dir.join("d/e"))?)
    }),
    ("rename over a directory with entries", |dir| {
        for path in ["d", "e"] {
            rustix::fs::mkdir(dir.join(path), Bits::from(0o755))?;
        }
        new(&dir.join("e/x"), "")?;
        words(rustix::fs::rename(dir.join("d"), dir.join("e"))?)
    }),
    ("rename with an unknown flag", |dir| {
        new(&dir.join("f"), "")?;
        let flags = RenameFlags::from_bits_retain(1 << 20);
        words(rustix::fs::renameat_with(
            CWD,
            dir.join("f"),
            CWD,
            dir.join("g"),
            flags,
        )?)
    }),
    ("exchange of a file and a directory", |dir| {
        new(&dir.join("f"), "x")?;
        rustix::fs::mkdir(dir.join("d"), Bits::from(0o755))?;
        let how = RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(CWD, dir.join("f"), CWD, dir.join("d"), how)?;
        words((dir.join("f").is_dir(), dir.join("d").is_file()))
    }),
    ("directory with 600 names is read whole", |dir| {
        for number in 0..600 {
            new(&dir.join(format!("n{number}")), "")?;
        }
        let listed = io(std::fs::read_dir(dir))?;
        words(listed.count())
    }),
    ("names removed while they are read", |dir| {
        for number in 0..300 {
            new(&dir.join(format!("n{number}")), "")?;
        }
        for entry in io(std::fs::read_dir(dir))? {
            rustix::fs::unlink(io(entry)?.path())?;
        }
        words(io(std::fs::read_dir(dir))?.count())
    }),
    ("directory is not opened for writing", |dir| {
        words(rustix::fs::open(dir, OFlags::WRONLY, Bits::empty()).map(|_| ())?)
    }),
    ("directory is not read as a file", |dir| {
        let mut open = io(File::open(dir))?;
        words(io(open.read(&mut [0]))?)
    }),
    ("directory is synced", |dir| {
        words(io(io(File::open(dir))?.sync_all())?)
    }),
    ("truncate by path, longer and shorter", |dir| {
        let file = new(&dir.join("f"), "abcdef")?;
        io(file.set_len(10_000))?;
        io(file.set_len(3))?;
        words(io(std::fs::read(dir.join("f")))?)
    }),
    ("truncate when it is opened", |dir| {
        new(&dir.join("f"), "abcdef")?;
        let how = OpenOptions::new()
            .write(true)
            .truncate(true)
            .mode(0o600)
            .open(dir.join("f"));
        words((io(io(how)?.metadata())?.len(), dir.join("f").exists()))
    }),
    ("owner that it has already", |dir| {
        let file = new(&dir.join("f"), "")?;
        let facts = io(file.metadata())?;
        let (uid, gid) = (Some(facts.uid()), Some(facts.gid()));
        words(io(std::os::unix::fs::fchown(&file, uid, gid))?)
    }),
    ("permission is asked for", |dir| {
        new(&dir.join("f"), "x")?;
        io(std::fs::set_permissions(
            dir.join("f"),
            PermissionsExt::from_mode(0o500),
        ))?;
        let access = rustix::fs::Access::EXEC_OK;
        words(rustix::fs::access(dir.join("f"), access)?)
    }),
];

/// What differs from the filesystem below, and why.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "file without a name (O_TMPFILE)",
        "EOPNOTSUPP: programs make a file and remove it instead",
    ),
    (
        "xattr: of a directory",
        "an overlay keeps none of directories: EOPNOTSUPP",
    ),
];

#[test]
fn open_files_attributes_and_directories_are_as_on_the_filesystem_below() {
    in_namespace(
        "themes::open_files_attributes_and_directories_are_as_on_the_filesystem_below",
        || {
            let native = Scratch::new();
            let mounted = Mounted::new(Mode::Overlay, Protect::new(), |_| {});
            // The mount of these tests keeps FIFOs and sockets, as that of a run does.
            let mut wrong = Vec::new();
            for (number, (name, check)) in CHECKS.iter().enumerate() {
                let answers = [&native.top, &mounted.view].map(|top| {
                    let dir = top.join(format!("check{number}"));
                    std::fs::create_dir(&dir).unwrap();
                    check(&dir)
                });
                if name.starts_with("xattr") && answers[0] == Err(Errno::OPNOTSUPP) {
                    println!("skipped: {name}: the filesystem below has none");
                    continue;
                }
                let is_listed = DIFFERENT.iter().any(|(known, _)| known == name);
                if (answers[0] == answers[1]) == is_listed {
                    wrong.push(format!("{name}: {:?}, mount {:?}", answers[0], answers[1]));
                }
            }
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        },
    );
}

/// A program without capabilities writes files of the host, which have set-id bits. The filesystem
/// below is the control.
#[test]
fn a_file_that_is_written_to_loses_its_set_id_bits() {
    in_namespace(
        "themes::a_file_that_is_written_to_loses_its_set_id_bits",
        || {
            const NAMES: [&str; 5] = ["written", "appended", "cut", "emptied", "read"];
            let script = "cd \"$0\" && printf x 1<>written && printf x >> appended &&
                truncate -s 1 cut && : > emptied && cat read > /dev/null";
            let fill = |top: &Path| {
                for name in NAMES {
                    std::fs::write(top.join(name), "text").unwrap();
                    let mode = PermissionsExt::from_mode(0o6755);
                    std::fs::set_permissions(top.join(name), mode).unwrap();
                }
            };
            let native = Scratch::new();
            fill(&native.top);
            let mounted = Mounted::new(Mode::ReadWrite, Protect::new(), fill);
            let without = "-fsetid";
            let modes = [&native.top, &mounted.view].map(|top| {
                let ran = std::process::Command::new("setpriv")
                    .args(["--inh-caps", without, "--bounding-set", without])
                    .args(["sh", "-c", script])
                    .arg(top)
                    .status()
                    .unwrap();
                assert!(ran.success());
                NAMES.map(|name| std::fs::metadata(top.join(name)).unwrap().mode() & 0o7777)
            });
            assert_eq!(modes[0], modes[1], "{NAMES:?}");
            let on_the_host = NAMES.map(|name| {
                let facts = std::fs::metadata(mounted.base.join(name)).unwrap();
                facts.mode() & 0o7777
            });
            assert_eq!(on_the_host, modes[0]);
            assert_eq!(modes[0][0] & 0o6000, 0, "the control keeps them");
        },
    );
}
