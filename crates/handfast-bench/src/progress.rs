//! One line on the terminal, for a person who waits.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Nobody needs to be told about anything shorter.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(100);

/// Tells on stderr how far the run is, if that is a terminal and the run takes its time.
#[derive(Debug)]
pub struct Progress {
    started: Option<Instant>,
    told: Option<Instant>,
    place: String,
    position: (usize, usize),
}

impl Progress {
    /// Tells, if somebody looks.
    #[must_use]
    pub fn new() -> Self {
        Self {
            started: std::io::stderr().is_terminal().then(Instant::now),
            ..Self::silent()
        }
    }

    /// Tells nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self {
            started: None,
            told: None,
            place: String::new(),
            position: (0, 0),
        }
    }

    /// Goes on to a row: `index` of `rows` in a place.
    pub fn at(&mut self, place: &str, index: usize, rows: usize) {
        place.clone_into(&mut self.place);
        self.position = (index + 1, rows);
    }

    /// Tells which round it is.
    pub fn tell(&mut self, row: &str, round: usize, rounds: usize) {
        let Some(started) = self.started else {
            return;
        };
        let now = Instant::now();
        if now - started < PATIENCE || self.told.is_some_and(|told| now - told < PAUSE) {
            return;
        }
        self.told = Some(now);
        let (index, rows) = self.position;
        let line = format!(
            "\r\x1b[K{}: row {index} of {rows}, {row}, round {} of {rounds}",
            self.place,
            round + 1
        );
        self.put(&line);
    }

    /// Takes the line away.
    pub fn done(&mut self) {
        if self.told.take().is_some() {
            self.put("\r\x1b[K");
        }
    }

    fn put(&self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        // A caller that closed stderr does not want to know.
        drop(stderr.write_all(text.as_bytes()));
        drop(stderr.flush());
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}
