//! Writing, appending and copying files.

use crate::support::*;
use handfast::{Durability, ErrorKind, Links, OpenOptions, WriteOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

#[test]
fn write_replaces_whole_and_keeps_mode_and_other_names() {
    each_policy(|options, _| {
        for durability in [Durability::None, Durability::File, Durability::Full] {
            let scratch = Scratch::new();
            scratch.file("d/f", "old").hard_link("root/d/f", "other");
            std::fs::set_permissions(
                scratch.path("root/d/f"),
                std::fs::Permissions::from_mode(0o4751),
            )
            .unwrap();
            let before = std::fs::metadata(scratch.path("root/d/f")).unwrap().ino();
            let root = scratch.open(options.clone());
            let how = WriteOptions::new().durability(durability);
            let written = root.write_with(&rel("d/f"), "new content", how).unwrap();
            assert_eq!(scratch.read("root/d/f"), "new content");
            assert_eq!(scratch.read("root/other"), "old");
            assert_eq!(
                mode_of(&scratch, "root/d/f"),
                0o751,
                "set-id bits are dropped"
            );
            let after = std::fs::metadata(scratch.path("root/d/f")).unwrap().ino();
            assert_ne!(before, after);
            assert_eq!(written.identity().inode, after);
            assert!(written.verify(&root).unwrap());
            root.write_with(&rel("d/f"), "x", how.mode(0o600)).unwrap();
            assert_eq!(mode_of(&scratch, "root/d/f"), 0o600);
            root.write_with(&rel("d/new"), "x", how.mode(0o604))
                .unwrap();
            assert_eq!(mode_of(&scratch, "root/d/new"), 0o604);
            root.write_with(&rel("d/empty"), "", how).unwrap();
            assert_eq!(scratch.read("root/d/empty"), "");
            assert_kind(
                root.write_with(&rel("d"), "x", how),
                ErrorKind::IsADirectory,
            );
            assert_kind(root.write_with(&rel("x/y"), "x", how), ErrorKind::NotFound);
            assert_kind(
                root.write_with(&rel("d/f/y"), "x", how),
                ErrorKind::NotADirectory,
            );
            scratch.assert_no_leftovers();
        }
    });
}

#[test]
fn write_follows_a_final_link_only_beneath_and_never_creates_through_one() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        scratch
            .file("d/f", "old")
            .link("d/f", "in")
            .link("d/none", "dangling")
            .link("../outside/secret", "out")
            .link(scratch.path("outside/secret"), "absolute")
            .link("loop", "loop")
            .link("d", "dir");
        let root = scratch.open(options);
        let outside = scratch.outside();
        let refused = |path: &str| root.write(&rel(path), "new").unwrap_err().kind();
        match links {
            Links::Refuse => {
                for path in ["in", "dangling", "out", "absolute", "loop", "dir/f"] {
                    assert_eq!(refused(path), ErrorKind::Link, "{path}");
                }
            }
            Links::Beneath | Links::InRoot => {
                root.write(&rel("in"), "new").unwrap();
                assert_eq!(scratch.read("root/d/f"), "new");
                assert!(
                    std::fs::symlink_metadata(scratch.path("root/in"))
                        .unwrap()
                        .is_symlink()
                );
                root.write(&rel("dir/f"), "newer").unwrap();
                assert_eq!(scratch.read("root/d/f"), "newer");
                root.write(&rel("dir/g"), "g").unwrap();
                assert_eq!(scratch.read("root/d/g"), "g");
                assert_eq!(refused("dangling"), ErrorKind::Link);
                assert_eq!(refused("out"), ErrorKind::Escape);
                assert_eq!(refused("absolute"), ErrorKind::Escape);
                assert_eq!(refused("loop"), ErrorKind::Link);
                assert_eq!(refused("dir"), ErrorKind::IsADirectory);
            }
        }
        assert!(!scratch.path("root/d/none").exists());
        assert_eq!(scratch.outside(), outside);
        scratch.assert_no_leftovers();
    });
}

#[test]
fn creating_in_place_follows_the_same_rules() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        scratch
            .file("d/f", "old")
            .link("d/f", "in")
            .link("d/none", "dangling")
            .link("../outside/new", "out")
            .link("d", "dir");
        let root = scratch.open(options);
        let outside = scratch.outside();
        let create = OpenOptions::new().write(true).create(true);
        let new = OpenOptions::new().write(true).create_new(true);
        let open = |path: &str| root.open_with(&rel(path), create).map(drop);
        match links {
            Links::Refuse => {
                for path in ["in", "dangling", "out", "dir/f", "dir/g"] {
                    assert_kind(open(path), ErrorKind::Link);
                }
            }
            Links::Beneath | Links::InRoot => {
                open("in").unwrap();
                open("dir/f").unwrap();
                open("dir/g").unwrap();
                assert_eq!(scratch.read("root/d/g"), "");
                assert_kind(open("dangling"), ErrorKind::Link);
                assert_kind(open("out"), ErrorKind::Escape);
            }
        }
        assert_kind(root.open_with(&rel("in"), new), ErrorKind::Exists);
        assert_kind(root.open_with(&rel("dangling"), new), ErrorKind::Exists);
        assert!(!scratch.path("root/d/none").exists());
        assert_eq!(scratch.outside(), outside);
    });
}

#[test]
fn write_refuses_what_the_caller_may_not_write() {
    if am_root() {
        skip("root may write everything");
        return;
    }
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("f", "old").file("locked/f", "old");
        std::fs::set_permissions(
            scratch.path("root/f"),
            std::fs::Permissions::from_mode(0o444),
        )
        .unwrap();
        let root = scratch.open(options);
        assert_kind(root.write(&rel("f"), "new"), ErrorKind::Denied);
        assert_kind(root.append(&rel("f"), "new"), ErrorKind::Denied);
        assert_eq!(scratch.read("root/f"), "old");
        std::fs::set_permissions(
            scratch.path("root/locked"),
            std::fs::Permissions::from_mode(0o555),
        )
        .unwrap();
        assert_kind(root.write(&rel("locked/f"), "new"), ErrorKind::Denied);
        assert_kind(root.write_new(&rel("locked/g"), "new"), ErrorKind::Denied);
        assert_kind(root.remove_file(&rel("locked/f")), ErrorKind::Denied);
        assert_eq!(scratch.read("root/locked/f"), "old");
    });
}

#[test]
fn write_new_needs_a_free_name() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("f", "old").link("none", "dangling").dir("d");
        let root = scratch.open(options);
        root.write_new(&rel("new"), "content").unwrap();
        assert_eq!(scratch.read("root/new"), "content");
        for taken in ["f", "new", "dangling", "d"] {
            assert_kind(root.write_new(&rel(taken), "x"), ErrorKind::Exists);
        }
        assert_eq!(scratch.read("root/f"), "old");
        scratch.assert_no_leftovers();
    });
}

#[test]
fn staged_files_are_seen_when_committed_and_never_before() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("f", "old");
        let root = scratch.open(options);
        let mut staged = root.stage(&rel("f"), WriteOptions::new()).unwrap();
        staged.write_all(b"ne").unwrap();
        assert_eq!(scratch.read("root/f"), "old");
        staged.write_all(b"w").unwrap();
        staged.commit().unwrap();
        assert_eq!(scratch.read("root/f"), "new");
        let mut dropped = root.stage(&rel("f"), WriteOptions::new()).unwrap();
        dropped.write_all(b"never").unwrap();
        drop(dropped);
        assert_eq!(scratch.read("root/f"), "new");
        let staged = root.stage(&rel("f"), WriteOptions::new()).unwrap();
        assert_kind(staged.commit_new(), ErrorKind::Exists);
        let staged = root.stage(&rel("g"), WriteOptions::new()).unwrap();
        staged.commit_new().unwrap();
        scratch.assert_no_leftovers();
    });
}

#[test]
fn an_exact_mode_is_that_of_a_file_that_append_makes() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("there", "a");
        let root = scratch.open(options);
        // The umask of a test takes some of these away from every file that is made by name.
        let how = WriteOptions::new().mode(0o622);
        root.append_with(&rel("new"), "b", how).unwrap();
        assert_eq!(mode_of(&scratch, "root/new"), 0o622);
        root.append_with(&rel("unreadable"), "b", how.mode(0o044))
            .unwrap();
        assert_eq!(mode_of(&scratch, "root/unreadable"), 0o044);
        let before = mode_of(&scratch, "root/there");
        root.append_with(&rel("there"), "b", how).unwrap();
        assert_eq!(mode_of(&scratch, "root/there"), before);
        assert_eq!(scratch.read("root/there"), "ab");
        let how = WriteOptions::new().created_mode(0o777);
        root.append_with(&rel("usual"), "b", how).unwrap();
        assert_ne!(mode_of(&scratch, "root/usual"), 0o777, "the umask narrows");
    });
}

#[test]
fn append_adds_and_creates() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("f", "a").hard_link("outside/secret", "hard");
        let root = scratch.open(options);
        root.append(&rel("f"), "b").unwrap();
        root.append(&rel("g"), "c").unwrap();
        assert_eq!(scratch.read("root/f"), "ab");
        assert_eq!(scratch.read("root/g"), "c");
        assert_kind(root.append(&rel("hard"), "x"), ErrorKind::HardLink);
        assert_eq!(scratch.read("outside/secret"), "outside");
    });
}

#[test]
fn copy_replaces_atomically_and_copies_modes_for_new_names() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch
            .file("f", &"content ".repeat(10_000))
            .file("g", "old")
            .hard_link("root/g", "other");
        std::fs::set_permissions(
            scratch.path("root/f"),
            std::fs::Permissions::from_mode(0o750),
        )
        .unwrap();
        std::fs::set_permissions(
            scratch.path("root/g"),
            std::fs::Permissions::from_mode(0o640),
        )
        .unwrap();
        let root = scratch.open(options);
        root.copy(&rel("f"), &rel("new")).unwrap();
        root.copy(&rel("f"), &rel("g")).unwrap();
        assert_eq!(scratch.read("root/new"), scratch.read("root/f"));
        assert_eq!(scratch.read("root/g"), scratch.read("root/f"));
        assert_eq!(scratch.read("root/other"), "old");
        assert_eq!(mode_of(&scratch, "root/new") & 0o700, 0o700);
        assert_eq!(mode_of(&scratch, "root/g"), 0o640);
        scratch.dir("d");
        assert_kind(root.copy(&rel("f"), &rel("d")), ErrorKind::IsADirectory);
        assert_kind(root.copy(&rel("d"), &rel("x")), ErrorKind::IsADirectory);
        assert_kind(root.copy(&rel("x"), &rel("y")), ErrorKind::NotFound);
        root.write(&rel("empty"), "").unwrap();
        root.copy(&rel("empty"), &rel("empty2")).unwrap();
        assert_eq!(scratch.read("root/empty2"), "");
        scratch.assert_no_leftovers();
    });
}
