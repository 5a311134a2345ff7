//! How far it is, on a terminal's standard error, for work that takes longer than a second.

use std::io::{IsTerminal as _, Write as _};
use std::time::Instant;

/// One line that is written over and over.
pub(crate) struct Progress {
    begun: Instant,
    last: Instant,
    silent: bool,
    told: bool,
}

impl Progress {
    pub(crate) fn new(silent: bool) -> Self {
        let now = Instant::now();
        Self {
            begun: now,
            last: now,
            silent: silent || !std::io::stderr().is_terminal(),
            told: false,
        }
    }

    /// Says how far it is, if the last time is a while ago.
    pub(crate) fn tell(&mut self, words: impl FnOnce() -> String) {
        if self.silent {
            return;
        }
        let late = self.begun.elapsed().as_secs() >= 1 && self.last.elapsed().as_millis() >= 200;
        if !late {
            return;
        }
        self.last = Instant::now();
        self.told = true;
        // Nobody may be listening; the exit code says how it ended.
        drop(write!(std::io::stderr().lock(), "\r{}", words()));
    }

    /// Ends the line.
    pub(crate) fn end(&self) {
        if self.told {
            drop(writeln!(std::io::stderr().lock()));
        }
    }
}
