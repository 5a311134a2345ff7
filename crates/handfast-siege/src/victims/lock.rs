//! Verbs that lock.

use std::time::Duration;

use handfast::LockKind;

use super::{Returned, Victim, keep};

pub(super) const VICTIMS: &[Victim] = &[
    Victim::of_root("lock", Some("lock"), keep, |root, names, _| {
        let guard = root.lock(&names.at("lock")?, LockKind::Exclusive, Duration::ZERO)?;
        Ok(Returned::object(guard.identity()))
    })
    .creates("lock"),
    Victim::of_root("lock-dir", None, keep, |root, names, _| {
        let guard = root.lock_dir(&names.at("tree")?, LockKind::Exclusive, Duration::ZERO)?;
        Ok(Returned::object(guard.identity()))
    }),
];
