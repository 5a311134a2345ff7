//! Verbs that act only on the version that was seen.

use handfast::files::{Put, WhatToRemove};

use super::{Victim, fast, nothing, victim, with_f};

pub(super) const VICTIMS: &[Victim] = &[
    victim("write-if", Some("f"), with_f, |files, names, _| {
        let path = names.at("f")?;
        let version = files.version(&path, false)?;
        nothing(files.put(&path, b"inside", Put::If(&version), fast()))
    })
    .looks_up(2)
    .common(),
    victim("remove-if", Some("f"), with_f, |files, names, _| {
        let path = names.at("f")?;
        let version = files.version(&path, false)?;
        nothing(files.remove(&path, WhatToRemove::FileIf(&version)))
    })
    .looks_up(2),
];
