//! Verbs on directories and trees.

use handfast::TreeLimits;

use super::{Returned, Victim, clear, keep, nothing, victim};

pub(super) const VICTIMS: &[Victim] = &[
    Victim::of_root("open-dir", None, keep, |root, names, _| {
        let dir = root.open_dir(&names.at("tree")?)?;
        Ok(Returned::object(dir.identity()))
    }),
    victim(
        "create-dir",
        None,
        |inside, _| clear(inside, "d"),
        |files, names, _| nothing(files.create_dir(&names.at("d")?, 0o777)),
    )
    .creates("d")
    .common(),
    victim(
        "create-dir-all",
        None,
        |inside, _| clear(inside, "e"),
        |files, names, _| nothing(files.create_dir_all(&names.at("e/x/y")?, 0o777)),
    )
    .creates("e"),
    victim("read-dir", None, keep, |files, names, _| {
        let mut seen = Returned::default();
        for entry in files.entries(&names.at("tree/sub")?)? {
            seen.text.extend_from_slice(entry?.name.as_bytes());
        }
        Ok(seen)
    })
    .common(),
    Victim::of_root("walk", None, keep, |root, names, _| {
        let mut seen = Returned::default();
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
        |files, names, _| {
            nothing(files.copy_tree(&names.at("tree")?, &names.at("t")?, TreeLimits::new()))
        },
    )
    .on_root(|root, names, _| nothing(root.copy_tree(&names.at("tree")?, &names.at("t")?)))
    .looks_up(2)
    .creates("t"),
    Victim::of_root("temp-dir", None, keep, |root, names, _| {
        nothing(root.temp_dir(&names.at("tree")?))
    }),
    Victim::of_root("recover", None, keep, |root, names, _| {
        nothing(root.recover(&names.at("tree")?))
    }),
];
