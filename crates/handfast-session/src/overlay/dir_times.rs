//! Times of directories.
//!
//! A time that a program sets is kept in the journal. The time at which a directory changed last is
//! known to a process that has seen the change; from then on it is what others see too.

use std::time::SystemTime;

use handfast::{Metadata, Timestamp};

use super::tree::{DirNode, Tree};
use crate::codec::{Reader, Writer, unknown};
use crate::error::Error;

/// Times that a program gave a directory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct DirTimes {
    pub(crate) accessed: Option<Timestamp>,
    pub(crate) modified: Option<Timestamp>,
}

/// A time that is not part of what a tree says: two trees with the same changes are equal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment(pub(crate) Option<Timestamp>);

impl PartialEq for Moment {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Moment {}

impl Tree {
    /// Changes are made now.
    pub(super) fn set_clock(&mut self, now: SystemTime) {
        self.clock = Moment(Some(now.into()));
    }
}

impl DirNode {
    /// The directory has been changed.
    pub(super) fn touch(&mut self, clock: Moment) {
        self.touched = clock;
    }

    /// A program sets times.
    pub(super) fn set_times(&mut self, times: DirTimes) {
        let old = self.times;
        self.times = Some(DirTimes {
            accessed: times.accessed.or(old.and_then(|old| old.accessed)),
            modified: times.modified.or(old.and_then(|old| old.modified)),
        });
        if times.modified.is_some() {
            self.touched = Moment(None);
        }
    }

    /// The times that a program sees.
    pub(super) fn seen_times(&self) -> DirTimes {
        DirTimes {
            accessed: self.times.and_then(|times| times.accessed),
            modified: (self.touched.0).or(self.times.and_then(|times| times.modified)),
        }
    }
}

impl DirTimes {
    /// As bytes of a record.
    pub(super) fn write(self, out: &mut Writer) {
        for time in [self.accessed, self.modified] {
            out.option(time, |out, time| {
                out.number(time.seconds.cast_unsigned());
                out.number(time.nanoseconds.into());
            });
        }
    }

    pub(super) fn read(input: &mut Reader<'_>) -> Result<Self, Error> {
        let time = |input: &mut Reader<'_>| {
            input.option(|input| {
                let seconds = input.number()?.cast_signed();
                let nanoseconds = u32::try_from(input.number()?).map_err(|_| unknown())?;
                Ok(Timestamp {
                    seconds,
                    nanoseconds,
                })
            })
        };
        Ok(Self {
            accessed: time(input)?,
            modified: time(input)?,
        })
    }

    pub(super) fn put_into(self, status: &mut Metadata) {
        if let Some(accessed) = self.accessed {
            status.accessed = accessed;
        }
        if let Some(modified) = self.modified {
            status.modified = modified;
            status.changed = status.changed.max(modified);
        }
    }
}
