//! Attacks that won once, by outsiders and by two callers of one session who work together.

mod handles;
mod s1;
mod s2;
mod s3;
mod s4;
mod s5;
mod s7;
mod s8;
mod scope;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use handfast::files::{At, Files, LastLink, Node};
use handfast::{Name, RelPath, RenameMode};
use handfast_session::Session;

use crate::support::Scratch;

/// Runs an attack over and over in a thread of its own for as long as something else is done, and
/// says how often it succeeded.
pub fn beside(attack: impl Fn() -> bool + Sync, act: impl FnOnce()) -> u64 {
    let stop = AtomicBool::new(false);
    let turns = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                if attack() {
                    turns.fetch_add(1, Ordering::Relaxed);
                }
                std::thread::yield_now();
            }
        });
        // Also if a check fails: otherwise the thread would never end.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = done {
            std::panic::resume_unwind(panic);
        }
    });
    turns.into_inner()
}

/// Exchanges two names of the base, as an outsider does.
pub fn exchange_outside(scratch: &Scratch, one: &str, other: &str) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let (one, other) = (scratch.at(one), scratch.at(other));
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

/// Exchanges two names, as another caller of the session does.
pub fn exchange_inside(session: &Session, one: &str, other: &str) -> bool {
    session.rename(one, other, RenameMode::Exchange).is_ok()
}

pub fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// The handle of a path.
pub fn node(files: &dyn Files, path: &str) -> Result<Node, handfast::Error> {
    files.node(&RelPath::parse(path)?, LastLink::Itself)
}

/// Renames by handles: two names of the top directory.
pub fn rename_at(
    files: &dyn Files,
    from: &str,
    to: &str,
    mode: RenameMode,
) -> Result<(), handfast::Error> {
    let top = files.top()?;
    let (from, to) = (name(from), name(to));
    files.rename_at(At::new(&top, &from), At::new(&top, &to), mode)
}
