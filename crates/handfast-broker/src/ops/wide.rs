//! Files that a reader may write by its own rights.
//!
//! A descriptor for reading is opened again for writing through `/proc/self/fd`, by the rights that its
//! holder has on the file; that the directories above are closed does not matter there. Where the
//! broker is a wall, such a reader gets a copy that nobody can write, or nothing.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use handfast::files::FileHandle;
use handfast::{ErrorKind, Metadata, Version};
use handfast_session::policy::WideReads;
use handfast_session::{SessionFile, VirtualPath};
use rustix::fs::{MemfdFlags, SealFlags};

use crate::broker::Broker;
use crate::fault::{Code, Fault};
use crate::identity::{Peer, Process};

/// The largest file that is copied.
const MAX_COPY: u64 = 64 << 20;

/// As many bytes of copies may be out for one user. They lie in the broker's memory for as long as
/// somebody holds them, and only the end of a process says that it holds none.
const MAX_COPIES: u64 = 256 << 20;

/// How often a file is copied that changes meanwhile.
const MAX_RETRIES: u32 = 3;

/// Copies that are out.
#[derive(Debug, Default)]
pub(crate) struct Copies(Mutex<Vec<HeldTree>>);

/// Those that one process has got.
#[derive(Debug)]
struct HeldTree {
    uid: u32,
    /// Nothing where the kernel does not say which process it is: then it never ends.
    process: Option<Arc<Process>>,
    bytes: u64,
}

impl Copies {
    /// Notes a copy for a peer, if it has not too many.
    ///
    /// # Errors
    /// `Limit` if it has.
    fn note(&self, peer: &Peer, bytes: u64) -> Result<(), Fault> {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_too_much = |out: &[HeldTree]| {
            let own = out.iter().filter(|held| held.uid == peer.uid);
            own.map(|held| held.bytes).sum::<u64>() + bytes > MAX_COPIES
        };
        if is_too_much(&out) {
            let may_hold = |process: &Arc<Process>| process.is_alive();
            out.retain(|held| held.process.as_ref().is_none_or(may_hold));
        }
        if is_too_much(&out) {
            let why = "too many copies of files are out for this user, who may write them without a lease; take that right away (chmod go-w), or end the processes that hold them";
            return Err(Fault::new(Code::Limit, why));
        }
        let process = peer.process_ref();
        let known = out.iter_mut().find(|held| {
            held.uid == peer.uid && held.process.as_ref().map(|known| known.id()) == process
        });
        match known {
            Some(held) => held.bytes += bytes,
            None => out.push(HeldTree {
                uid: peer.uid,
                process: peer.process.clone(),
                bytes,
            }),
        }
        Ok(())
    }
}

impl Broker {
    /// A copy of a file for a reader who could write the file itself, and the version that was copied;
    /// nothing where the file may be handed out.
    ///
    /// # Errors
    /// `Denied` where the policy refuses such reads; `Limit` if it is too large; `Failed` if it
    /// changes all the time.
    pub(super) fn sealed_for(
        &self,
        peer: &Peer,
        path: &VirtualPath,
        file: &SessionFile,
        version: Option<Version>,
    ) -> Result<Option<(OwnedFd, Version)>, Fault> {
        let rulebook = self.rulebook();
        let root = rulebook.route(path).map(|(root, _)| root);
        if !root.is_some_and(|root| self.boundary.is_wall(root, peer.uid)) || !may_write(file, peer)
        {
            return Ok(None);
        }
        if rulebook.terms.wide_reads == WideReads::Refuse {
            let why = "this user may write the file without a lease, so a descriptor for reading would not hold; the policy refuses that";
            return Err(Fault::denied(why));
        }
        if file.metadata().len > MAX_COPY {
            let why = format!(
                "this user may write the file without a lease, so it is read as a copy, and copies have at most {MAX_COPY} bytes"
            );
            return Err(Fault::new(Code::Limit, why));
        }
        self.copies.note(peer, file.metadata().len)?;
        let version_now = || FileHandle::version(file, false).map_err(crate::log::fault_of);
        let mut told = match version {
            Some(version) => version,
            None => version_now()?,
        };
        for _ in 0..MAX_RETRIES {
            let copy = sealed_copy(file).map_err(|error| {
                Fault::new(Code::Unavailable, format!("no copy of the file: {error}"))
            })?;
            // The version that is told is that of the bytes in the copy.
            let now = version_now()?;
            if now == told {
                return Ok(Some((copy, told)));
            }
            told = now;
        }
        let why = "the file changed while it was copied";
        Err(Fault::new(Code::Failed, why).of_kind(ErrorKind::Raced))
    }
}

/// Whether a user may write a file, or could make it so. The group's bits also say what an access
/// control list gives at most; whom it names is not asked, and a copy too many does no harm.
fn may_write(file: &SessionFile, peer: &Peer) -> bool {
    let Metadata { uid, mode, .. } = *file.metadata();
    uid == peer.uid || mode & 0o022 != 0
}

/// A file in memory with the same content, which nobody can write.
fn sealed_copy(file: &SessionFile) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know the flag that says "no program".
    let copy = rustix::fs::memfd_create("handfast-copy", flags | MemfdFlags::NOEXEC_SEAL)
        .or_else(|_| rustix::fs::memfd_create("handfast-copy", flags))?;
    let mut part = vec![0; 1 << 16];
    let mut done = 0;
    loop {
        let got = FileHandle::read_at(file, &mut part, done).map_err(io::Error::from)?;
        if got == 0 {
            break;
        }
        let mut rest = &part[..got];
        while !rest.is_empty() {
            let count = rustix::io::pwrite(&copy, rest, done)?;
            done += count as u64;
            rest = &rest[count..];
        }
        if done > MAX_COPY {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
    }
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(copy.as_fd(), seals)?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(uid: u32, process: Option<Arc<Process>>) -> Peer {
        Peer {
            uid,
            gid: uid,
            groups: Vec::new(),
            pid: 0,
            process,
            pidfd: None,
            cgroup: None,
            exe: None,
            spiffe: None,
        }
    }

    #[test]
    fn copies_of_one_user_are_bounded_until_its_processes_end() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
        let Ok(process) = Process::of(pidfd) else {
            println!("skipped: this kernel does not tell processes apart");
            child.kill().unwrap();
            child.wait().unwrap();
            return;
        };
        let copies = Copies::default();
        let one = peer(7, Some(Arc::new(process)));
        for _ in 0..4 {
            copies.note(&one, MAX_COPIES / 4).unwrap();
        }
        assert_eq!(copies.note(&one, 1).unwrap_err().code(), Code::Limit);
        copies.note(&peer(8, None), MAX_COPIES).unwrap();
        assert!(
            copies.note(&peer(8, None), 1).is_err(),
            "never known to end"
        );
        child.kill().unwrap();
        child.wait().unwrap();
        copies.note(&peer(7, None), MAX_COPIES).unwrap();
    }
}
