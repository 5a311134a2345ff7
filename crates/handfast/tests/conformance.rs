//! Both backends give the same answers, and they are the kernel's.
//!
//! Two oracles: a bare `openat2` for every path, and the two backends against each other for every
//! verb. Random trees are in `random.rs`.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests set their scenes with ambient calls"
)]

mod properties;
mod support;

use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use handfast::files::LastLink;
use handfast::{
    BackendChoice, Error, ErrorKind, FileKind, Files, HardLinks, Links, LockKind, OpenOptions,
    RelPath, RenameMode, Root, Timestamp, WriteOptions,
};
use properties::resolvers::{oracle, patiently};
use support::*;

/// One of every kind, in a root and one level down.
fn plant(scratch: &Scratch) {
    let outside = scratch.path("outside");
    for base in ["", "sub/"] {
        let up = if base.is_empty() { "" } else { "../" };
        let at = |name: &str| format!("{base}{name}");
        scratch
            .file(&at("file"), "file")
            .file(&at("dir/inner"), "inner")
            .dir(&at("empty"))
            .link("file", &at("to-file"))
            .link("dir", &at("to-dir"))
            .link("dir/", &at("to-dir-slash"))
            .link("file/", &at("to-file-slash"))
            .link("dir/.", &at("to-dir-dot"))
            .link("dir/..", &at("to-here"))
            .link("./dir/../dir/inner", &at("round"))
            .link(format!("{up}../outside"), &at("out"))
            .link(format!("{up}../outside/"), &at("out-slash"))
            .link(format!("{up}../outside/secret"), &at("out-file"))
            .link(format!("{up}../root"), &at("out-and-back"))
            .link(&outside, &at("absolute"))
            .link(scratch.path("root/file"), &at("absolute-inside"))
            .link("out", &at("to-out"))
            .link("out/", &at("to-out-slash"))
            .link("nothing", &at("dangling"))
            .link("nothing/deeper", &at("dangling-deep"))
            .link("loop", &at("loop"))
            .link("loop-b", &at("loop-a"))
            .link("loop-a", &at("loop-b"))
            .link("/proc/self/root", &at("magic"))
            .fifo(&at("fifo"));
        for number in 0..42 {
            let target = if number == 0 {
                "file".to_owned()
            } else {
                format!("chain{}", number - 1)
            };
            // chain39 needs 40 links, chain40 needs 41.
            scratch.link(target, &at(&format!("chain{number}")));
        }
    }
    scratch.hard_link("outside/secret", "hard");
}

const NAMES: &[&str] = &[
    "file",
    "dir",
    "empty",
    "to-file",
    "to-dir",
    "to-dir-slash",
    "to-file-slash",
    "to-dir-dot",
    "to-here",
    "round",
    "out",
    "out-slash",
    "out-file",
    "out-and-back",
    "absolute",
    "absolute-inside",
    "to-out",
    "to-out-slash",
    "dangling",
    "dangling-deep",
    "loop",
    "loop-a",
    "magic",
    "fifo",
    "chain38",
    "chain39",
    "chain40",
    "chain41",
    "absent",
    "hard",
];

/// Every name, alone and on the way, in every spelling that people type.
fn paths() -> Vec<RelPath> {
    let mut texts = Vec::new();
    for name in NAMES {
        for base in ["", "sub/", "to-here/", "sub/to-here/"] {
            texts.push(format!("{base}{name}"));
        }
        for spelling in [
            format!("{name}/"),
            format!("{name}/."),
            format!("./{name}"),
            format!("sub//{name}"),
            format!("{name}/inner"),
            format!("{name}/secret"),
            format!("{name}/absent"),
            format!("{name}/dir/inner"),
            format!("{name}/inner/"),
        ] {
            texts.push(spelling);
        }
    }
    texts
        .iter()
        .map(|text| RelPath::clean(text).unwrap())
        .collect()
}

/// Which object a path names, or why not.
fn seen(look: impl Fn() -> Result<handfast::Metadata, Error>) -> Result<u64, ErrorKind> {
    patiently(look).map(|status| status.identity.inode)
}

#[test]
fn resolution_is_the_kernels() {
    if !kernel_available() {
        skip("the kernel as oracle: openat2 is masked or absent");
        return;
    }
    let scratch = Scratch::new();
    plant(&scratch);
    let mut compared = 0;
    for links in [Links::Refuse, Links::Beneath] {
        for backend in [BackendChoice::Kernel, BackendChoice::Walk] {
            let root = scratch.open(options(backend).links(links));
            for path in paths() {
                let says = |nofollow| oracle(&root, &path, links, nofollow);
                assert_eq!(
                    seen(|| root.metadata(&path)),
                    says(false),
                    "{path} {links:?} {}",
                    backend_name(backend)
                );
                assert_eq!(
                    seen(|| root.symlink_metadata(&path)),
                    says(true),
                    "{path} itself {links:?} {}",
                    backend_name(backend)
                );
                compared += 2;
            }
        }
    }
    assert!(compared > 2000, "{compared}");
}

type Verb = (&'static str, fn(&Root, &RelPath) -> Result<String, Error>);

/// Every verb with a path, as something that can be compared: what it answers, without what
/// differs from tree to tree.
const VERBS: &[Verb] = &[
    ("metadata", |r, p| {
        r.metadata(p)
            .map(|m| format!("{:?} {}", m.kind, m.len * u64::from(m.is_file())))
    }),
    ("symlink_metadata", |r, p| {
        r.symlink_metadata(p).map(|m| m.kind.to_string())
    }),
    ("read", |r, p| r.read(p).map(|data| handfast::escape(&data))),
    ("read_versioned", |r, p| {
        r.read_versioned(p).map(|(data, _)| handfast::escape(&data))
    }),
    ("open_dir", |r, p| r.open_dir(p).map(|_| String::new())),
    ("read_dir", |r, p| {
        let mut list = r.read_dir(p)?;
        let mut names = Vec::new();
        while let Some(entry) = list.next_entry()? {
            names.push(entry.name().to_string());
        }
        names.sort();
        Ok(names.join(" "))
    }),
    ("walk", |r, p| {
        let mut walk = r.walk(p)?;
        let mut names = Vec::new();
        while let Some(entry) = walk.next_entry()? {
            names.push(handfast::escape(&entry.path()));
        }
        names.sort();
        Ok(names.join(" "))
    }),
    ("read_link", |r, p| {
        // Absolute targets name the tree, which differs.
        r.read_link(p).map(|text| {
            if text.as_bytes().starts_with(b"/") {
                "/".into()
            } else {
                text.to_string()
            }
        })
    }),
    ("node", |r, p| {
        r.node(p, LastLink::Itself)
            .map(|node| node.kind().to_string())
    }),
    ("version", |r, p| {
        r.version(p).map(|version| version.len().to_string())
    }),
    ("open write", |r, p| {
        r.open_with(p, OpenOptions::new().write(true))
            .map(|_| String::new())
    }),
    ("open truncate", |r, p| {
        r.open_with(p, OpenOptions::new().write(true).truncate(true))
            .map(|_| String::new())
    }),
    ("open create", |r, p| {
        r.open_with(p, OpenOptions::new().write(true).create(true))
            .map(|_| String::new())
    }),
    ("open create-new", |r, p| {
        r.open_with(p, OpenOptions::new().write(true).create_new(true))
            .map(|_| String::new())
    }),
    ("write", |r, p| {
        r.write_with(p, "new", fast()).map(|_| String::new())
    }),
    ("write_new", |r, p| {
        r.write_new_with(p, "new", fast()).map(|_| String::new())
    }),
    ("append", |r, p| r.append(p, "more").map(|_| String::new())),
    ("create_dir", |r, p| r.create_dir(p).map(|_| String::new())),
    ("create_dir_all", |r, p| {
        r.create_dir_all(p).map(|_| String::new())
    }),
    ("copy from", |r, p| {
        r.copy_with(p, &rel("copied"), fast())
            .map(|_| String::new())
    }),
    ("copy to", |r, p| {
        r.copy_with(&rel("file"), p, fast()).map(|_| String::new())
    }),
    ("copy_tree from", |r, p| {
        r.copy_tree(p, &rel("copied")).map(|()| String::new())
    }),
    ("copy_tree to", |r, p| {
        r.copy_tree(&rel("empty"), p).map(|()| String::new())
    }),
    ("rename from", |r, p| {
        r.rename(p, &rel("renamed"), RenameMode::NoReplace)
            .map(|()| String::new())
    }),
    ("rename to", |r, p| {
        r.rename(&rel("file"), p, RenameMode::Replace)
            .map(|()| String::new())
    }),
    ("rename dir to", |r, p| {
        r.rename(&rel("empty"), p, RenameMode::Replace)
            .map(|()| String::new())
    }),
    ("exchange", |r, p| {
        r.rename(p, &rel("file"), RenameMode::Exchange)
            .map(|()| String::new())
    }),
    ("remove_file", |r, p| {
        r.remove_file(p).map(|()| String::new())
    }),
    ("remove_dir", |r, p| r.remove_dir(p).map(|()| String::new())),
    ("remove_tree", |r, p| {
        r.remove_tree(p).map(|()| String::new())
    }),
    ("symlink", |r, p| {
        r.symlink("file", p).map(|()| String::new())
    }),
    ("hard_link from", |r, p| {
        r.hard_link(p, &rel("linked")).map(|()| String::new())
    }),
    ("hard_link to", |r, p| {
        r.hard_link(&rel("file"), p).map(|()| String::new())
    }),
    ("chmod", |r, p| r.chmod(p, 0o700).map(|()| String::new())),
    ("chown", |r, p| {
        r.chown(p, None, None).map(|()| String::new())
    }),
    ("set_times", |r, p| {
        r.set_times(
            p,
            None,
            Some(Timestamp {
                seconds: 9,
                nanoseconds: 9,
            }),
        )
        .map(|()| String::new())
    }),
    ("get_xattr", |r, p| {
        r.get_xattr(p, "user.x").map(|value| format!("{value:?}"))
    }),
    ("temp_file", |r, p| r.temp_file(p).map(|_| String::new())),
    ("temp_dir", |r, p| r.temp_dir(p).map(|_| String::new())),
    ("lock", |r, p| {
        r.lock(p, LockKind::Exclusive, Duration::ZERO)
            .map(|_| String::new())
    }),
    ("lock_dir", |r, p| {
        r.lock_dir(p, LockKind::Exclusive, Duration::ZERO)
            .map(|_| String::new())
    }),
    ("recover", |r, p| {
        r.recover(p).map(|found| format!("{found:?}"))
    }),
    ("write_if", |r, p| {
        let version = r.version(p)?;
        r.write_if_with(p, &version, "new", fast())
            .map(|_| String::new())
    }),
    ("remove_if", |r, p| {
        let version = r.version(p)?;
        r.remove_if(p, &version).map(|()| String::new())
    }),
];

fn fast() -> WriteOptions {
    WriteOptions::new().durability(handfast::Durability::None)
}

/// The tree with names of this run taken out.
fn tree(scratch: &Scratch) -> Vec<String> {
    let top = scratch.top.to_str().unwrap();
    scratch
        .snapshot("")
        .into_iter()
        .map(|line| {
            // Times differ from tree to tree, but for the one that set_times sets.
            let line = line.replace(top, "");
            let mut fields: Vec<&str> = line.splitn(5, ' ').collect();
            if fields[3] != "9" {
                fields[3] = "-";
            }
            fields.join(" ")
        })
        .collect()
}

#[test]
fn every_verb_answers_alike_on_both_backends_and_changes_the_same() {
    if !kernel_available() {
        skip("comparing backends: openat2 is masked or absent");
        return;
    }
    let paths: Vec<RelPath> = paths();
    // A tree for each verb and policy; the verb's effect on every path accumulates, on both sides
    // alike, and outside must never change.
    let mut compared = 0;
    for links in [Links::Refuse, Links::Beneath] {
        for (name, verb) in VERBS {
            let scratches = [Scratch::new(), Scratch::new()];
            let outside: Vec<_> = scratches
                .iter()
                .map(|scratch| {
                    plant(scratch);
                    scratch.outside()
                })
                .collect();
            let roots = [
                scratches[0].open(options(BackendChoice::Kernel).links(links)),
                scratches[1].open(options(BackendChoice::Walk).links(links)),
            ];
            for path in &paths {
                let answers = [verb(&roots[0], path), verb(&roots[1], path)]
                    .map(|answer| answer.map_err(|error| (error.kind(), error.effect())));
                assert_eq!(answers[0], answers[1], "{name} {path} {links:?}");
                compared += 1;
            }
            assert_eq!(tree(&scratches[0]), tree(&scratches[1]), "{name} {links:?}");
            for (scratch, before) in scratches.iter().zip(&outside) {
                assert_eq!(&scratch.outside(), before, "{name} {links:?}");
            }
        }
    }
    assert!(compared > 20_000, "{compared}");
}

#[test]
fn refusing_hard_links_holds_for_every_reading_verb() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        plant(&scratch);
        let root = scratch.open(options(backend).hard_links(HardLinks::Refuse));
        for (name, verb) in VERBS {
            let reads = [
                "read",
                "read_versioned",
                "version",
                "copy from",
                "hard_link from",
            ];
            if reads.contains(name) {
                assert_kind(verb(&root, &rel("hard")), ErrorKind::HardLink);
            }
        }
        assert_eq!(scratch.read("outside/secret"), "outside");
    });
}

#[test]
fn kinds_are_those_of_the_object() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        plant(&scratch);
        let root = scratch.open(options(backend));
        for (name, kind) in [
            ("file", FileKind::File),
            ("dir", FileKind::Dir),
            ("out", FileKind::Symlink),
            ("fifo", FileKind::Fifo),
        ] {
            assert_eq!(root.symlink_metadata(&rel(name)).unwrap().kind, kind);
        }
        let stored = std::fs::read_link(scratch.path("root/absolute")).unwrap();
        assert_eq!(
            root.read_link(&rel("absolute")).unwrap().as_bytes(),
            stored.as_os_str().as_bytes(),
            "the text as it is stored"
        );
    });
}
