//! What open handles are charged.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::books::Books;
use super::{Account, Key};
use crate::gate::Locked;

/// Charges the growth of one open file.
pub(crate) struct FileMeter {
    pub(super) account: Arc<Account>,
    pub(super) key: Key,
}

impl FileMeter {
    /// Lets something happen after which the file is `end` bytes long, or longer if it was.
    pub(crate) fn grow_to<T>(
        &self,
        file: impl AsFd + Copy,
        end: u64,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        // No file is longer: the system refuses it, but only after it was charged.
        let end = end.min(i64::MAX.cast_unsigned());
        let turn = self.account.turn().map_err(io::Error::from)?;
        let now = length(file)?;
        self.charge(&turn, end.max(now))?;
        let done = act();
        // A file that became shorter gives back what it grew.
        let left = length(file)?;
        if left < end.max(now) {
            self.charge(&turn, left)?;
        }
        done
    }

    /// Lets something be added to the end.
    pub(crate) fn append<T>(
        &self,
        file: impl AsFd + Copy,
        more: u64,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let turn = self.account.turn().map_err(io::Error::from)?;
        let end = length(file)?.saturating_add(more);
        self.charge(&turn, end)?;
        act()
    }

    fn charge(&self, turn: &Locked<'_, Books>, len: u64) -> io::Result<()> {
        self.account
            .charge_in(turn, self.key, len, false, None)
            .map_err(io::Error::from)
    }
}

fn length(file: impl AsFd) -> io::Result<u64> {
    Ok(u64::try_from(rustix::fs::fstat(file)?.st_size).unwrap_or(0))
}

/// One open handle; dropping it gives it back.
pub(crate) struct HandleTicket {
    pub(super) account: Arc<Account>,
    pub(super) mount: u32,
    pub(super) held: Option<Hold>,
}

impl HandleTicket {
    /// For as long as the handle is open, so is the object.
    pub(crate) fn hold(&mut self, hold: Option<Hold>) {
        self.held = hold;
    }
}

/// An object that is open: what it was charged is not given back before it is closed.
pub(crate) struct Hold {
    pub(super) account: Arc<Account>,
    pub(super) key: Key,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.account.release(self.key);
    }
}

impl Drop for HandleTicket {
    fn drop(&mut self) {
        if let Some(open) = self.account.handles.get(self.mount as usize) {
            open.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
