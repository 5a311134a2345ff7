//! Naive code, which must escape.

use crate::support::turns::Turns;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Runs until something escapes, at most five seconds; on a busy machine three times that.
pub(crate) fn control(what: &str, mut escapes: impl FnMut(u64) -> bool) {
    let turns = Turns::start();
    let begun = Instant::now();
    let mut attempts = 0;
    let patience = || if turns.is_busy() { 15 } else { 5 };
    let mut limit = 5;
    while begun.elapsed() < Duration::from_secs(limit) {
        attempts += 1;
        if escapes(attempts) {
            println!("control {what}: escaped after {attempts} attempts");
            return;
        }
        if begun.elapsed() >= Duration::from_secs(limit) {
            limit = patience();
        }
    }
    turns.settle(
        &format!("control {what}"),
        &format!("no escape in {attempts} attempts; the attack proves nothing"),
    );
}

/// The check that everybody writes first.
pub(crate) fn naive_check(root: &Path, path: &Path) -> Option<PathBuf> {
    let real = path.parent()?.canonicalize().ok()?;
    real.starts_with(root.canonicalize().ok()?)
        .then(|| real.join(path.file_name().unwrap()))?;
    lose_the_core();
    Some(path.to_owned())
}

/// A program may lose its core between check and use at any time; where attacker and victim share
/// one, it has to. A short sleep gives it away for certain, a yield only perhaps.
pub(crate) fn lose_the_core() {
    static TURN: AtomicU64 = AtomicU64::new(0);
    if TURN.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
        std::thread::yield_now();
    } else {
        std::thread::sleep(Duration::from_micros(30));
    }
}
