//! Verbs on directories and trees.

use super::{Seen, Victim, clear, keep, nothing, victim};

pub(super) const VICTIMS: &[Victim] = &[
    victim("open-dir", None, keep, |root, names, _| {
        let dir = root.open_dir(&names.at("tree")?)?;
        Ok(Seen::object(dir.identity()))
    }),
    victim(
        "create-dir",
        None,
        |inside, _| clear(inside, "d"),
        |root, names, _| nothing(root.create_dir(&names.at("d")?)),
    )
    .creates("d"),
    victim(
        "create-dir-all",
        None,
        |inside, _| clear(inside, "e"),
        |root, names, _| nothing(root.create_dir_all(&names.at("e/x/y")?)),
    )
    .creates("e"),
    victim("read-dir", None, keep, |root, names, _| {
        let mut seen = Seen::default();
        let mut list = root.read_dir(&names.at("tree/sub")?)?;
        while let Some(entry) = list.next_entry()? {
            seen.text.extend_from_slice(entry.name().as_bytes());
        }
        Ok(seen)
    }),
    victim("walk", None, keep, |root, names, _| {
        let mut seen = Seen::default();
        let mut walk = root.walk(&names.at("tree")?)?;
        while let Some(entry) = walk.next_entry()? {
            seen.text.extend(entry.path());
        }
        Ok(seen)
    }),
    victim(
        "copy-tree",
        None,
        |inside, _| clear(inside, "t"),
        |root, names, _| nothing(root.copy_tree(&names.at("tree")?, &names.at("t")?)),
    )
    .looks_up(2)
    .creates("t"),
    victim("temp-dir", None, keep, |root, names, _| {
        nothing(root.temp_dir(&names.at("tree")?))
    }),
    victim("recover", None, keep, |root, names, _| {
        nothing(root.recover(&names.at("tree")?))
    }),
];
