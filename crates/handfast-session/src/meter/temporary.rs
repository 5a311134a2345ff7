//! What files are charged that nobody sees: until they are closed, or become something else.

use std::sync::Arc;

use super::books::{BookEntry, Charge};
use super::{Account, FileMeter, Key};
use crate::error::Error;

impl Account {
    /// Charges a file that was just made and goes when it is closed. Nothing where nothing is
    /// counted.
    pub(crate) fn temporary(self: &Arc<Self>, key: Key) -> Result<Option<Temporary>, Error> {
        if !self.is_counting() {
            return Ok(None);
        }
        let turn = self.turn()?;
        if turn.state().charges.contains_key(&key) {
            // Of a file that had this number before.
            turn.state().enter(BookEntry::Clear(key))?;
        }
        self.charge_in(&turn, key, 0, true, None)?;
        Ok(Some(Temporary {
            meter: FileMeter {
                account: Arc::clone(self),
                key,
            },
        }))
    }
}

/// The charge of a temporary file; dropping it gives it back.
pub(crate) struct Temporary {
    meter: FileMeter,
}

impl Temporary {
    /// Charges growth.
    pub(crate) fn meter(&self) -> &FileMeter {
        &self.meter
    }

    /// Gives the charge back until the answer is dropped: the content is charged to what it
    /// becomes.
    pub(crate) fn lift(&self) -> Result<Lifted<'_>, Error> {
        let FileMeter { account, key } = &self.meter;
        let turn = account.turn()?;
        let charge = turn.state().charges.get(key).copied().unwrap_or_default();
        turn.state().enter(BookEntry::Clear(*key))?;
        Ok(Lifted {
            temporary: self,
            charge,
        })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // At worst the charge stays too high.
        drop(self.meter.account.refund(self.meter.key));
    }
}

/// A charge that was given back for a moment.
pub(crate) struct Lifted<'t> {
    temporary: &'t Temporary,
    charge: Charge,
}

impl Drop for Lifted<'_> {
    fn drop(&mut self) {
        let FileMeter { account, key } = &self.temporary.meter;
        if let Ok(turn) = account.turn() {
            // Without asking whether there is room: the content is there.
            drop(turn.state().enter(BookEntry::Set(*key, self.charge)));
        }
    }
}
