//! Verbs that remove.

use handfast::files::WhatToRemove;
use handfast::{RelPath, TreeLimits};

use super::{Victim, nothing, victim, with_f};

pub(super) const VICTIMS: &[Victim] = &[
    victim("remove-file", Some("f"), with_f, |files, names, _| {
        nothing(files.remove(&names.at("f")?, WhatToRemove::File))
    })
    .common(),
    victim(
        "remove-dir",
        None,
        |inside, _| {
            if let Ok(path) = RelPath::parse("empty") {
                drop(inside.create_dir(&path));
            }
        },
        |files, names, _| nothing(files.remove(&names.at("empty")?, WhatToRemove::Dir)),
    ),
    victim(
        "remove-tree",
        None,
        |inside, _| {
            if let Ok(path) = RelPath::parse("gone/a/b") {
                drop(inside.create_dir_all(&path));
            }
        },
        |files, names, _| nothing(files.remove_tree(&names.at("gone")?, TreeLimits::new())),
    )
    .on_root(|root, names, _| nothing(root.remove_tree(&names.at("gone")?))),
];
