//! FIFOs and sockets. The kernel gives them their function; only the name has to be kept.
//!
//! They are kept here for as long as the mount lasts, and by no layer below: a commit has nothing to
//! write for them. So they are never read by another program than those that use the mount.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use fuser::{Errno, FileAttr, FileType, INodeNo};
use handfast::files::Entry;
use handfast::{ErrorKind, FileKind, Name, RenameMode};

use crate::attr::{nothing, wanted_time};
use crate::content::Wanted;
use crate::errno::errno;
use crate::face::Asked;
use crate::names::{LookedUp, NamePlace};

/// Their numbers begin here. Objects that an overlay made have random numbers of 64 bits, so one of
/// 65,536 in a row is as good as never theirs.
const FIRST: u64 = 1 << 62;

/// So many are kept: a program is no worse off than on a filesystem that is full.
const MAX_OBJECTS: usize = 65_536;

/// Who makes one, and which permissions it gets.
#[derive(Clone, Copy)]
pub(crate) struct NewSpecial {
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// The FIFOs and sockets of a mount.
#[derive(Default)]
pub(crate) struct Specials {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    made: u64,
    objects: HashMap<u64, Special>,
    names: BTreeMap<(u64, Vec<u8>), u64>,
}

struct Special {
    attr: FileAttr,
    lookups: u64,
    is_named: bool,
}

impl Inner {
    fn collect(&mut self, number: u64) {
        let is_unused = |special: &Special| special.lookups == 0 && !special.is_named;
        if self.objects.get(&number).is_some_and(is_unused) {
            self.objects.remove(&number);
        }
    }

    fn unname(&mut self, place: &(u64, Vec<u8>)) -> Option<u64> {
        let number = self.names.remove(place)?;
        if let Some(special) = self.objects.get_mut(&number) {
            special.is_named = false;
            special.attr.nlink = 0;
        }
        self.collect(number);
        Some(number)
    }
}

fn key(place: NamePlace<'_>) -> (u64, Vec<u8>) {
    (place.dir, place.name.as_bytes().to_vec())
}

impl Specials {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn attr(&self, number: u64) -> Option<FileAttr> {
        Some(self.inner().objects.get(&number)?.attr)
    }

    fn has(&self, place: NamePlace<'_>) -> bool {
        self.inner().names.contains_key(&key(place))
    }

    pub(crate) fn has_any_in(&self, dir: u64) -> bool {
        let inner = self.inner();
        let mut from = inner.names.range((dir, Vec::new())..);
        from.next().is_some_and(|((of, _), _)| *of == dir)
    }

    /// Counts the kernel's new reference.
    fn look_up(&self, place: NamePlace<'_>) -> Option<FileAttr> {
        let mut inner = self.inner();
        let number = *inner.names.get(&key(place))?;
        let special = inner.objects.get_mut(&number)?;
        special.lookups += 1;
        Some(special.attr)
    }

    pub(crate) fn forget(&self, number: u64, times: u64) {
        let mut inner = self.inner();
        if let Some(special) = inner.objects.get_mut(&number) {
            special.lookups = special.lookups.saturating_sub(times);
        }
        inner.collect(number);
    }

    fn add(&self, place: NamePlace<'_>, new: NewSpecial) -> Result<FileAttr, Errno> {
        let mut inner = self.inner();
        if inner.objects.len() >= MAX_OBJECTS {
            return Err(Errno::ENOSPC);
        }
        let now = SystemTime::now();
        let attr = FileAttr {
            ino: INodeNo(FIRST + inner.made),
            kind: match new.mode & libc::S_IFMT == libc::S_IFIFO {
                true => FileType::NamedPipe,
                false => FileType::Socket,
            },
            perm: u16::try_from(new.mode & 0o7777).unwrap_or(0),
            nlink: 1,
            uid: new.uid,
            gid: new.gid,
            atime: now,
            mtime: now,
            ctime: now,
            blksize: 4096,
            ..nothing()
        };
        inner.made += 1;
        let special = Special {
            attr,
            lookups: 1,
            is_named: true,
        };
        inner.objects.insert(attr.ino.0, special);
        inner.names.insert(key(place), attr.ino.0);
        Ok(attr)
    }

    /// Changes mode and times. An owner that is there already is no change.
    pub(crate) fn set(&self, number: u64, wanted: &Wanted) -> Result<FileAttr, Errno> {
        let mut inner = self.inner();
        let special = inner.objects.get_mut(&number).ok_or(Errno::ESTALE)?;
        let attr = &mut special.attr;
        let other = |wanted: Option<u32>, now| wanted.is_some_and(|wanted| wanted != now);
        if other(wanted.uid, attr.uid) || other(wanted.gid, attr.gid) {
            return Err(Errno::EPERM);
        }
        let time = |time| wanted_time(time).to_system_time();
        attr.perm = match wanted.mode {
            Some(mode) => u16::try_from(mode & 0o7777).unwrap_or(0),
            None => attr.perm,
        };
        attr.atime = wanted.accessed.map_or(attr.atime, time);
        attr.mtime = wanted.modified.map_or(attr.mtime, time);
        attr.ctime = SystemTime::now();
        Ok(*attr)
    }
}

impl Asked<'_> {
    pub(crate) fn special_at(&self, place: NamePlace<'_>) -> Option<LookedUp> {
        let attr = self.specials.as_ref()?.look_up(place)?;
        Some(LookedUp {
            attr,
            name_time: self.times.names,
            facts_time: self.times.facts,
        })
    }

    /// Makes a FIFO or a socket under a free name.
    pub(crate) fn make_special(
        &self,
        place: NamePlace<'_>,
        new: NewSpecial,
    ) -> Result<FileAttr, Errno> {
        let is_kept = matches!(new.mode & libc::S_IFMT, libc::S_IFIFO | libc::S_IFSOCK);
        let Some(specials) = self.specials.as_ref().filter(|_| is_kept) else {
            return Err(Errno::EPERM);
        };
        let _still = self.names.still();
        let dir = self.node(place.dir)?;
        match self.files.lookup(&dir, place.name) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(errno(&error)),
            Ok(_) => return Err(Errno::EEXIST),
        }
        if specials.has(place) {
            return Err(Errno::EEXIST);
        }
        let attr = specials.add(place, new)?;
        // Its directory keeps its number for as long as the name is there.
        self.table().opened(place.dir);
        Ok(attr)
    }

    /// Removes the name, if it is one of a FIFO or a socket.
    pub(crate) fn remove_special(&self, place: NamePlace<'_>) -> bool {
        let Some(specials) = &self.specials else {
            return false;
        };
        let was_there = specials.inner().unname(&key(place)).is_some();
        if was_there {
            self.table().closed(place.dir);
        }
        was_there
    }

    /// Renames a FIFO or a socket. Nothing if the name is another object's.
    pub(crate) fn rename_special(
        &self,
        from: NamePlace<'_>,
        to: NamePlace<'_>,
        mode: RenameMode,
    ) -> Option<Result<(), Errno>> {
        let specials = self.specials.as_ref()?;
        let (moves, replaces) = (specials.has(from), specials.has(to));
        match (moves, replaces, mode) {
            (false, false, _) => None,
            (_, _, RenameMode::Exchange) => Some(Err(Errno::EINVAL)),
            (_, true, RenameMode::NoReplace) => Some(Err(Errno::EEXIST)),
            // Another object comes under the name: it is an ordinary rename, which may be refused.
            (false, true, _) => None,
            (true, ..) => Some(self.move_special(from, to, mode)),
        }
    }

    fn move_special(
        &self,
        from: NamePlace<'_>,
        to: NamePlace<'_>,
        mode: RenameMode,
    ) -> Result<(), Errno> {
        let dir = self.node(to.dir)?;
        match self.files.lookup(&dir, to.name) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(errno(&error)),
            Ok(_) if mode == RenameMode::NoReplace => return Err(Errno::EEXIST),
            Ok(node) if node.kind() == FileKind::Dir => return Err(Errno::EISDIR),
            Ok(_) => {
                let at = handfast::files::At {
                    dir: &dir,
                    name: to.name,
                };
                let what = handfast::files::WhatToRemove::File;
                let removed = self.files.remove_at(at, what);
                removed.map_err(|error| errno(&error))?;
                self.table().removed(to.dir, to.name);
            }
        }
        self.remove_special(to);
        if let Some(specials) = &self.specials {
            let mut inner = specials.inner();
            if let Some(number) = inner.names.remove(&key(from)) {
                inner.names.insert(key(to), number);
            }
        }
        let mut table = self.table();
        table.opened(to.dir);
        table.closed(from.dir);
        Ok(())
    }

    /// Adds the names of FIFOs and sockets to what a directory lists.
    pub(crate) fn add_specials(&self, dir: u64, entries: &mut Vec<Entry>) {
        let Some(specials) = &self.specials else {
            return;
        };
        let inner = specials.inner();
        let from = inner.names.range((dir, Vec::new())..);
        for ((_, name), number) in from.take_while(|((of, _), _)| *of == dir) {
            let Some(special) = inner.objects.get(number) else {
                continue;
            };
            if let Ok(name) = Name::parse(name) {
                let kind = match special.attr.kind {
                    FileType::NamedPipe => FileKind::Fifo,
                    _ => FileKind::Socket,
                };
                entries.push(Entry {
                    name,
                    kind,
                    inode: *number,
                });
            }
        }
    }

    /// Whether a name is one of a directory that holds FIFOs or sockets.
    pub(crate) fn holds_specials(&self, place: NamePlace<'_>) -> bool {
        let number = self.table().child(place.dir, place.name);
        let specials = self.specials.as_ref();
        number.is_some_and(|number| specials.is_some_and(|specials| specials.has_any_in(number)))
    }

    /// The names of extended attributes.
    pub(crate) fn xattr_names(&self, number: u64) -> Result<Vec<String>, Errno> {
        match self.special(number) {
            Some(_) => Ok(Vec::new()),
            None => self.on_node(number, |node| match node.kind() {
                FileKind::Symlink => Ok(Vec::new()),
                _ => self.files.xattrs_of(node),
            }),
        }
    }
}
