//! An open file of a mount: each read and write is under the lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use handfast::files::FileHandle;
use handfast::{Error, Metadata, Verb, Version};
use handfast_session::VirtualPath;

use super::view::Seat;

/// An open file. The lease is looked at again at every use, and the policy and the rules of the roots whenever they
/// have changed; at every use as well for a token or a proof, which may be over by now.
pub(super) struct LeaseFile {
    pub(super) inner: Box<dyn FileHandle>,
    pub(super) seat: Arc<Seat>,
    pub(super) path: VirtualPath,
    pub(super) verb: Verb,
    /// What the kernel sees of it.
    pub(super) opened: Metadata,
    /// The change of the policy under which it was judged last.
    pub(super) policy: AtomicU64,
    /// The change of the roots' rules under which it was judged last.
    pub(super) rules: AtomicU64,
}

impl LeaseFile {
    fn use_it<T>(&self, act: impl FnOnce(&dyn FileHandle) -> Result<T, Error>) -> Result<T, Error> {
        self.seat.under_lease(self.verb, &self.path, |broker, _| {
            let now = broker.in_force.changes();
            if self.seat.may_lapse() || self.policy.load(Ordering::Acquire) != now {
                self.seat.judge(broker, self.verb, &self.path)?;
                self.policy.store(now, Ordering::Release);
            }
            // Read before the session is: a change meanwhile is judged at the next use once more.
            let rules = broker.in_force.rules();
            if self.rules.load(Ordering::Acquire) != rules {
                let object = self.inner.opened_metadata().identity;
                self.seat
                    .judge_object(broker, self.verb, &self.path, &object)?;
                self.rules.store(rules, Ordering::Release);
            }
            act(&*self.inner)
        })
    }
}

impl FileHandle for LeaseFile {
    fn opened_metadata(&self) -> &Metadata {
        &self.opened
    }

    fn metadata(&self) -> Result<Metadata, Error> {
        let found = self.use_it(|file| file.metadata())?;
        Ok(self.seat.shown(found))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        self.seat.gives_pages(&self.opened);
        self.use_it(|file| file.read_at(buffer, offset))
    }

    fn write_at(&self, data: &[u8], offset: u64) -> Result<usize, Error> {
        self.seat.gives_pages(&self.opened);
        self.use_it(|file| file.write_at(data, offset))
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        self.use_it(|file| file.set_len(len))
    }

    fn sync(&self) -> Result<(), Error> {
        self.use_it(|file| file.sync())
    }

    fn version(&self, digest: bool) -> Result<Version, Error> {
        self.use_it(|file| file.version(digest))
    }
}
