//! The outside, as it must stay: cheap to compare after every attempt.
//!
//! Every object is held by a descriptor and asked for its times, size, mode and number of names:
//! whatever is done to a file changes its change time, and whatever is done to an entry changes its
//! directory's.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags};

use crate::arena::furnish;

/// Times move in ticks of the kernel's clock on many filesystems: what happens later than this
/// after the last look cannot hide in the same tick.
const TICK: Duration = Duration::from_millis(12);

/// What an object looked like.
type Print = (u32, u64, i64, i64, i64, i64, i64, u32);

/// An object that no victim may touch.
struct ForbiddenObject {
    fd: OwnedFd,
    path: PathBuf,
    seen: Print,
}

/// A file that attackers give names inside the root: its change time and number of names are
/// theirs, all else is not.
struct Linked {
    file: std::fs::File,
    path: PathBuf,
    seen: (u32, i64, i64, i64, Vec<u8>, usize),
}

/// A directory into which attackers move things: names that may come and go.
struct Loose {
    path: PathBuf,
    guests: &'static [&'static str],
    seen: BTreeSet<std::ffi::OsString>,
}

/// Everything outside that is watched.
#[derive(Default)]
pub(crate) struct Canary {
    held: Vec<ForbiddenObject>,
    linked: Vec<Linked>,
    loose: Vec<Loose>,
    identities: BTreeSet<(u64, u64)>,
}

impl Canary {
    /// Furnishes a directory with files that say `outside`, and watches it and all below it.
    pub(crate) fn plant(dir: &Path) -> io::Result<Self> {
        furnish(dir, "outside")?;
        let mut canary = Self::default();
        canary.watch(dir)?;
        std::thread::sleep(TICK);
        Ok(canary)
    }

    /// As [`Canary::plant`], where attackers put these names into the directory and take them away.
    pub(crate) fn plant_loose(dir: &Path, guests: &'static [&'static str]) -> io::Result<Self> {
        furnish(dir, "outside")?;
        let mut canary = Self::default();
        for entry in std::fs::read_dir(dir)? {
            canary.watch(&entry?.path())?;
        }
        canary.loose.push(Loose {
            path: dir.to_owned(),
            guests,
            seen: names(dir, guests)?,
        });
        std::thread::sleep(TICK);
        Ok(canary)
    }

    /// As [`Canary::plant`], where attackers give names inside to these files.
    pub(crate) fn plant_linked(dir: &Path, files: &[&str]) -> io::Result<Self> {
        let mut canary = Self::plant(dir)?;
        for name in files {
            let path = dir.join(name);
            canary.held.retain(|held| held.path != path);
            let file = std::fs::File::open(&path)?;
            let seen = linked_print(&file)?;
            canary.linked.push(Linked { file, path, seen });
        }
        Ok(canary)
    }

    /// What both watch.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.held.extend(other.held);
        self.linked.extend(other.linked);
        self.loose.extend(other.loose);
        self.identities.extend(other.identities);
        self
    }

    fn watch(&mut self, path: &Path) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&fd)?;
        self.identities.insert((stat.st_dev, stat.st_ino));
        if rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory {
            for entry in std::fs::read_dir(path)? {
                self.watch(&entry?.path())?;
            }
        }
        self.held.push(ForbiddenObject {
            seen: print(&fd)?,
            fd,
            path: path.to_owned(),
        });
        Ok(())
    }

    /// What was changed, in words; nothing if all is as it was.
    pub(crate) fn touched(&self) -> Option<String> {
        for held in &self.held {
            if print(&held.fd).ok() != Some(held.seen) {
                return Some(format!("changed outside: {}", below(&held.path)));
            }
        }
        for linked in &self.linked {
            if linked_print(&linked.file).ok().as_ref() != Some(&linked.seen) {
                return Some(format!("changed outside: {}", below(&linked.path)));
            }
        }
        for loose in &self.loose {
            if names(&loose.path, loose.guests).ok().as_ref() != Some(&loose.seen) {
                return Some(format!("entries changed outside: {}", below(&loose.path)));
            }
        }
        None
    }

    /// Whether an object is one of those outside.
    pub(crate) fn owns(&self, object: (u64, u64)) -> bool {
        self.identities.contains(&object)
    }

    /// Takes what is there now as what must stay, so that one effect is counted once.
    pub(crate) fn look_again(&mut self) {
        for held in &mut self.held {
            if let Ok(seen) = print(&held.fd) {
                held.seen = seen;
            }
        }
        for linked in &mut self.linked {
            if let Ok(seen) = linked_print(&linked.file) {
                linked.seen = seen;
            }
        }
        for loose in &mut self.loose {
            if let Ok(seen) = names(&loose.path, loose.guests) {
                loose.seen = seen;
            }
        }
        std::thread::sleep(TICK);
    }
}

/// The last two components: the rest is the private directory's name.
fn below(path: &Path) -> String {
    let mut parts: Vec<_> = path.components().rev().take(2).collect();
    parts.reverse();
    let path: PathBuf = parts.into_iter().collect();
    handfast::escape(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()))
}

#[allow(
    clippy::useless_conversion,
    clippy::cast_possible_wrap,
    reason = "widths and signs of these fields differ by architecture"
)]
fn print(fd: &OwnedFd) -> io::Result<Print> {
    let stat = rustix::fs::fstat(fd)?;
    Ok((
        stat.st_mode,
        u64::from(stat.st_nlink),
        stat.st_size,
        stat.st_mtime,
        stat.st_mtime_nsec as i64,
        stat.st_ctime,
        stat.st_ctime_nsec as i64,
        stat.st_uid,
    ))
}

fn linked_print(file: &std::fs::File) -> io::Result<(u32, i64, i64, i64, Vec<u8>, usize)> {
    use std::os::unix::fs::MetadataExt;
    let meta = file.metadata()?;
    let mut content = vec![0; 64];
    let read = file.read_at(&mut content, 0)?;
    content.truncate(read);
    let attributes = rustix::fs::flistxattr(file, &mut [0_u8; 0][..]).unwrap_or(0);
    Ok((
        meta.mode(),
        meta.size().try_into().unwrap_or(i64::MAX),
        meta.mtime(),
        meta.mtime_nsec(),
        content,
        attributes,
    ))
}

fn names(dir: &Path, guests: &[&str]) -> io::Result<BTreeSet<std::ffi::OsString>> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(dir)? {
        let name = entry?.file_name();
        if !guests.iter().any(|guest| name == *guest) {
            names.insert(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Arena;

    #[test]
    fn every_touch_is_seen_and_looking_is_none() {
        type Touch = fn(&Path) -> io::Result<()>;
        let touches: [(&str, Touch); 8] = [
            ("write", |dir| std::fs::write(dir.join("data"), "outsidE")),
            ("create", |dir| std::fs::write(dir.join("new"), "")),
            ("remove", |dir| std::fs::remove_file(dir.join("f"))),
            ("deep", |dir| std::fs::create_dir(dir.join("tree/sub/x"))),
            ("link", |dir| {
                std::fs::hard_link(dir.join("data"), dir.join("../root/h"))
            }),
            ("mode", |dir| {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
                std::fs::set_permissions(dir.join("g"), mode)
            }),
            ("times", |dir| {
                let file = std::fs::File::options().write(true).open(dir.join("g"))?;
                file.set_modified(std::time::SystemTime::UNIX_EPOCH)
            }),
            ("dir", |dir| std::fs::remove_dir(dir.join("empty"))),
        ];
        for (what, touch) in touches {
            let arena = Arena::new(&std::env::temp_dir()).unwrap();
            let outside = arena.path("outside");
            let mut canary = Canary::plant(&outside).unwrap();
            drop(std::fs::read(outside.join("data")).unwrap());
            assert_eq!(canary.touched(), None, "{what}");
            touch(&outside).unwrap();
            assert!(canary.touched().is_some(), "{what}");
            canary.look_again();
            assert_eq!(canary.touched(), None, "{what}");
        }
    }

    #[test]
    fn guests_may_come_and_go_and_names_inside_may_be_given() {
        let arena = Arena::new(&std::env::temp_dir()).unwrap();
        let canary = Canary::plant_loose(&arena.path("away"), &["a"]).unwrap();
        std::fs::create_dir(arena.path("away/a")).unwrap();
        std::fs::write(arena.path("away/a/x"), "").unwrap();
        assert_eq!(canary.touched(), None);
        std::fs::write(arena.path("away/b"), "").unwrap();
        assert!(canary.touched().is_some());

        let canary = Canary::plant_linked(&arena.path("outside"), &["f"]).unwrap();
        std::fs::hard_link(arena.path("outside/f"), arena.path("root/f")).unwrap();
        assert_eq!(canary.touched(), None);
        std::fs::write(arena.path("root/f"), "outsidE").unwrap();
        assert!(canary.touched().is_some());
    }
}
