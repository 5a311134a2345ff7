//! Renames and links.

use crate::support::*;
use handfast::{ErrorKind, HardLinks, Links, OpenOptions, RelPath, RenameMode, Timestamp};
use std::os::unix::fs::MetadataExt;

#[test]
fn rename_in_all_modes() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch
            .file("f", "f")
            .file("g", "g")
            .file("d/x", "x")
            .dir("empty")
            .dir("empty2")
            .link("f", "link");
        let root = scratch.open(options);
        let rename = |from: &str, to: &str, mode| root.rename(&rel(from), &rel(to), mode);
        assert_kind(rename("f", "g", RenameMode::NoReplace), ErrorKind::Exists);
        rename("f", "g", RenameMode::Exchange).unwrap();
        assert_eq!(
            (scratch.read("root/f"), scratch.read("root/g")),
            ("g".into(), "f".into())
        );
        rename("f", "d/y", RenameMode::NoReplace).unwrap();
        rename("d/y", "g", RenameMode::Replace).unwrap();
        assert_eq!(scratch.read("root/g"), "g");
        assert_kind(
            rename("g", "d", RenameMode::Replace),
            ErrorKind::IsADirectory,
        );
        assert_kind(
            rename("d", "g", RenameMode::Replace),
            ErrorKind::NotADirectory,
        );
        assert_kind(
            rename("empty", "d", RenameMode::Replace),
            ErrorKind::NotEmpty,
        );
        rename("empty", "empty2", RenameMode::Replace).unwrap();
        assert_kind(
            rename("d", "d/inner", RenameMode::Replace),
            ErrorKind::Invalid,
        );
        assert_kind(
            rename("d", "d/inner", RenameMode::NoReplace),
            ErrorKind::Invalid,
        );
        assert_kind(
            rename("none", "x", RenameMode::Replace),
            ErrorKind::NotFound,
        );
        assert_kind(
            rename("g", "none", RenameMode::Exchange),
            ErrorKind::NotFound,
        );
        rename("link", "moved", RenameMode::Replace).unwrap();
        assert!(
            std::fs::symlink_metadata(scratch.path("root/moved"))
                .unwrap()
                .is_symlink()
        );
        let clean = |text: &str| RelPath::clean(text).unwrap();
        assert_kind(
            root.rename(&clean("g/"), &clean("h"), RenameMode::Replace),
            ErrorKind::NotADirectory,
        );
        root.rename(&clean("d/"), &clean("e/"), RenameMode::Replace)
            .unwrap();
        assert_eq!(scratch.read("root/e/x"), "x");
    });
}

#[test]
fn rename_between_roots_needs_both() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("a/f", "f").dir("b");
        let root = scratch.open(options(backend));
        let a = root.open_dir(&rel("a")).unwrap().into_root();
        let b = root.open_dir(&rel("b")).unwrap().into_root();
        a.rename_to(&rel("f"), &b, &rel("g"), RenameMode::NoReplace)
            .unwrap();
        assert_eq!(scratch.read("root/b/g"), "f");
    });
}

#[test]
fn renames_that_cannot_be_are_named() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("d/x", "x").dir("e").link("e", "link");
        let root = scratch.open(options);
        let rename = |from: &str, to: &str, mode| {
            root.rename(
                &RelPath::clean(from).unwrap(),
                &RelPath::clean(to).unwrap(),
                mode,
            )
        };
        assert_kind(
            rename("d/x", "d", RenameMode::Replace),
            ErrorKind::IsADirectory,
        );
        assert_kind(rename("d/x", "d", RenameMode::Exchange), ErrorKind::Invalid);
        assert_kind(rename("d", "d/x", RenameMode::Exchange), ErrorKind::Invalid);
        assert_kind(
            rename("e", "link/", RenameMode::Exchange),
            ErrorKind::NotADirectory,
        );
        assert_kind(
            rename("d/x", "e/", RenameMode::Exchange),
            ErrorKind::NotADirectory,
        );
    });
}

#[test]
fn symlinks_are_made_only_if_they_stay_beneath() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        scratch.file("d/f", "f").dir("d/e").link("d/e", "short");
        let root = scratch.open(options);
        root.symlink("../f", &rel("d/e/ok")).unwrap();
        root.symlink("nowhere", &rel("dangling")).unwrap();
        for bad in ["/etc/passwd", "..", "../x", "d/../../x"] {
            assert_kind(root.symlink(bad, &rel("bad")), ErrorKind::Escape);
        }
        assert_kind(
            root.symlink("../../../x", &rel("d/e/bad")),
            ErrorKind::Escape,
        );
        assert_kind(root.symlink("", &rel("bad")), ErrorKind::Invalid);
        assert_kind(root.symlink("x\0", &rel("bad")), ErrorKind::Invalid);
        assert_kind(
            root.symlink("x".repeat(5000), &rel("bad")),
            ErrorKind::TooLong,
        );
        assert_kind(root.symlink("x", &rel("d/f")), ErrorKind::Exists);
        if links == Links::Beneath {
            // `short/x` stands two levels down, whatever its spelling.
            root.symlink("../../d/f", &rel("short/x")).unwrap();
            assert_eq!(root.read(&rel("short/x")).unwrap(), b"f");
            assert_kind(
                root.symlink("../../../d", &rel("short/y")),
                ErrorKind::Escape,
            );
        }
        assert!(std::fs::symlink_metadata(scratch.path("root/bad")).is_err());
    });
}

#[test]
fn hard_links_by_policy() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch
            .file("f", "f")
            .dir("d")
            .link("f", "link")
            .fifo("fifo");
        let root = scratch.open(options(backend));
        root.hard_link(&rel("f"), &rel("d/g")).unwrap();
        assert_eq!(scratch.read("root/d/g"), "f");
        assert_eq!(
            std::fs::metadata(scratch.path("root/f")).unwrap().nlink(),
            2
        );
        assert_kind(root.hard_link(&rel("link"), &rel("x")), ErrorKind::Link);
        assert_kind(
            root.hard_link(&rel("d"), &rel("x")),
            ErrorKind::IsADirectory,
        );
        assert_kind(root.hard_link(&rel("fifo"), &rel("x")), ErrorKind::Kind);
        assert_kind(root.hard_link(&rel("f"), &rel("d/g")), ErrorKind::Exists);
        assert_eq!(root.read(&rel("f")).unwrap(), b"f");
        for result in [
            root.append(&rel("f"), "x").map(drop),
            root.chmod(&rel("f"), 0o600),
            root.set_times(&rel("f"), None, Some(Timestamp::default())),
            root.open_with(&rel("f"), OpenOptions::new().write(true))
                .map(drop),
            root.open_with(&rel("f"), OpenOptions::new().write(true).truncate(true))
                .map(drop),
            root.set_xattr(&rel("f"), "user.x", b"x"),
        ] {
            assert_kind(result, ErrorKind::HardLink);
        }
        assert_eq!(scratch.read("root/f"), "f");
        let refusing = scratch.open(options(backend).hard_links(HardLinks::Refuse));
        assert_kind(refusing.read(&rel("f")), ErrorKind::HardLink);
        assert_kind(refusing.open(&rel("f")), ErrorKind::HardLink);
        assert_kind(
            refusing.hard_link(&rel("f"), &rel("x")),
            ErrorKind::HardLink,
        );
        refusing.metadata(&rel("f")).unwrap();
        let allowing = scratch.open(options(backend).hard_links(HardLinks::Allow));
        allowing.append(&rel("f"), "x").unwrap();
        allowing.chmod(&rel("f"), 0o600).unwrap();
        assert_eq!(scratch.read("root/d/g"), "fx");
        root.write(&rel("f"), "fresh").unwrap();
        assert_eq!(
            scratch.read("root/d/g"),
            "fx",
            "replacing one name leaves the other alone"
        );
    });
}

#[test]
fn a_link_to_nothing_is_a_link_however_much_is_missing() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch
            .file("f", "f")
            .link("none/deeper", "dangling")
            .link("f/", "slash");
        let root = scratch.open(beneath(backend));
        assert_kind(root.write(&rel("dangling"), ""), ErrorKind::Link);
        assert_kind(root.append(&rel("dangling"), ""), ErrorKind::Link);
        assert_kind(root.write(&rel("slash"), ""), ErrorKind::NotADirectory);
        assert_kind(root.append(&rel("slash"), ""), ErrorKind::NotADirectory);
        assert_kind(root.read(&rel("slash")), ErrorKind::NotADirectory);
        assert_eq!(scratch.read("root/f"), "f");
    });
}
