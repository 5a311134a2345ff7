//! How much an archive may ask for.

use std::time::{Duration, Instant};

use crate::refusal::Rule;
use crate::stop::{Stop, refuse};

/// What a bomb runs into. [`Limits::new`] is strict enough for strangers.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Members, those that are left out included; and names in the new tree, directories that only a
    /// longer name implies included.
    pub entries: u64,
    /// Bytes of content in all.
    pub bytes: u64,
    /// Bytes of one file.
    pub file_size: u64,
    /// Unpacked bytes for each packed one, after the first MiB.
    pub ratio: u64,
    /// Bytes of names and link targets in all; and bytes of the paths in the new tree.
    pub name_bytes: u64,
    /// Bytes of extension headers before one member.
    pub extension_bytes: u64,
    /// Bytes of a name.
    pub path: usize,
    /// Bytes of one segment of a name.
    pub segment: usize,
    /// Segments of a name.
    pub depth: usize,
    /// Bytes of a decoder's window.
    pub window: u64,
    /// Time for all of it.
    pub time: Option<Duration>,
}

impl Limits {
    /// 100,000 members, 1 GiB in all, 512 MiB a file, 200:1, 16 MiB of names, 1 MiB of extension headers,
    /// names of 4096 bytes with 128 segments of 255, a window of 128 MiB, ten minutes.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: 100_000,
            bytes: 1 << 30,
            file_size: 512 << 20,
            ratio: 200,
            name_bytes: 16 << 20,
            extension_bytes: 1 << 20,
            path: 4096,
            segment: 255,
            depth: 128,
            window: 128 << 20,
            time: Some(Duration::from_secs(600)),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}

/// What was used of the limits.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) limits: Limits,
    started: Instant,
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
    names: u64,
}

/// What is unpacked before the ratio counts.
const RATIO_FROM: u64 = 1 << 20;

impl Meter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            started: Instant::now(),
            entries: 0,
            bytes: 0,
            names: 0,
        }
    }

    /// One more member, with what its header promises.
    pub(crate) fn member(&mut self, names: usize, size: u64) -> Result<(), Stop> {
        self.entries += 1;
        self.names = self.names.saturating_add(names as u64);
        if self.entries > self.limits.entries {
            return refuse(Rule::Entries, "more members than allowed");
        }
        if self.names > self.limits.name_bytes {
            return refuse(Rule::NameBytes, "more bytes of names than allowed");
        }
        if size > self.limits.file_size {
            return refuse(Rule::FileSize, "a file is larger than allowed");
        }
        if self.bytes.saturating_add(size) > self.limits.bytes {
            return refuse(Rule::Bytes, "more bytes in all than allowed");
        }
        self.time()
    }

    /// The tree that the members make so far.
    pub(crate) fn tree(&self, (names, bytes): (u64, u64)) -> Result<(), Stop> {
        if names > self.limits.entries {
            return refuse(Rule::Entries, "more members and directories than allowed");
        }
        if bytes > self.limits.name_bytes {
            return refuse(Rule::NameBytes, "more bytes of names than allowed");
        }
        Ok(())
    }

    /// Content that really came out.
    pub(crate) fn content(&mut self, bytes: usize) -> Result<(), Stop> {
        self.bytes += bytes as u64;
        if self.bytes > self.limits.bytes {
            return refuse(Rule::Bytes, "more bytes in all than allowed");
        }
        self.time()
    }

    pub(crate) fn time(&self) -> Result<(), Stop> {
        match self.limits.time {
            Some(time) if self.started.elapsed() > time => {
                refuse(Rule::Time, "it takes longer than allowed")
            }
            _ => Ok(()),
        }
    }
}

impl Limits {
    /// Whether so much may come out of so little.
    pub(crate) fn check_ratio(&self, packed: u64, unpacked: u64) -> Result<(), Stop> {
        if unpacked > RATIO_FROM && unpacked > packed.max(1).saturating_mul(self.ratio) {
            return refuse(
                Rule::Ratio,
                "unpacking gives more for less than allowed: this looks like a bomb",
            );
        }
        Ok(())
    }
}
