//! Verbs that give and move names.

use handfast::RenameMode;

use super::{Victim, clear, nothing, victim, with_f};

pub(super) const VICTIMS: &[Victim] = &[
    victim("rename", Some("f"), with_f, |root, names, _| {
        let (from, to) = (names.at("f")?, names.at("renamed")?);
        nothing(root.rename(&from, &to, RenameMode::Replace))
    })
    .looks_up(2)
    .creates("renamed"),
    victim("exchange", None, with_f, |root, names, _| {
        let (one, other) = (names.at("f")?, names.at("data")?);
        nothing(root.rename(&one, &other, RenameMode::Exchange))
    })
    .looks_up(2),
    victim(
        "symlink",
        None,
        |inside, _| clear(inside, "l"),
        |root, names, _| nothing(root.symlink("data", &names.at("l")?)),
    )
    .creates("l"),
    victim(
        "hard-link",
        Some("data"),
        |inside, _| clear(inside, "h"),
        |root, names, _| nothing(root.hard_link(&names.at("data")?, &names.at("h")?)),
    )
    .looks_up(2)
    .creates("h"),
];
