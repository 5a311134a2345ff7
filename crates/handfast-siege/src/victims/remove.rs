//! Verbs that remove.

use handfast::RelPath;

use super::{Victim, nothing, victim, with_f};

pub(super) const VICTIMS: &[Victim] = &[
    victim("remove-file", Some("f"), with_f, |root, names, _| {
        nothing(root.remove_file(&names.at("f")?))
    }),
    victim(
        "remove-dir",
        None,
        |inside, _| {
            if let Ok(path) = RelPath::parse("empty") {
                drop(inside.create_dir(&path));
            }
        },
        |root, names, _| nothing(root.remove_dir(&names.at("empty")?)),
    ),
    victim(
        "remove-tree",
        None,
        |inside, _| {
            if let Ok(path) = RelPath::parse("gone/a/b") {
                drop(inside.create_dir_all(&path));
            }
        },
        |root, names, _| nothing(root.remove_tree(&names.at("gone")?)),
    ),
];
