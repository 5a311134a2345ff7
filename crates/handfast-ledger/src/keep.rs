//! How much of a log is kept, by a rule that the writer follows by itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::U64;

/// What a log keeps. Older events go as it grows, whole bundles of 256 at a time, and `retention.set`
/// says so; their hashes stay, so that proofs and checkpoints still hold.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<U64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seconds: Option<U64>,
}

impl Keep {
    /// Everything, for ever.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// At most so many bytes on the disk, as `du` counts them. The hashes of all events are among
    /// them, 32 bytes each, and never go.
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(U64(bytes));
        self
    }

    /// Events of at most this age, by the wall clock.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        self.seconds = Some(U64(time.as_secs()));
        self
    }

    pub(crate) fn is_everything(self) -> bool {
        self == Self::default()
    }

    /// The rule, as it is in `retention.set`.
    pub(crate) fn words(self) -> String {
        let bytes = self.bytes.map(|bytes| format!("{} bytes", bytes.0));
        let time = self.seconds.map(|seconds| format!("{} seconds", seconds.0));
        let both: Vec<_> = bytes.into_iter().chain(time).collect();
        format!("at most {} are kept", both.join(" and "))
    }
}
