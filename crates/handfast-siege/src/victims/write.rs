//! Verbs that write content.

use std::io::Write;

use handfast::OpenOptions;
use handfast::files::Put;

use super::{Returned, Victim, clear, fast, keep, nothing, victim, with_f};

pub(super) const VICTIMS: &[Victim] = &[
    victim("open-write", Some("f"), with_f, |files, names, _| {
        let how = OpenOptions::new().write(true).create(true).truncate(true);
        let file = files.open(&names.at("f")?, how)?;
        let seen = Returned::object(file.opened_metadata().identity);
        drop(file.write_at(b"inside", 0));
        Ok(seen)
    })
    .creates("f"),
    victim(
        "create-new",
        None,
        |inside, _| clear(inside, "n"),
        |files, names, _| {
            let how = OpenOptions::new().write(true).create_new(true);
            nothing(files.open(&names.at("n")?, how))
        },
    )
    .creates("n"),
    victim("write", Some("f"), keep, |files, names, _| {
        nothing(files.put(&names.at("f")?, b"inside", Put::Replace, fast()))
    })
    .creates("f")
    .common(),
    victim("stage", Some("f"), keep, |files, names, _| {
        let mut staged = files.stage(&names.at("f")?, fast())?;
        drop(staged.write_all(b"inside"));
        nothing(staged.publish(Put::Replace))
    })
    .creates("f"),
    victim(
        "write-new",
        None,
        |inside, _| clear(inside, "w"),
        |files, names, _| nothing(files.put(&names.at("w")?, b"inside", Put::New, fast())),
    )
    .creates("w"),
    victim("append", Some("g"), keep, |files, names, _| {
        nothing(files.append(&names.at("g")?, b"i", fast()))
    })
    .creates("g")
    .common(),
    victim("copy", Some("data"), keep, |files, names, _| {
        nothing(files.copy(&names.at("data")?, &names.at("copied")?, Put::Replace))
    })
    .on_root(|root, names, _| {
        nothing(root.copy_with(&names.at("data")?, &names.at("copied")?, fast()))
    })
    .looks_up(2)
    .creates("copied")
    .common(),
    Victim::of_root("temp-file", None, keep, |root, names, _| {
        nothing(root.temp_file(&names.at("tree")?))
    }),
];
