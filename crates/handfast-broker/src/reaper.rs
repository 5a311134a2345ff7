//! Ends leases whose holder or time is gone.
//!
//! One thread waits for the pidfds of holders and for the next expiry. Nothing depends on it for
//! safety: an expired lease is refused by the clock whether or not it was cleared away, and a
//! process that is gone presents nothing. It makes ends prompt, and tells the log.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};

use crate::clock;
use crate::identity::Process;
use crate::lease::LeaseHandle;

/// The token of the bell; no process has inode 0.
const BELL: u64 = 0;

/// What is waited for.
#[derive(Debug)]
pub(crate) struct Reaper {
    epoll: OwnedFd,
    bell: OwnedFd,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By inode: the process, and what ends with it.
    holders: HashMap<u64, (Arc<Process>, HashSet<LeaseHandle>)>,
    ends: BinaryHeap<Reverse<(u64, LeaseHandle)>>,
    /// Ended, and still in the heap.
    forgotten: HashSet<LeaseHandle>,
    stop: bool,
}

/// What is due.
#[derive(Debug, Default)]
pub(crate) struct Due {
    /// Their holder has ended.
    pub(crate) orphaned: Vec<LeaseHandle>,
    /// Their time may be over; whoever renewed them is asked again.
    pub(crate) expired: Vec<LeaseHandle>,
    /// Nothing follows.
    pub(crate) stop: bool,
}

impl Reaper {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(
            &epoll,
            &bell,
            epoll::EventData::new_u64(BELL),
            epoll::EventFlags::IN,
        )?;
        Ok(Self {
            epoll,
            bell,
            inner: Mutex::default(),
        })
    }

    fn hold(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes who waits.
    pub(crate) fn ring(&self) {
        // A bell that is full rings already.
        let _full = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// The process as it is already waited for, if it is: many leases share one descriptor.
    pub(crate) fn known(&self, process: Arc<Process>) -> Arc<Process> {
        match self.hold().holders.get(&process.id().inode) {
            Some((known, _)) => Arc::clone(known),
            None => process,
        }
    }

    /// Waits for the end of a lease.
    pub(crate) fn watch(
        &self,
        handle: &LeaseHandle,
        expires_ns: u64,
        holder: Option<&Arc<Process>>,
    ) -> io::Result<()> {
        let mut inner = self.hold();
        if let Some(process) = holder {
            let inode = process.id().inode;
            if let Some((_, leases)) = inner.holders.get_mut(&inode) {
                leases.insert(handle.clone());
            } else {
                epoll::add(
                    &self.epoll,
                    process,
                    epoll::EventData::new_u64(inode),
                    epoll::EventFlags::IN,
                )?;
                let waiting = (Arc::clone(process), HashSet::from([handle.clone()]));
                inner.holders.insert(inode, waiting);
            }
        }
        self.push(&mut inner, handle, expires_ns);
        Ok(())
    }

    /// Waits for an expiry.
    pub(crate) fn expect(&self, handle: &LeaseHandle, expires_ns: u64) {
        self.push(&mut self.hold(), handle, expires_ns);
    }

    fn push(&self, inner: &mut Inner, handle: &LeaseHandle, expires_ns: u64) {
        let first = inner
            .ends
            .peek()
            .is_none_or(|Reverse((at, _))| expires_ns < *at);
        inner.ends.push(Reverse((expires_ns, handle.clone())));
        if first {
            self.ring();
        }
    }

    /// A lease has ended otherwise.
    pub(crate) fn forget(&self, handle: &LeaseHandle, holder: Option<&Arc<Process>>) {
        let mut inner = self.hold();
        if let Some(process) = holder {
            let inode = process.id().inode;
            let empty = inner.holders.get_mut(&inode).is_some_and(|(_, leases)| {
                leases.remove(handle);
                leases.is_empty()
            });
            if empty && let Some((process, _)) = inner.holders.remove(&inode) {
                // It was added; a process that has ended can still be taken out.
                let _gone = epoll::delete(&self.epoll, &process);
            }
        }
        // Its place in the heap goes when its time comes, or when half of the heap is like it.
        inner.forgotten.insert(handle.clone());
        if inner.forgotten.len() > 1024 && inner.forgotten.len() > inner.ends.len() / 2 {
            let forgotten = std::mem::take(&mut inner.forgotten);
            inner
                .ends
                .retain(|Reverse((_, other))| !forgotten.contains(other));
        }
    }

    /// Waits until something is due, but not longer than asked.
    pub(crate) fn wait(&self, at_most: Option<Duration>) -> io::Result<Due> {
        let next = self.hold().ends.peek().map(|Reverse((at, _))| *at);
        let next = next.map(|at| Duration::from_nanos(at.saturating_sub(clock::now_ns())));
        let timeout = next.into_iter().chain(at_most).min().map(|left| Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        });
        let mut events = Vec::with_capacity(64);
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut events),
            timeout.as_ref(),
        ) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut inner = self.hold();
        let mut due = Due {
            stop: inner.stop,
            ..Due::default()
        };
        for event in &events {
            let inode = event.data.u64();
            if inode == BELL {
                let mut count = [0; 8];
                let _rung = rustix::io::read(&self.bell, &mut count);
            } else if let Some((process, leases)) = inner.holders.remove(&inode) {
                let _gone = epoll::delete(&self.epoll, &process);
                due.orphaned.extend(leases);
            }
        }
        let now = clock::now_ns();
        while let Some(Reverse((at, _))) = inner.ends.peek()
            && *at <= now
        {
            if let Some(Reverse((_, handle))) = inner.ends.pop()
                && !inner.forgotten.remove(&handle)
            {
                due.expired.push(handle);
            }
        }
        Ok(due)
    }

    pub(crate) fn stop(&self) {
        self.hold().stop = true;
        self.ring();
    }
}
