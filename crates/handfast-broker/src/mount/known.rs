//! Which pages the kernel may have of a mount, and how it is made to forget them.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use handfast::Metadata;

/// Where the mount's own numbers begin. An object has the number that is made for it here, unless
/// the kernel still knows another object by that number; so many of those are taken into account.
const OWN_NUMBERS: u64 = 1 << 48;
const MAX_OWN: u64 = 4096;

/// With more numbers than this the kernel is made to forget before the lease ends: a program that
/// reads file after file shall not make the list longer and longer.
const MAX_KNOWN: usize = 500_000;

/// `FUSE_NOTIFY_INVAL_INODE`.
const INVALIDATE: i32 = 2;

/// The header of a message to the kernel, and what it has to forget: number, offset, length.
const MESSAGE: usize = 16 + 24;

/// The objects of which the kernel was given pages, by its numbers for them.
#[derive(Debug, Default)]
pub(super) struct KnownPages {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    numbers: HashSet<u64>,
    /// The filesystems behind the mount: each has inodes of its own.
    devices: Vec<u64>,
}

impl KnownPages {
    fn hold(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the inode of an object a number that no object of another filesystem has.
    pub(super) fn number(&self, found: &mut Metadata) {
        let mut inner = self.hold();
        let device = found.identity.device;
        let known = inner.devices.iter().position(|known| *known == device);
        let place = known.unwrap_or_else(|| {
            inner.devices.push(device);
            inner.devices.len() - 1
        });
        found.identity.inode ^= (place as u64) << 56;
    }

    /// The kernel is given pages of an object. Whether it knows so many that it has to forget some.
    pub(super) fn given(&self, number: u64) -> bool {
        let mut inner = self.hold();
        inner.numbers.insert(number) && inner.numbers.len() >= MAX_KNOWN
    }

    /// Makes the kernel forget the pages and facts of every object. Gives how many it was told of.
    pub(super) fn forget(&self, device: &OwnedFd) -> usize {
        let numbers = std::mem::take(&mut self.hold().numbers);
        for number in numbers
            .iter()
            .copied()
            .chain(OWN_NUMBERS..OWN_NUMBERS + MAX_OWN)
        {
            // `ENOENT` for what it has forgotten by itself, and for all once the mount is gone.
            let _unknown = rustix::io::write(device, &message(number));
        }
        numbers.len()
    }
}

/// Forget all pages of an object, and its facts. A notice has no request, so its unique number is 0 and
/// its kind is where an answer has its error.
fn message(number: u64) -> [u8; MESSAGE] {
    let mut bytes = [0; MESSAGE];
    let length = u32::try_from(MESSAGE).unwrap_or_default();
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    bytes[4..8].copy_from_slice(&INVALIDATE.to_ne_bytes());
    bytes[16..24].copy_from_slice(&number.to_ne_bytes());
    bytes
}
