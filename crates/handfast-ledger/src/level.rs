//! What an answered event has survived.

use std::fmt;

use serde::{Deserialize, Serialize};

/// When an event counts as recorded.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Once it is on the disk.
    Strict,
    /// Once the operating system has it; on the disk within 50 milliseconds. It survives the death
    /// of the process, and loses at most that window when the machine dies.
    #[default]
    Ordered,
    /// As `ordered` for whatever changes something. What changes nothing counts once it has its place in
    /// the writer's memory; the operating system has it before the next change, and within 50
    /// milliseconds. The death of the process loses at most the reads of that window.
    Buffered,
}

impl Level {
    /// The name, as it is in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Ordered => "ordered",
            Self::Buffered => "buffered",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
