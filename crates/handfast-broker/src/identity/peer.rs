//! The process at the other end of a connection.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use handfast_ledger::event::{U64, Workload};

use super::exe::{ExeReader, Program};
use super::process::{Process, ProcessRef};
use crate::spiffe::Vouched;
use crate::sys;

/// Who connected. Numbers come from the kernel with the connection; what has to be read elsewhere
/// is thrown away if the process has ended meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
    /// Its number, for people; nothing is decided by it. 0 in another pid namespace.
    pub(crate) pid: u32,
    /// Nothing where the kernel does not identify processes: no lease is bound to one then.
    pub(crate) process: Option<Arc<Process>>,
    /// The pidfd of a process that the kernel does not identify: it says when the process has ended.
    pub(crate) pidfd: Option<Arc<OwnedFd>>,
    pub(crate) cgroup: Option<u64>,
    pub(crate) exe: Option<Program>,
    /// A SPIFFE id that it proved.
    pub(crate) spiffe: Option<Proved>,
}

/// A SPIFFE id that a workload proved.
#[derive(Clone, Debug)]
pub(crate) struct Proved {
    pub(crate) id: String,
    /// The moment of the boot clock from which it is over.
    pub(crate) until_ns: u64,
    /// Whether the bundle still has the authority that vouched for it.
    pub(crate) vouched: Vouched,
}

impl Peer {
    /// Asks the kernel who connected.
    ///
    /// # Errors
    /// If it does not say.
    pub(crate) fn of(socket: BorrowedFd<'_>, exe: &ExeReader) -> io::Result<Self> {
        let credentials = sys::peer_credentials(socket)?;
        let (process, pidfd) = match sys::peer_pidfd(socket).map(Process::told) {
            Ok(Ok(process)) => (Some(process), None),
            Ok(Err((_, pidfd))) => (None, Some(Arc::new(pidfd))),
            Err(_) => (None, None),
        };
        // A process that is gone has no control group and no program any more.
        let alive = process.as_ref().filter(|process| process.is_alive());
        let cgroup = alive.and_then(|process| process.info().ok()?.cgroup);
        let exe = alive.and_then(|process| exe.read(process));
        Ok(Self {
            uid: credentials.uid,
            gid: credentials.gid,
            groups: sys::peer_groups(socket).unwrap_or_default(),
            pid: credentials.pid,
            process: process.map(Arc::new),
            pidfd,
            cgroup,
            exe,
            spiffe: None,
        })
    }

    /// Which process it is, where that is known.
    pub(crate) fn process_ref(&self) -> Option<ProcessRef> {
        self.process.as_ref().map(|process| process.id())
    }

    /// The SPIFFE id that it proved, while the proof holds.
    pub(crate) fn spiffe_id(&self) -> Option<&str> {
        let proved = self.spiffe.as_ref()?;
        let holds = proved.vouched.holds() && crate::clock::now_ns() < proved.until_ns;
        holds.then_some(&proved.id)
    }

    /// Its pidfd, where the kernel has those.
    pub(crate) fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        let known = self.process.as_deref().map(AsFd::as_fd);
        known.or_else(|| self.pidfd.as_deref().map(AsFd::as_fd))
    }

    /// The control group it is in now, which may be another than when it connected.
    pub(crate) fn current_cgroup(&self) -> Option<u64> {
        let process = self.process.as_ref()?;
        let cgroup = process.info().ok()?.cgroup;
        cgroup.filter(|_| process.is_alive())
    }

    /// As the log names it.
    pub(crate) fn workload(&self) -> Workload<'static> {
        Workload {
            pid: Some(self.pid),
            uid: Some(self.uid),
            gid: Some(self.gid),
            cgroup_id: self.cgroup.map(U64),
            exe: self.exe.as_ref().map(|program| program.path.clone().into()),
            auth: Some(if self.process.is_some() {
                "peerpidfd".into()
            } else {
                "peercred".into()
            }),
            spiffe_id: self.spiffe_id().map(|id| id.to_owned().into()),
            run_id: self
                .process_ref()
                .map(|id| format!("pidfs:{}", id.inode).into()),
            ..Workload::default()
        }
    }
}
