//! What one mount may write through the adapter, and how large an answer may be.
//!
//! These are Monty's own limits, counted for as long as the adapter lives. Limits on space, files
//! and handles that last beyond it are the session's ([`handfast_session::Quota`]).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::CallError;

/// How much an answer may hold, where nothing else is said; as Monty's own default.
pub const DEFAULT_MEMORY_LIMIT: u64 = 50_000_000;

/// What a listed name costs of the memory limit, beside its own bytes.
pub(crate) const LISTED_NAME: u64 = 128;

/// Limits of one mount.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct MountLimits {
    /// Bytes that may be written in all; replacing and removing give nothing back.
    pub write_bytes: Option<u64>,
    /// Bytes that one answer may hold: content that is read, names that are listed.
    pub memory: u64,
}

impl Default for MountLimits {
    fn default() -> Self {
        Self {
            write_bytes: None,
            memory: DEFAULT_MEMORY_LIMIT,
        }
    }
}

impl MountLimits {
    /// No limit on writing, [`DEFAULT_MEMORY_LIMIT`] for answers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits what is written in all.
    #[must_use]
    pub fn with_write_bytes(mut self, bytes: u64) -> Self {
        self.write_bytes = Some(bytes);
        self
    }

    /// Limits what one answer may hold.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }
}

/// Bytes written through one mount so far.
#[derive(Debug, Default)]
pub(crate) struct WrittenBytes(AtomicU64);

impl WrittenBytes {
    /// Charges bytes before they are written; two threads cannot both have the last one.
    pub(crate) fn charge(&self, limits: &MountLimits, bytes: usize) -> Result<u64, CallError> {
        let Some(limit) = limits.write_bytes else {
            return Ok(0);
        };
        let bytes = bytes as u64;
        let add = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= limit);
        match self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
        {
            Ok(_) => Ok(bytes),
            Err(_) => Err(CallError::WriteLimit(limit)),
        }
    }

    /// Gives back what was charged for a write that failed.
    pub(crate) fn refund(&self, bytes: u64) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Memory that one answer holds.
#[derive(Debug)]
pub(crate) struct AnswerBudget {
    used: u64,
    limit: u64,
}

impl AnswerBudget {
    pub(crate) fn new(limit: u64) -> Self {
        Self { used: 0, limit }
    }

    pub(crate) fn charge(&mut self, bytes: u64) -> Result<(), CallError> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.limit {
            return Err(CallError::MemoryLimit(self.limit));
        }
        Ok(())
    }

    pub(crate) fn charge_name(&mut self, len: usize) -> Result<(), CallError> {
        self.charge(LISTED_NAME.saturating_add(len as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_charged_is_never_beyond_the_limit() {
        let limits = MountLimits::new().with_write_bytes(100);
        let written = WrittenBytes::default();
        let granted: u64 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        (0..50)
                            .map(|_| written.charge(&limits, 1).unwrap_or(0))
                            .sum::<u64>()
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|one| one.join().expect("no panic"))
                .sum()
        });
        assert_eq!(granted, 100);
        written.refund(1);
        assert!(written.charge(&limits, 1).is_ok());
        assert!(written.charge(&limits, 1).is_err());
    }
}
