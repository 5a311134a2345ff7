//! How far a tree operation goes before it gives up.

use std::time::{Duration, Instant};

use crate::error::{ErrorKind, Fault};

/// Limits of a tree operation. Beyond one of them it ends with `Limit`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TreeLimits {
    /// Directories below one another.
    pub depth: usize,
    /// Entries in all.
    pub entries: u64,
    /// Time in all.
    pub time: Option<Duration>,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self::new()
    }
}

impl TreeLimits {
    /// A million levels, a hundred million entries, as long as it takes.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            depth: 1_000_000,
            entries: 100_000_000,
            time: None,
        }
    }

    /// Sets how many directories may lie below one another.
    #[must_use]
    pub const fn with_depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    /// Sets how many entries there may be in all.
    #[must_use]
    pub const fn with_entries(mut self, entries: u64) -> Self {
        self.entries = entries;
        self
    }

    /// Sets how long it may take.
    #[must_use]
    pub const fn with_time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }
}

/// What is left of the limits.
pub(crate) struct Budget {
    depth: usize,
    entries: u64,
    deadline: Option<Instant>,
    until_clock: u32,
}

impl Budget {
    pub(crate) fn new(limits: TreeLimits) -> Self {
        Self {
            depth: limits.depth,
            entries: limits.entries,
            deadline: limits
                .time
                .and_then(|time| Instant::now().checked_add(time)),
            until_clock: 0,
        }
    }

    #[inline]
    pub(crate) fn spend_entry(&mut self) -> Result<(), Fault> {
        self.entries = self
            .entries
            .checked_sub(1)
            .ok_or_else(|| Fault::rule(ErrorKind::Limit, "too many entries"))?;
        let Some(deadline) = self.deadline else {
            return Ok(());
        };
        // The clock is asked now and then only: a directory that never ends is noticed soon enough.
        if self.until_clock == 0 {
            self.until_clock = 32;
            if Instant::now() > deadline {
                return Err(Fault::rule(ErrorKind::Limit, "it takes too long"));
            }
        }
        self.until_clock -= 1;
        Ok(())
    }

    pub(crate) fn check_depth(&self, depth: usize) -> Result<(), Fault> {
        if depth > self.depth {
            return Err(Fault::rule(ErrorKind::Limit, "the tree is too deep"));
        }
        Ok(())
    }
}
