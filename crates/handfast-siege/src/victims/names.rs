//! Verbs that give and move names.

use handfast::RenameMode;

use super::{Victim, clear, nothing, victim, with_f};

pub(super) const VICTIMS: &[Victim] = &[
    victim(
        "rename",
        Some("f"),
        |inside, number| {
            with_f(inside, number);
            clear(inside, "renamed");
        },
        |files, names, _| {
            let (from, to) = (names.at("f")?, names.at("renamed")?);
            nothing(files.rename(&from, &to, RenameMode::Replace))
        },
    )
    .looks_up(2)
    .creates("renamed")
    .common(),
    victim("exchange", None, with_f, |files, names, _| {
        let (one, other) = (names.at("f")?, names.at("data")?);
        nothing(files.rename(&one, &other, RenameMode::Exchange))
    })
    .looks_up(2),
    victim(
        "symlink",
        None,
        |inside, _| clear(inside, "l"),
        |files, names, _| nothing(files.symlink(b"data", &names.at("l")?)),
    )
    .creates("l"),
    victim(
        "hard-link",
        Some("data"),
        |inside, _| clear(inside, "h"),
        |files, names, _| nothing(files.hard_link(&names.at("data")?, &names.at("h")?)),
    )
    .looks_up(2)
    .creates("h"),
];
