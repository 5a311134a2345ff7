//! Verbs that write content.

use std::io::Write;

use handfast::OpenOptions;

use super::{Seen, Victim, clear, fast, keep, nothing, victim, with_f};

pub(super) const VICTIMS: &[Victim] = &[
    victim("open-write", Some("f"), with_f, |root, names, _| {
        let how = OpenOptions::new().write(true).create(true).truncate(true);
        let mut file = root.open_with(&names.at("f")?, how)?;
        drop(file.write_all(b"inside"));
        Ok(Seen::object(file.identity()))
    })
    .creates("f"),
    victim(
        "create-new",
        None,
        |inside, _| clear(inside, "n"),
        |root, names, _| {
            let how = OpenOptions::new().write(true).create_new(true);
            nothing(root.open_with(&names.at("n")?, how))
        },
    )
    .creates("n"),
    victim("write", Some("f"), keep, |root, names, _| {
        nothing(root.write_with(&names.at("f")?, "inside", fast()))
    })
    .creates("f"),
    victim("stage", Some("f"), keep, |root, names, _| {
        let mut staged = root.stage(&names.at("f")?, fast())?;
        drop(staged.write_all(b"inside"));
        nothing(staged.commit())
    })
    .creates("f"),
    victim(
        "write-new",
        None,
        |inside, _| clear(inside, "w"),
        |root, names, _| nothing(root.write_new_with(&names.at("w")?, "inside", fast())),
    )
    .creates("w"),
    victim("append", Some("g"), keep, |root, names, _| {
        nothing(root.append(&names.at("g")?, "i"))
    })
    .creates("g"),
    victim("copy", Some("data"), keep, |root, names, _| {
        nothing(root.copy_with(&names.at("data")?, &names.at("copied")?, fast()))
    })
    .looks_up(2)
    .creates("copied"),
    victim("temp-file", None, keep, |root, names, _| {
        nothing(root.temp_file(&names.at("tree")?))
    }),
];
