//! Verbs that act only on the version that was seen.

use super::{Victim, fast, nothing, victim, with_f};

pub(super) const VICTIMS: &[Victim] = &[
    victim("write-if", Some("f"), with_f, |root, names, _| {
        let path = names.at("f")?;
        let version = root.version(&path)?;
        nothing(root.write_if_with(&path, &version, "inside", fast()))
    })
    .looks_up(2),
    victim("remove-if", Some("f"), with_f, |root, names, _| {
        let path = names.at("f")?;
        let version = root.version(&path)?;
        nothing(root.remove_if(&path, &version))
    })
    .looks_up(2),
];
