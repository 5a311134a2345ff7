//! The process at the other end of a connection.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use handfast_ledger::event::{U64, Workload};

use super::exe::{ExeReader, Program};
use super::process::{Process, ProcessRef};
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
    pub(crate) cgroup: Option<u64>,
    pub(crate) exe: Option<Program>,
    /// A SPIFFE id that it proved, and the moment of the boot clock from which that is over.
    pub(crate) spiffe: Option<(String, u64)>,
}

impl Peer {
    /// Asks the kernel who connected.
    ///
    /// # Errors
    /// If it does not say.
    pub(crate) fn of(socket: BorrowedFd<'_>, exe: &ExeReader) -> io::Result<Self> {
        let credentials = sys::peer_credentials(socket)?;
        let process = sys::peer_pidfd(socket).and_then(Process::of).ok();
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
        let (id, until_ns) = self.spiffe.as_ref()?;
        (crate::clock::now_ns() < *until_ns).then_some(id)
    }

    /// Whether a pidfd that came with a message is this process.
    pub(crate) fn is_sender(&self, sender: BorrowedFd<'_>) -> bool {
        self.process
            .as_ref()
            .is_some_and(|process| sys::is_same_process(process.as_fd(), sender))
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
