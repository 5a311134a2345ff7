//! Ends leases whose holder or time is gone.
//!
//! One thread waits for the pidfds of holders and for the next expiry. Nothing depends on it for
//! safety: an expired lease is refused by the clock whether or not it was cleared away, and a
//! process that is gone presents nothing. It makes ends prompt, and tells the log.

use std::collections::{BTreeSet, HashMap, HashSet};
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
    /// When each lease is looked at, the next first; one place for each, however often it is
    /// renewed.
    ends: BTreeSet<(u64, LeaseHandle)>,
    /// Where each is.
    places: HashMap<LeaseHandle, u64>,
    stop: bool,
}

impl Inner {
    /// Whether it is the next to come. Who is waited for already and ends later is looked at when
    /// that was due, and waited for again.
    fn expect(&mut self, handle: &LeaseHandle, expires_ns: u64) -> bool {
        let place = self.places.get(handle).copied();
        if place.is_some_and(|place| place <= expires_ns) {
            return false;
        }
        self.forget(handle);
        self.ends.insert((expires_ns, handle.clone()));
        self.places.insert(handle.clone(), expires_ns);
        self.ends.first().is_some_and(|(_, first)| first == handle)
    }

    fn forget(&mut self, handle: &LeaseHandle) {
        if let Some(place) = self.places.remove(handle) {
            self.ends.remove(&(place, handle.clone()));
        }
    }

    /// The leases whose moment has come; they are not waited for any more.
    fn take_due(&mut self, now_ns: u64) -> Vec<LeaseHandle> {
        let mut due = Vec::new();
        while let Some((at, _)) = self.ends.first()
            && *at <= now_ns
            && let Some((_, handle)) = self.ends.pop_first()
        {
            self.places.remove(&handle);
            due.push(handle);
        }
        due
    }
}

/// What is due.
#[derive(Debug, Default)]
pub(crate) struct Due {
    /// Their holder has ended.
    pub(crate) orphaned: Vec<LeaseHandle>,
    /// Their time may be over; the process that renewed them is asked again.
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
        if inner.expect(handle, expires_ns) {
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
        inner.forget(handle);
    }

    /// Waits until something is due, but not longer than asked.
    pub(crate) fn wait(&self, at_most: Option<Duration>) -> io::Result<Due> {
        let next = self.hold().ends.first().map(|(at, _)| *at);
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
        due.expired = inner.take_due(clock::now_ns());
        Ok(due)
    }

    pub(crate) fn stop(&self) {
        self.hold().stop = true;
        self.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::LeaseId;

    #[test]
    fn a_lease_has_one_place_however_often_it_is_renewed() {
        let handle = |task: &str| LeaseId::new(7, task).unwrap().handle();
        let (one, other) = (handle("one"), handle("other"));
        let mut inner = Inner::default();
        assert!(inner.expect(&one, 50));
        assert!(!inner.expect(&other, 60));
        for round in 0..1000 {
            // Longer, and shorter again.
            assert!(!inner.expect(&one, 100 + round));
            inner.expect(&other, 59 - round % 2);
        }
        assert_eq!((inner.ends.len(), inner.places.len()), (2, 2));
        assert!(inner.expect(&other, 40), "it is the next now");
        assert!(inner.take_due(39).is_empty());
        assert_eq!(inner.take_due(50), [other.clone(), one.clone()]);
        assert!(inner.ends.is_empty() && inner.places.is_empty());
        inner.expect(&one, 70);
        inner.forget(&one);
        inner.forget(&other);
        assert!(inner.take_due(u64::MAX).is_empty() && inner.places.is_empty());
    }
}
