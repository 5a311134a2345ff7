//! Files that were begun and not committed.
//!
//! A client writes into a memory file that cannot grow beyond what was reserved, and whose seals
//! it cannot change. It is private until its content is copied into a fresh file that the client
//! never held. A client that keeps the descriptor afterwards writes into memory that nobody reads.

use std::collections::HashMap;
use std::io;
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use handfast::{Version, WriteOptions};
use handfast_session::VirtualPath;
use rustix::fs::{MemfdFlags, SealFlags};

use crate::fault::{Code, Fault};
use crate::lease::{LeaseHandle, hex};
use crate::limits::Limits;

/// What must be true of the name when the draft is committed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expect {
    /// Nothing: it is replaced or created.
    Anything,
    /// It is free.
    Free,
    /// The file is still this version.
    Version(Version),
}

/// One draft.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) lease: LeaseHandle,
    pub(crate) connection: u64,
    pub(crate) uid: u32,
    /// The root it will go to.
    pub(crate) root: usize,
    pub(crate) path: VirtualPath,
    pub(crate) expect: Expect,
    /// The handle of the directory that it must go to, where the client names one.
    pub(crate) dir: Option<String>,
    /// How it is written, where the client asked for something unusual.
    pub(crate) options: Option<WriteOptions>,
    pub(crate) max_size: u64,
    pub(crate) file: OwnedFd,
    /// Somebody commits it.
    pub(crate) taken: AtomicBool,
    pub(crate) begun: Instant,
}

/// How many bytes the quota of a root still allows: in all, and for the drafts of one user. A user
/// who begins and never commits must not take all of it from the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) bytes: u64,
    pub(crate) bytes_of_user: u64,
}

/// All drafts.
#[derive(Debug, Default)]
pub(crate) struct Drafts {
    inner: Mutex<HashMap<String, Arc<Draft>>>,
}

/// A draft that is being committed or dropped. It cannot be taken again, and what was reserved for
/// it stays so until this is gone: its content is held in memory, and the quota is charged for the
/// file that it becomes before the reservation ends.
#[derive(Debug)]
pub(crate) struct Taken<'a> {
    drafts: &'a Drafts,
    name: String,
    draft: Arc<Draft>,
}

impl Deref for Taken<'_> {
    type Target = Draft;

    fn deref(&self) -> &Draft {
        &self.draft
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.drafts.hold().remove(&self.name);
    }
}

impl Drafts {
    fn hold(&self) -> MutexGuard<'_, HashMap<String, Arc<Draft>>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a draft and gives it a name, if all of its kind together stay within the limits.
    /// `room` says how much more the quota of its root allows.
    pub(crate) fn begin(
        &self,
        draft: Draft,
        limits: &Limits,
        room: Option<Room>,
    ) -> Result<String, Fault> {
        let mut random = [0; 16];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|_| Fault::new(Code::Unavailable, "the system has no random bytes"))?;
        let mut drafts = self.hold();
        let sum = |wanted: &dyn Fn(&Draft) -> bool| -> u64 {
            let found = drafts.values().filter(|other| wanted(other));
            found.map(|other| other.max_size).sum()
        };
        let here = drafts
            .values()
            .filter(|other| other.connection == draft.connection);
        if here.count() >= limits.drafts {
            let why = "too many files were begun on this connection; commit or abort some";
            return Err(Fault::new(Code::Limit, why));
        }
        if sum(&|other| other.uid == draft.uid) + draft.max_size > limits.draft_bytes_per_user {
            let why = "the files that were begun are too large together; commit or abort some";
            return Err(Fault::new(Code::Limit, why));
        }
        if let Some(room) = room {
            let here = |other: &Draft| other.root == draft.root;
            let own = |other: &Draft| here(other) && other.uid == draft.uid;
            let why = if sum(&here) + draft.max_size > room.bytes {
                "the quota has no room for that, with what others have begun"
            } else if sum(&own) + draft.max_size > room.bytes_of_user {
                "other users share the quota: commit what you have begun before you begin more"
            } else {
                ""
            };
            if !why.is_empty() {
                return Err(Fault::new(Code::Quota, why).of_kind(handfast::ErrorKind::Quota));
            }
        }
        let name = hex(&random);
        drafts.insert(name.clone(), Arc::new(draft));
        Ok(name)
    }

    /// Takes a draft, once, for who began it under the same lease on the same connection.
    pub(crate) fn take(
        &self,
        name: &str,
        lease: &LeaseHandle,
        connection: u64,
    ) -> Option<Taken<'_>> {
        let drafts = self.hold();
        let draft = drafts.get(name)?;
        if draft.connection != connection || draft.lease != *lease {
            return None;
        }
        if draft.taken.swap(true, Ordering::Relaxed) {
            return None;
        }
        Some(Taken {
            drafts: self,
            name: name.to_owned(),
            draft: Arc::clone(draft),
        })
    }

    /// Drops what a connection began.
    pub(crate) fn drop_connection(&self, connection: u64) {
        self.hold()
            .retain(|_, draft| draft.connection != connection);
    }

    /// Drops what was begun long ago and is not being committed: what is reserved for it is kept
    /// from others.
    pub(crate) fn drop_idle(&self, at_most: Duration) {
        self.hold().retain(|_, draft| {
            draft.taken.load(Ordering::Relaxed) || draft.begun.elapsed() < at_most
        });
    }

    /// Drops what was begun under a lease that has ended: nobody commits it any more.
    pub(crate) fn drop_lease(&self, lease: &LeaseHandle) {
        self.hold().retain(|_, draft| draft.lease != *lease);
    }

    /// How many there are, and how many bytes are reserved for them.
    pub(crate) fn sizes(&self) -> (u64, u64) {
        let drafts = self.hold();
        let bytes = drafts.values().map(|draft| draft.max_size).sum();
        (drafts.len() as u64, bytes)
    }

    pub(crate) fn len(&self) -> usize {
        self.hold().len()
    }
}

/// A memory file of a fixed size.
pub(crate) fn memory_file(size: u64) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know the flag that says "no program".
    let file = rustix::fs::memfd_create("handfast-draft", flags | MemfdFlags::NOEXEC_SEAL)
        .or_else(|_| rustix::fs::memfd_create("handfast-draft", flags))?;
    rustix::fs::ftruncate(&file, size)?;
    let seals = SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file)
}

/// The first bytes of a memory file, as they are now.
pub(crate) fn read_exactly(file: &OwnedFd, size: u64) -> io::Result<Vec<u8>> {
    let size = usize::try_from(size).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    let mut data = vec![0; size];
    let mut done = 0;
    while done < size {
        match rustix::io::pread(file, &mut data[done..], done as u64) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            Ok(count) => done += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::LeaseId;

    fn draft(connection: u64, max_size: u64) -> Draft {
        Draft {
            lease: LeaseId::parse(&format!("u1/t/{:032x}", 7))
                .unwrap()
                .handle(),
            connection,
            uid: 1,
            root: 0,
            path: VirtualPath::root(),
            options: None,
            dir: None,
            expect: Expect::Anything,
            max_size,
            file: memory_file(max_size).unwrap(),
            taken: AtomicBool::default(),
            begun: Instant::now(),
        }
    }

    fn room(bytes: u64) -> Option<Room> {
        Some(Room {
            bytes,
            bytes_of_user: bytes,
        })
    }

    #[test]
    fn what_is_being_committed_stays_reserved_and_is_taken_once() {
        let limits = Limits {
            draft_bytes_per_user: 100,
            ..Limits::default()
        };
        let drafts = Drafts::default();
        let lease = draft(1, 1).lease;
        let name = drafts.begin(draft(1, 80), &limits, room(200)).unwrap();
        assert!(drafts.take(&name, &lease, 2).is_none(), "another's");
        let taken = drafts.take(&name, &lease, 1).unwrap();
        assert!(drafts.take(&name, &lease, 1).is_none(), "taken already");
        let full = drafts.begin(draft(2, 80), &limits, room(200));
        assert_eq!(full.unwrap_err().code(), Code::Limit);
        let full = drafts.begin(draft(2, 20), &limits, room(90));
        assert_eq!(full.unwrap_err().code(), Code::Quota);
        drop(taken);
        assert_eq!(drafts.len(), 0);
        drafts.begin(draft(2, 80), &limits, room(200)).unwrap();
        // A connection that is gone leaves nothing reserved.
        drafts.drop_connection(2);
        drafts.begin(draft(3, 100), &limits, room(200)).unwrap();
        drafts.drop_lease(&lease);
        assert_eq!(drafts.len(), 0);
    }

    #[test]
    fn a_draft_neither_grows_nor_shrinks_nor_loses_its_seals() {
        let file = memory_file(4096).unwrap();
        assert_eq!(rustix::io::pwrite(&file, b"abc", 4093).unwrap(), 3);
        assert!(rustix::io::pwrite(&file, b"abc", 4096).is_err());
        assert!(rustix::fs::ftruncate(&file, 8192).is_err());
        assert!(rustix::fs::ftruncate(&file, 0).is_err());
        assert!(rustix::fs::fcntl_add_seals(&file, SealFlags::WRITE).is_err());
        assert_eq!(&read_exactly(&file, 4096).unwrap()[4093..], b"abc");
        assert!(read_exactly(&file, 4097).is_err());
    }
}
