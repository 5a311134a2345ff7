//! Directories and whole trees.

use crate::support::*;
use handfast::{ErrorKind, Links, RelPath, TreeLimits, WriteOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;

#[test]
fn directories_are_created_and_their_handles_work() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        scratch
            .file("file", "")
            .dir("d")
            .link("d", "dir")
            .link("none", "dangling");
        let root = scratch.open(options);
        let made = root.create_dir(&rel("d/e")).unwrap().into_root();
        made.write(&rel("f"), "x").unwrap();
        assert_eq!(scratch.read("root/d/e/f"), "x");
        assert_kind(root.create_dir(&rel("d/e")), ErrorKind::Exists);
        assert_kind(root.create_dir(&rel("dangling")), ErrorKind::Exists);
        assert_kind(root.create_dir(&rel("x/y")), ErrorKind::NotFound);

        let deep = root.create_dir_all(&rel("p/q/r/s")).unwrap();
        deep.into_root().write(&rel("f"), "x").unwrap();
        assert_eq!(scratch.read("root/p/q/r/s/f"), "x");
        root.create_dir_all(&rel("p/q/r/s")).unwrap();
        assert_kind(
            root.create_dir_all(&rel("file/x")),
            ErrorKind::NotADirectory,
        );
        assert_kind(
            root.create_dir_all(&rel("p/q/r/s/f")),
            ErrorKind::NotADirectory,
        );
        match links {
            Links::Refuse => {
                assert_kind(root.create_dir_all(&rel("dir")), ErrorKind::Link);
                assert_kind(root.create_dir_all(&rel("dir/x")), ErrorKind::Link);
            }
            Links::Beneath | Links::InRoot => {
                root.create_dir_all(&rel("dir")).unwrap();
                root.create_dir_all(&rel("dir/x/y")).unwrap();
                assert!(scratch.path("root/d/x/y").is_dir());
            }
        }
        assert_kind(root.create_dir_all(&rel("dangling/x")), ErrorKind::Link);
        assert!(!scratch.path("root/none").exists());
    });
}

#[test]
fn create_dir_all_takes_back_what_it_made() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.dir("a");
        let root = scratch.open(options);
        let before = scratch.snapshot("root");
        std::fs::write(scratch.path("root/a/stop"), "").unwrap();
        let with_stop = scratch.snapshot("root");
        assert_kind(
            root.create_dir_all(&rel("a/stop/b")),
            ErrorKind::NotADirectory,
        );
        assert_eq!(scratch.snapshot("root"), with_stop);
        std::fs::remove_file(scratch.path("root/a/stop")).unwrap();
        assert_eq!(scratch.snapshot("root"), before);
        // The last level is longer than any filesystem takes: everything above it is taken back.
        let limits = handfast::Limits::new().with_segment(300);
        let path = RelPath::parse_with(format!("a/b/c/{}", "x".repeat(300)), &limits).unwrap();
        assert_kind(root.create_dir_all(&path), ErrorKind::TooLong);
        assert_eq!(scratch.snapshot("root"), before);
    });
}

#[test]
fn copy_tree_appears_whole_or_not_at_all() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        for a in 0..20 {
            scratch.file(&format!("t/a/b{a}/c/d/e/f"), &format!("{a}"));
        }
        std::fs::set_permissions(
            scratch.path("root/t/a"),
            std::fs::Permissions::from_mode(0o550),
        )
        .unwrap();
        let root = scratch.open(options);
        root.copy_tree(&rel("t"), &rel("copy")).unwrap();
        let strip = |lines: Vec<String>, name: &str| -> Vec<(String, String)> {
            lines
                .into_iter()
                .map(|line| {
                    let line = line.split_once(name).unwrap().1.to_owned();
                    let fields: Vec<_> = line.split(' ').collect();
                    (fields[0].to_owned(), format!("{} {}", fields[1], fields[4]))
                })
                .collect()
        };
        assert_eq!(
            strip(scratch.snapshot("root/copy"), "root/copy"),
            strip(scratch.snapshot("root/t"), "root/t")
        );
        assert_kind(
            root.copy_tree(&rel("t"), &rel("copy")),
            ErrorKind::IsADirectory,
        );
        assert_kind(
            root.copy_tree(&rel("t"), &rel("t/inner")),
            ErrorKind::Invalid,
        );
        assert_kind(root.copy_tree(&rel("t"), &rel("t")), ErrorKind::Invalid);
        assert_kind(root.copy_tree(&rel("none"), &rel("x")), ErrorKind::NotFound);
        let before = scratch.snapshot("root");
        assert_kind(
            root.copy_tree_with(&rel("t"), &rel("x"), TreeLimits::new().with_entries(30)),
            ErrorKind::Limit,
        );
        assert_eq!(scratch.snapshot("root"), before);
        scratch.link("a", "t/link").link("..", "t/a/b0/c/up");
        let copied = root.copy_tree(&rel("t"), &rel("linked"));
        match links {
            Links::Refuse => drop(assert_kind(copied, ErrorKind::Link)),
            Links::Beneath | Links::InRoot => {
                copied.unwrap();
                let target = std::fs::read_link(scratch.path("root/linked/link")).unwrap();
                assert_eq!(target.to_str(), Some("a"));
            }
        }
        scratch.link("../../outside", "t/out");
        let kind = match links {
            Links::Refuse => ErrorKind::Link,
            Links::Beneath | Links::InRoot => ErrorKind::Escape,
        };
        assert_kind(root.copy_tree(&rel("t"), &rel("y")), kind);
        scratch.assert_no_leftovers();
    });
}

#[test]
fn removing_takes_the_entry_and_nothing_else() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch
            .file("f", "")
            .file("d/x", "x")
            .dir("empty")
            .link("d", "dir")
            .link(scratch.path("outside"), "out")
            .link("none", "dangling")
            .fifo("fifo");
        let root = scratch.open(options);
        let outside = scratch.outside();
        assert_kind(root.remove_file(&rel("d")), ErrorKind::IsADirectory);
        assert_kind(root.remove_file(&rel("none")), ErrorKind::NotFound);
        assert_kind(
            root.remove_file(&RelPath::clean("f/").unwrap()),
            ErrorKind::NotADirectory,
        );
        assert_kind(
            root.remove_file(&RelPath::clean("dir/").unwrap()),
            ErrorKind::NotADirectory,
        );
        assert_kind(root.remove_dir(&rel("d")), ErrorKind::NotEmpty);
        assert_kind(root.remove_dir(&rel("f")), ErrorKind::NotADirectory);
        assert_kind(root.remove_dir(&rel("dir")), ErrorKind::NotADirectory);
        for entry in ["f", "out", "dangling", "fifo"] {
            root.remove_file(&rel(entry)).unwrap();
        }
        root.remove_dir(&rel("empty")).unwrap();
        root.remove_tree(&rel("dir")).unwrap();
        assert_eq!(
            scratch.read("root/d/x"),
            "x",
            "the link was removed, not what it led to"
        );
        assert_kind(root.remove_tree(&rel("dir")), ErrorKind::NotFound);
        assert_kind(
            root.remove_tree(&RelPath::clean("d/x/").unwrap()),
            ErrorKind::NotADirectory,
        );
        assert_eq!(scratch.outside(), outside);
    });
}

#[test]
fn remove_tree_removes_wide_and_deep_and_follows_nothing() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        for a in 0..10 {
            for b in 0..100 {
                scratch.file(&format!("t/d{a}/sub/f{b}"), "x");
            }
            scratch.link("../../../outside", &format!("t/d{a}/out"));
            scratch.fifo(&format!("t/d{a}/fifo"));
        }
        scratch.dir(&format!("t/{}", vec!["deep"; 100].join("/")));
        let root = scratch.open(options);
        let outside = scratch.outside();
        assert_kind(
            root.remove_tree_with(&rel("t"), TreeLimits::new().with_depth(3)),
            ErrorKind::Limit,
        );
        root.remove_tree(&rel("t")).unwrap();
        assert!(!scratch.path("root/t").exists());
        assert_eq!(scratch.outside(), outside);
        scratch.file("f", "");
        root.remove_tree(&rel("f")).unwrap();
        assert!(!scratch.path("root/f").exists());
    });
}

#[test]
fn temporary_files_and_directories_vanish() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.dir("d").dir("e");
        let root = scratch.open(options);
        let before = scratch.snapshot("root");
        let mut file = root.temp_file(&rel("d")).unwrap();
        file.write_all(b"temporary").unwrap();
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "temporary");
        drop(file);
        let dir = root.temp_dir(&rel("d")).unwrap();
        dir.root().create_dir_all(&rel("x/y/z")).unwrap();
        dir.root().write(&rel("x/y/f"), "f").unwrap();
        assert_ne!(scratch.snapshot("root"), before);
        drop(dir);
        assert_eq!(scratch.snapshot("root"), before);

        let mut file = root.temp_file(&rel("d")).unwrap();
        file.write_all(b"kept").unwrap();
        file.persist_new(&rel("e/kept"), WriteOptions::new())
            .unwrap();
        assert_eq!(scratch.read("root/e/kept"), "kept");
        assert_eq!(mode_of(&scratch, "root/e/kept"), 0o600);
        let mut file = root.temp_file(&rel("d")).unwrap();
        assert_kind(
            file.persist_new(&rel("e/kept"), WriteOptions::new()),
            ErrorKind::Exists,
        );
        let mut dir = root.temp_dir(&rel("d")).unwrap();
        dir.root().write(&rel("f"), "f").unwrap();
        dir.persist_new(&root, &rel("e/dir")).unwrap();
        assert_eq!(scratch.read("root/e/dir/f"), "f");
        drop((file, dir));
        scratch.assert_no_leftovers();
    });
}
