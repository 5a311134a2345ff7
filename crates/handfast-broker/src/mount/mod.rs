//! A lease as a mount: a program sees what its lease covers, and this process serves it.
//!
//! The program's side makes the mount, in a mount namespace of its own, and hands over the kernel's
//! device. From then on each request of the kernel is judged like a call: by the lease, those above it,
//! the policy and the patterns. Because reads and writes come through here, a lease that ends ends
//! for files that are open already: first it is over, and the next request is refused; then a
//! thread makes the kernel forget the pages that it has, so that mappings lose them too. A policy that is
//! read again does the same: an open file is judged again by what counts now.

mod file;
mod known;
mod node;
mod ops;
#[cfg(test)]
mod tests;
mod view;

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::lease::LeaseHandle;
use known::KnownPages;

/// Mounts in all, and of one user. Each has some threads.
const MAX_MOUNTS: usize = 64;
const MAX_MOUNTS_OF_USER: usize = 16;

/// With so many files an operator may want to know how long their mappings lasted.
const WORTH_A_WORD: usize = 1000;

/// A mount that is served.
#[derive(Debug)]
struct Mounted {
    uid: u32,
    /// The kernel's device, to tell it what to forget.
    device: OwnedFd,
    known: Arc<KnownPages>,
}

/// The mounts that are served, by lease.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    served: Mutex<HashMap<LeaseHandle, Vec<Arc<Mounted>>>>,
}

impl Mounts {
    fn hold(&self) -> MutexGuard<'_, HashMap<LeaseHandle, Vec<Arc<Mounted>>>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.hold().values().map(Vec::len).sum()
    }

    /// Takes one in, if there is room for another of its user.
    fn add(&self, handle: &LeaseHandle, mounted: Arc<Mounted>) -> bool {
        let mut served = self.hold();
        let all = served.values().flatten();
        let of_user = all.filter(|other| other.uid == mounted.uid).count();
        let total: usize = served.values().map(Vec::len).sum();
        if total >= MAX_MOUNTS || of_user >= MAX_MOUNTS_OF_USER {
            return false;
        }
        served.entry(handle.clone()).or_default().push(mounted);
        true
    }

    /// One is not served any more.
    fn remove(&self, handle: &LeaseHandle, mounted: &Arc<Mounted>) {
        let mut served = self.hold();
        if let Some(of_lease) = served.get_mut(handle) {
            of_lease.retain(|other| !Arc::ptr_eq(other, mounted));
            if of_lease.is_empty() {
                served.remove(handle);
            }
        }
    }

    /// A lease has ended: nothing is read under it any more, and the kernel forgets what was.
    pub(crate) fn ended(&self, handle: &LeaseHandle) {
        let of_lease = self.hold().get(handle).cloned();
        for mounted in of_lease.into_iter().flatten() {
            mounted.forget();
        }
    }
}

impl Mounts {
    /// Another policy counts: what the kernel was given under the one before, it forgets.
    pub(crate) fn rules_changed(&self) {
        let all: Vec<Arc<Mounted>> = self.hold().values().flatten().cloned().collect();
        for mounted in all {
            mounted.forget();
        }
    }
}

impl Mounted {
    /// Makes the kernel forget what it has of the files, in a thread of its own: it may wait for a
    /// request that is being answered.
    fn forget(self: Arc<Self>) {
        let forgetting = std::thread::Builder::new()
            .name("forget".to_owned())
            .spawn(move || {
                let begun = Instant::now();
                let count = self.known.forget(&self.device);
                let took = begun.elapsed();
                if count >= WORTH_A_WORD {
                    let told = format!("pages of {count} files were taken back in {took:?}");
                    crate::complain(&told);
                }
            });
        if let Err(error) = forgetting {
            crate::complain(&format!("no thread to take back what is mapped: {error}"));
        }
    }
}
