//! Private directories and small logs.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "every test file uses some of it"
)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use handfast_ledger::note::VerifierKey;
use handfast_ledger::{
    CreateOptions, Ledger, Level, LogReader, OpenOptions, Report, VerifyOptions, verify,
};

/// A private directory, removed when dropped.
pub struct Scratch {
    pub path: PathBuf,
}

impl Scratch {
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let name = format!(
            "handfast-ledger-{}-{}-{:x}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed),
            now.as_nanos()
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self { path }
    }

    pub fn log(&self) -> PathBuf {
        self.path.join("log")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.path));
    }
}

/// Bytes of an event that says nothing but its number.
pub fn leaf(number: u64) -> Vec<u8> {
    format!(
        "{{\"v\":1,\"type\":\"read\",\"phase\":\"single\",\"t_wall\":\"2026-01-01T00:00:00.000000000Z\",\"t_mono_ns\":\"{number}\"}}"
    )
    .into_bytes()
}

pub fn create(dir: &Path, level: Level) -> VerifierKey {
    CreateOptions::new().level(level).create(dir).unwrap()
}

pub fn open(dir: &Path) -> Ledger {
    Ledger::open(dir, OpenOptions::new()).unwrap()
}

/// A log of exactly so many events, closed.
pub fn log_of(dir: &Path, level: Level, size: u64) -> VerifierKey {
    let key = create(dir, level);
    let ledger = open(dir);
    fill(&ledger, size);
    ledger.close().unwrap();
    key
}

/// Appends up to a size, in groups.
pub fn fill(ledger: &Ledger, size: u64) {
    while ledger.size() < size {
        let first = ledger.size();
        let leaves: Vec<_> = (first..size.min(first + 500)).map(leaf).collect();
        let _receipt = ledger.append_leaves(&leaves).unwrap();
    }
}

pub fn check(dir: &Path) -> Report {
    check_with(dir, &VerifyOptions::new())
}

pub fn check_with(dir: &Path, options: &VerifyOptions) -> Report {
    verify(&LogReader::open(dir).unwrap(), options).unwrap()
}

pub fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
