//! What a session has used, charged before it is used.
//!
//! Charges are kept per object: how long it was before the session grew it, and by how much. They
//! are in a log that all processes of the session share, and everything that grows is done while
//! its lock is held; so nothing is counted twice or not at all, and a process that dies between charge
//! and effect leaves a charge that is too high, never too low.

mod books;
mod direct;
mod handle;
mod temporary;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use handfast::{ErrorKind, Metadata, Root};

use crate::error::{Error, Reason};
use crate::gate::{Gate, Locked};
use crate::log::{Log, News};
use crate::quota::Quota;
use books::{BookEntry, Books, Charge};
pub(crate) use direct::{CreationSite, Making};
pub(crate) use handle::{FileMeter, HandleTicket, Hold};
pub(crate) use temporary::Temporary;

const CHARGES: &str = "charges";

/// Which object: of a mount, by device and inode; or of an overlay, by its number.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) mount: u32,
    pub(crate) device: u64,
    pub(crate) number: u64,
}

impl Key {
    pub(crate) fn of(mount: u32, object: &Metadata) -> Self {
        Self {
            mount,
            device: object.identity.device,
            number: object.identity.inode,
        }
    }
}

/// What one or all mounts have used.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Used {
    /// Growth in bytes.
    pub bytes: u64,
    /// New files, directories and links.
    pub inodes: u64,
    /// Handles open in this process.
    pub handles: u64,
}

/// The account of a session.
pub(crate) struct Account {
    gate: Gate<Books>,
    home: Option<Root>,
    session: Quota,
    mounts: Vec<Quota>,
    counting: bool,
    handles: Vec<AtomicU64>,
    /// Objects that are open in this process.
    held: Mutex<HashMap<Key, Reserved>>,
}

/// How often an object is open, and whether its charge goes when it is not any more.
#[derive(Default)]
struct Reserved {
    times: u64,
    gone: bool,
}

impl Account {
    /// Opens the account of a session; its log is made if it is missing.
    pub(crate) fn open(
        home: Option<&Root>,
        session: Quota,
        mounts: Vec<Quota>,
    ) -> Result<Arc<Self>, Error> {
        let limits = |quota: &Quota| {
            quota.bytes.is_some() || quota.inodes.is_some() || quota.file_bytes.is_some()
        };
        let counting = limits(&session) || mounts.iter().any(limits);
        let home = home.filter(|_| counting).cloned();
        if let Some(home) = &home {
            match Log::create(home, CHARGES, &[]) {
                Err(error) if error.kind() == ErrorKind::Exists => {}
                made => made?,
            }
        }
        let account = Self {
            gate: Gate::new(home.as_ref(), Books::default())?,
            home,
            session,
            counting,
            handles: mounts.iter().map(|_| AtomicU64::new(0)).collect(),
            held: Mutex::default(),
            mounts,
        };
        drop(account.turn()?);
        Ok(Arc::new(account))
    }

    pub(crate) fn is_counting(&self) -> bool {
        self.counting
    }

    /// Our turn, with everything that others charged.
    fn turn(&self) -> Result<Locked<'_, Books>, Error> {
        let locked = self.gate.lock()?;
        {
            let mut books = locked.state();
            if books.totals.is_empty() {
                books.totals = vec![Used::default(); self.mounts.len()];
            }
            if let Some(home) = &self.home {
                let stale = match &books.log {
                    None => true,
                    Some(log) => log.news()? == News::Replaced,
                };
                if stale {
                    *books = Books {
                        log: Some(Log::open(home, CHARGES)?),
                        totals: vec![Used::default(); self.mounts.len()],
                        ..Books::default()
                    };
                }
                books.catch_up()?;
                self.compact(&mut books, home)?;
            }
        }
        Ok(locked)
    }

    fn compact(&self, books: &mut Books, home: &Root) -> Result<(), Error> {
        let entries = books.charges.len() + books.pending.len();
        let len = books.log.as_ref().map_or(0, Log::len);
        if len < 1 << 20 || len < 512 * entries as u64 {
            return Ok(());
        }
        let mut records: Vec<Vec<u8>> = Vec::new();
        let mut charges: Vec<_> = books.charges.iter().collect();
        charges.sort_by_key(|(key, _)| **key);
        for (key, charge) in charges {
            records.push(BookEntry::Set(*key, *charge).write());
        }
        let mut pending: Vec<_> = books.pending.iter().collect();
        pending.sort_by_key(|(place, _)| (*place).clone());
        for ((mount, path), charge) in pending {
            records.push(BookEntry::Pending(*mount, path.clone(), *charge).write());
        }
        Log::replace(home, CHARGES, &records)?;
        let mut log = Log::open(home, CHARGES)?;
        log.catch_up(true, |_| Ok(()))?;
        books.log = Some(log);
        Ok(())
    }

    /// Sets what an object is charged to its new length. `freed` goes away with the same change.
    pub(crate) fn charge(
        &self,
        key: Key,
        len: u64,
        is_new: bool,
        freed: Option<Key>,
    ) -> Result<(), Error> {
        if !self.counting {
            return Ok(());
        }
        let turn = self.turn()?;
        self.charge_in(&turn, key, len, is_new, freed)
    }

    fn charge_in(
        &self,
        turn: &Locked<'_, Books>,
        key: Key,
        len: u64,
        is_new: bool,
        freed: Option<Key>,
    ) -> Result<(), Error> {
        let mut books = turn.state();
        let old = books.charges.get(&key).copied().unwrap_or_default();
        let freed = freed
            .filter(|key| !self.is_held(*key))
            .and_then(|key| books.charges.get(&key))
            .copied();
        let new = Charge {
            base: old.base,
            bytes: len.saturating_sub(old.base),
            inodes: old.inodes.max(u64::from(is_new)),
        };
        let freed = freed.unwrap_or_default();
        self.check(&books, key.mount, len, old, new, freed)?;
        books.enter(BookEntry::Set(key, new))
    }

    /// Would this be too much?
    fn check(
        &self,
        books: &Books,
        mount: u32,
        len: u64,
        old: Charge,
        new: Charge,
        freed: Charge,
    ) -> Result<(), Error> {
        let own = self.quota_of(mount);
        let all = books.total();
        let here = books
            .totals
            .get(mount as usize)
            .copied()
            .unwrap_or_default();
        for (whose, quota, used) in [("mount", own, here), ("session", self.session, all)] {
            let exceeds = |what: &str, limit: u64| {
                let detail = format!("the {whose}'s limit of {limit} {what} would be exceeded");
                Error::refused(ErrorKind::Quota, detail).because(Reason::Quota)
            };
            if let Some(limit) = quota.file_bytes
                && len > limit
                && new.bytes > old.bytes
            {
                return Err(exceeds("bytes in a file", limit));
            }
            // A length that was asked for may be any number.
            let given_back = old.bytes.saturating_add(freed.bytes);
            let bytes = used.bytes.saturating_add(new.bytes);
            let bytes = bytes.saturating_sub(given_back);
            if let Some(limit) = quota.bytes
                && bytes > limit
                && new.bytes > given_back
            {
                return Err(exceeds("bytes", limit));
            }
            let inodes = (used.inodes + new.inodes).saturating_sub(old.inodes + freed.inodes);
            if let Some(limit) = quota.inodes
                && inodes > limit
                && new.inodes > old.inodes + freed.inodes
            {
                return Err(exceeds("files", limit));
            }
        }
        Ok(())
    }

    fn quota_of(&self, mount: u32) -> Quota {
        self.mounts.get(mount as usize).copied().unwrap_or_default()
    }

    /// Gives back what an object was charged: it is gone.
    pub(crate) fn refund(&self, key: Key) -> Result<(), Error> {
        if !self.counting {
            return Ok(());
        }
        let turn = self.turn()?;
        let mut books = turn.state();
        self.name_gone(&mut books, key, false)
    }

    /// An object lost a name: its last one, or one of several. What is open still takes space, and
    /// is given back when it is closed.
    fn name_gone(&self, books: &mut Books, key: Key, lives_on: bool) -> Result<(), Error> {
        if !lives_on && let Some(held) = self.all_held().get_mut(&key) {
            held.gone = true;
            return Ok(());
        }
        books.name_gone(key, lives_on)
    }

    fn all_held(&self) -> MutexGuard<'_, HashMap<Key, Reserved>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_held(&self, key: Key) -> bool {
        self.all_held().contains_key(&key)
    }

    /// Says that an object is open until the answer is dropped.
    pub(crate) fn hold(self: &Arc<Self>, key: Key) -> Option<Hold> {
        if !self.counting {
            return None;
        }
        self.all_held().entry(key).or_default().times += 1;
        let account = Arc::clone(self);
        Some(Hold { account, key })
    }

    fn release(&self, key: Key) {
        let mut all = self.all_held();
        let Some(held) = all.get_mut(&key) else {
            return;
        };
        held.times -= 1;
        if held.times > 0 {
            return;
        }
        let gone = held.gone;
        all.remove(&key);
        drop(all);
        if gone {
            // At worst the charge stays too high.
            drop(self.refund(key));
        }
    }

    /// Replaces all charges of a mount's overlay by what was found: bytes, and how many files.
    pub(crate) fn recount(&self, mount: u32, found: Vec<(Key, u64, u64)>) -> Result<(), Error> {
        let turn = self.turn()?;
        let mut books = turn.state();
        let found = found
            .into_iter()
            .map(|(key, len, inodes)| (key, (len, inodes)));
        let found: HashMap<Key, (u64, u64)> = found.collect();
        let mut stale: Vec<Key> = books
            .charges
            .keys()
            .filter(|key| key.mount == mount && !found.contains_key(key))
            .copied()
            .collect();
        stale.sort_unstable();
        for key in stale {
            self.name_gone(&mut books, key, false)?;
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable();
        for (key, (bytes, inodes)) in found {
            let charge = Charge {
                base: 0,
                bytes,
                inodes,
            };
            if books.charges.get(&key) != Some(&charge) {
                books.enter(BookEntry::Set(key, charge))?;
            }
        }
        Ok(())
    }

    /// A meter for a file that is open for writing. What it has before is not charged.
    pub(crate) fn meter(self: &Arc<Self>, key: Key, len: u64) -> Result<Option<FileMeter>, Error> {
        if !self.counting {
            return Ok(None);
        }
        let turn = self.turn()?;
        let mut books = turn.state();
        if !books.charges.contains_key(&key) {
            let charge = Charge {
                base: len,
                ..Charge::default()
            };
            books.enter(BookEntry::Set(key, charge))?;
        }
        Ok(Some(FileMeter {
            account: Arc::clone(self),
            key,
        }))
    }

    /// Takes one of the handles that may be open.
    pub(crate) fn ticket(self: &Arc<Self>, mount: u32) -> Result<Option<HandleTicket>, Error> {
        let Some(open) = self.handles.get(mount as usize) else {
            return Ok(None);
        };
        let mine = open.fetch_add(1, Ordering::SeqCst) + 1;
        let all: u64 = self
            .handles
            .iter()
            .map(|open| open.load(Ordering::SeqCst))
            .sum();
        let ticket = HandleTicket {
            account: Arc::clone(self),
            mount,
            held: None,
        };
        for (whose, limit, used) in [
            ("mount", self.quota_of(mount).handles, mine),
            ("session", self.session.handles, all),
        ] {
            if let Some(limit) = limit
                && used > limit
            {
                let detail =
                    format!("the {whose}'s limit of {limit} open handles would be exceeded");
                return Err(Error::refused(ErrorKind::Quota, detail).because(Reason::Quota));
            }
        }
        Ok(Some(ticket))
    }

    /// What a mount has used; of an overlay or a mount without a limit on bytes and files only
    /// handles are counted here.
    pub(crate) fn used(&self, mount: u32) -> Result<Used, Error> {
        let handles = self
            .handles
            .get(mount as usize)
            .map_or(0, |open| open.load(Ordering::SeqCst));
        let turn = self.turn()?;
        let books = turn.state();
        let used = books
            .totals
            .get(mount as usize)
            .copied()
            .unwrap_or_default();
        Ok(Used { handles, ..used })
    }
}
