//! What a session has used, charged before it is used.
//!
//! Charges are kept per object: how long it was before the session grew it, and by how much. They
//! are in a log that all processes of the session share, and everything that grows is done while
//! its lock is held; so nothing is counted twice or not at all, and whoever dies between charge
//! and effect leaves a charge that is too high, never too low.

mod books;
mod handle;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use handfast::{ErrorKind, Metadata, RelPath, Root};

use crate::error::{Error, Reason};
use crate::gate::{Gate, Locked};
use crate::log::{Log, News};
use crate::quota::Quota;
use books::{Books, Charge, Entry};
pub(crate) use handle::{FileMeter, HandleTicket};

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

/// What becomes of what stands under a name while something is made there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Making {
    /// Another object takes its place.
    Replaces,
    /// It is changed itself.
    InPlace,
}

/// The account of a session.
pub(crate) struct Account {
    gate: Gate<Books>,
    home: Option<Root>,
    session: Quota,
    mounts: Vec<Quota>,
    counting: bool,
    handles: Vec<AtomicU64>,
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
            records.push(Entry::Set(*key, *charge).write());
        }
        let mut pending: Vec<_> = books.pending.iter().collect();
        pending.sort_by_key(|(place, _)| (*place).clone());
        for ((mount, path), charge) in pending {
            records.push(Entry::Pending(*mount, path.clone(), *charge).write());
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
        let freed = freed.and_then(|key| books.charges.get(&key)).copied();
        let new = Charge {
            base: old.base,
            bytes: len.saturating_sub(old.base),
            inodes: old.inodes.max(u64::from(is_new)),
        };
        let freed = freed.unwrap_or_default();
        self.check(&books, key.mount, len, old, new, freed)?;
        books.enter(Entry::Set(key, new))
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
                Error::new(ErrorKind::Quota, detail).because(Reason::Quota)
            };
            if let Some(limit) = quota.file_bytes
                && len > limit
                && new.bytes > old.bytes
            {
                return Err(exceeds("bytes in a file", limit));
            }
            let bytes = (used.bytes + new.bytes).saturating_sub(old.bytes + freed.bytes);
            if let Some(limit) = quota.bytes
                && bytes > limit
                && new.bytes > old.bytes + freed.bytes
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
        if books.charges.contains_key(&key) {
            books.enter(Entry::Clear(key))?;
        }
        Ok(())
    }

    /// Replaces all charges of a mount's overlay by what was found.
    pub(crate) fn recount(&self, mount: u32, found: Vec<(Key, u64)>) -> Result<(), Error> {
        let turn = self.turn()?;
        let mut books = turn.state();
        let found: HashMap<Key, u64> = found.into_iter().collect();
        let mut stale: Vec<Key> = books
            .charges
            .keys()
            .filter(|key| key.mount == mount && !found.contains_key(key))
            .copied()
            .collect();
        stale.sort_unstable();
        for key in stale {
            books.enter(Entry::Clear(key))?;
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable();
        for (key, len) in found {
            let charge = Charge {
                base: 0,
                bytes: len,
                inodes: 1,
            };
            if books.charges.get(&key) != Some(&charge) {
                books.enter(Entry::Set(key, charge))?;
            }
        }
        Ok(())
    }

    /// Makes something under a path of a directory of the host: charged as pending, made, and then
    /// charged to the object it became. `len` is the length it will have, and `how` says what
    /// becomes of what stands there.
    pub(crate) fn around_making<T>(
        &self,
        root: &Root,
        mount: u32,
        path: &RelPath,
        (len, how): (u64, Making),
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.counting {
            return make();
        }
        let turn = self.turn()?;
        let old = root.symlink_metadata(path).ok();
        let old_key = old.as_ref().map(|old| Key::of(mount, old));
        // What is replaced and has other names lives on under them, with what it was charged.
        let lives_on =
            how == Making::Replaces && old.as_ref().is_some_and(Metadata::has_other_names);
        let place = path.as_bytes().to_vec();
        {
            let mut books = turn.state();
            let known = old_key.and_then(|key| books.charges.get(&key)).copied();
            let replaced = known.unwrap_or_default();
            let base = match (known, &old) {
                _ if lives_on => 0,
                (Some(known), _) => known.base,
                (None, Some(old)) if old.is_file() => old.len,
                _ => 0,
            };
            let is_new = old.is_none() || lives_on;
            let new = Charge {
                base,
                bytes: len.saturating_sub(base),
                inodes: if is_new { 1 } else { replaced.inodes },
            };
            if lives_on {
                let name = replaced.one_name();
                self.check(&books, mount, len, Charge::default(), new, name)?;
            } else {
                self.check(&books, mount, len, replaced, new, Charge::default())?;
            }
            books.enter(Entry::Pending(mount, place.clone(), new))?;
        }
        let made = make();
        let mut books = turn.state();
        match (&made, root.symlink_metadata(path)) {
            // Something may have been made although it was answered with an error.
            (_, Ok(now)) => {
                let key = Key::of(mount, &now);
                if let (Some(new), Ok(_)) = (books.pending.get(&(mount, place.clone())), &made) {
                    let mut charge = *new;
                    if now.is_file() {
                        charge.bytes = charge.bytes.max(now.len.saturating_sub(charge.base));
                    }
                    if let Some(old) = old_key.filter(|old| *old != key) {
                        books.name_gone(old, lives_on)?;
                    }
                    books.enter(Entry::Set(key, charge))?;
                }
            }
            (_, Err(_)) => {}
        }
        books.enter(Entry::Done(mount, place))?;
        made
    }

    /// Removes something under a path of a directory of the host, and gives back what it was
    /// charged, if that was its last name.
    pub(crate) fn around_removing<T>(
        &self,
        root: &Root,
        mount: u32,
        path: &RelPath,
        remove: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.counting {
            return remove();
        }
        let turn = self.turn()?;
        let old = root.symlink_metadata(path).ok();
        let removed = remove()?;
        if let Some(old) = old {
            let key = Key::of(mount, &old);
            // Renaming one name of a file over another does nothing.
            let now = root.symlink_metadata(path);
            if now.is_ok_and(|now| old.has_other_names() && Key::of(mount, &now) == key) {
                return Ok(removed);
            }
            turn.state().name_gone(key, old.has_other_names())?;
        }
        Ok(removed)
    }

    /// Gives a file another name, which counts as a file.
    pub(crate) fn around_linking(
        &self,
        root: &Root,
        mount: u32,
        source: &RelPath,
        link: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !self.counting {
            return link();
        }
        let turn = self.turn()?;
        let Ok(file) = root.symlink_metadata(source) else {
            return link();
        };
        let key = Key::of(mount, &file);
        let known = turn.state().charges.get(&key).copied();
        let old = known.unwrap_or(Charge {
            base: file.len,
            ..Charge::default()
        });
        let new = Charge {
            inodes: old.inodes + 1,
            ..old
        };
        {
            let mut books = turn.state();
            self.check(&books, mount, file.len, old, new, Charge::default())?;
            books.enter(Entry::Set(key, new))?;
        }
        link().inspect_err(|_| {
            // At worst the charge is too high.
            drop(turn.state().enter(match known {
                Some(known) => Entry::Set(key, known),
                None => Entry::Clear(key),
            }));
        })
    }

    /// Settles what somebody who died was about to make.
    pub(crate) fn settle_pending(&self, roots: &[(u32, Root)]) -> Result<(), Error> {
        if !self.counting {
            return Ok(());
        }
        let turn = self.turn()?;
        let mut books = turn.state();
        let mut pending: Vec<_> = books.pending.clone().into_iter().collect();
        pending.sort_by(|one, other| one.0.cmp(&other.0));
        for ((mount, path), charge) in pending {
            let Some((_, root)) = roots.iter().find(|(number, _)| *number == mount) else {
                continue;
            };
            let at = RelPath::parse_with(&path, &crate::overlay::WIDE)?;
            if let Ok(now) = root.symlink_metadata(&at) {
                let key = Key::of(mount, &now);
                let bytes = match now.is_file() {
                    true => now.len.saturating_sub(charge.base),
                    false => 0,
                };
                let known = books.charges.get(&key).copied().unwrap_or_default();
                let charge = Charge {
                    bytes: bytes.max(known.bytes),
                    inodes: charge.inodes.max(known.inodes),
                    ..charge
                };
                books.enter(Entry::Set(key, charge))?;
            }
            books.enter(Entry::Done(mount, path))?;
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
            books.enter(Entry::Set(key, charge))?;
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
                return Err(Error::new(ErrorKind::Quota, detail).because(Reason::Quota));
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
