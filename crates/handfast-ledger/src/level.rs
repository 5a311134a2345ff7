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
}

impl Level {
    /// The name, as it is in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Ordered => "ordered",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
