//! Charges as they are written down: what each object was charged, and what is about to be made.

use std::collections::HashMap;

use super::{Key, Used};
use crate::codec::{Reader, Writer, unknown};
use crate::error::Error;
use crate::log::Log;

/// What an object was charged.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Charge {
    /// Its length before the session.
    pub(super) base: u64,
    /// What it grew by.
    pub(super) bytes: u64,
    /// How many of its names the session made.
    pub(super) inodes: u64,
}

impl Charge {
    /// What one of its names was charged.
    pub(super) fn one_name(self) -> Self {
        Self {
            inodes: self.inodes.min(1),
            ..Self::default()
        }
    }
}

/// One line of the books.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum BookEntry {
    Set(Key, Charge),
    Clear(Key),
    /// Something is about to be made under a path; which object it will be is not known yet.
    Pending(u32, Vec<u8>, Charge),
    Done(u32, Vec<u8>),
}

/// The books of a session, as this process knows them.
#[derive(Default)]
pub(super) struct Books {
    pub(super) log: Option<Log>,
    pub(super) charges: HashMap<Key, Charge>,
    pub(super) pending: HashMap<(u32, Vec<u8>), Charge>,
    pub(super) totals: Vec<Used>,
}

impl Books {
    pub(super) fn catch_up(&mut self) -> Result<(), Error> {
        let Some(mut log) = self.log.take() else {
            return Ok(());
        };
        let read = log.catch_up(true, |bytes| {
            self.apply(BookEntry::read(bytes)?);
            Ok(())
        });
        self.log = Some(log);
        read
    }

    /// An object lost a name: its last one, or one of several.
    pub(super) fn name_gone(&mut self, key: Key, lives_on: bool) -> Result<(), Error> {
        match self.charges.get(&key).copied() {
            None => Ok(()),
            Some(charge) if lives_on => {
                let inodes = charge.inodes - charge.one_name().inodes;
                self.enter(BookEntry::Set(key, Charge { inodes, ..charge }))
            }
            Some(_) => self.enter(BookEntry::Clear(key)),
        }
    }

    /// Writes an entry down, then does it.
    pub(super) fn enter(&mut self, entry: BookEntry) -> Result<(), Error> {
        if let Some(log) = &mut self.log {
            log.append(&entry.write())?;
        }
        self.apply(entry);
        Ok(())
    }

    fn apply(&mut self, entry: BookEntry) {
        let (mount, old, new) = match entry {
            BookEntry::Set(key, charge) => (key.mount, self.charges.insert(key, charge), charge),
            BookEntry::Clear(key) => (key.mount, self.charges.remove(&key), Charge::default()),
            BookEntry::Pending(mount, path, charge) => {
                let old = self.pending.insert((mount, path), charge);
                (mount, old, charge)
            }
            BookEntry::Done(mount, path) => {
                let old = self.pending.remove(&(mount, path));
                (mount, old, Charge::default())
            }
        };
        let old = old.unwrap_or_default();
        if let Some(total) = self.totals.get_mut(mount as usize) {
            total.bytes = total
                .bytes
                .saturating_add(new.bytes)
                .saturating_sub(old.bytes);
            total.inodes = (total.inodes + new.inodes).saturating_sub(old.inodes);
        }
    }

    pub(super) fn total(&self) -> Used {
        self.totals.iter().fold(Used::default(), |sum, used| Used {
            bytes: sum.bytes.saturating_add(used.bytes),
            inodes: sum.inodes + used.inodes,
            handles: 0,
        })
    }
}

impl BookEntry {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Writer::default();
        let charge = |out: &mut Writer, charge: &Charge| {
            out.number(charge.base);
            out.number(charge.bytes);
            out.number(charge.inodes);
        };
        let key = |out: &mut Writer, key: &Key| {
            out.number(key.mount.into());
            out.number(key.device);
            out.number(key.number);
        };
        match self {
            Self::Set(whose, what) => {
                out.byte(1);
                key(&mut out, whose);
                charge(&mut out, what);
            }
            Self::Clear(whose) => {
                out.byte(2);
                key(&mut out, whose);
            }
            Self::Pending(mount, path, what) => {
                out.byte(3);
                out.number((*mount).into());
                out.text(path);
                charge(&mut out, what);
            }
            Self::Done(mount, path) => {
                out.byte(4);
                out.number((*mount).into());
                out.text(path);
            }
        }
        out.bytes
    }

    fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new(bytes);
        let mount = |input: &mut Reader<'_>| u32::try_from(input.number()?).map_err(|_| unknown());
        let charge = |input: &mut Reader<'_>| {
            Ok::<_, Error>(Charge {
                base: input.number()?,
                bytes: input.number()?,
                inodes: input.number()?,
            })
        };
        let key = |input: &mut Reader<'_>| {
            Ok::<_, Error>(Key {
                mount: mount(input)?,
                device: input.number()?,
                number: input.number()?,
            })
        };
        Ok(match input.byte()? {
            1 => Self::Set(key(&mut input)?, charge(&mut input)?),
            2 => Self::Clear(key(&mut input)?),
            3 => Self::Pending(
                mount(&mut input)?,
                input.text()?.to_vec(),
                charge(&mut input)?,
            ),
            4 => Self::Done(mount(&mut input)?, input.text()?.to_vec()),
            _ => return Err(unknown()),
        })
    }
}
