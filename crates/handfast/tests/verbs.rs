//! What each verb does when nobody interferes, on both backends.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::type_complexity,
    reason = "tests set their scenes with ambient calls"
)]

mod support;

use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use handfast::{
    Durability, Effect, ErrorKind, FileKind, HardLinks, Links, LockKind, OpenOptions, RelPath,
    RenameMode, Root, RootOptions, Specials, Timestamp, TreeLimits, WriteOptions,
};
use support::*;

fn mode_of(scratch: &Scratch, path: &str) -> u32 {
    std::fs::symlink_metadata(scratch.path(path))
        .unwrap()
        .permissions()
        .mode()
        & 0o7777
}

#[test]
fn read_gives_the_whole_file_and_keeps_to_its_limit() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("a/b/c.txt", "hello").file("empty", "");
        let root = scratch.open(options);
        assert_eq!(root.read(&rel("a/b/c.txt")).unwrap(), b"hello");
        assert_eq!(root.read(&rel("empty")).unwrap(), b"");
        assert_eq!(root.read_to_limit(&rel("a/b/c.txt"), 5).unwrap(), b"hello");
        assert_kind(root.read_to_limit(&rel("a/b/c.txt"), 4), ErrorKind::Limit);
        assert_kind(root.read(&rel("a/b")), ErrorKind::IsADirectory);
        assert_kind(root.read(&rel("a/x")), ErrorKind::NotFound);
        assert_kind(root.read(&rel("a/b/c.txt/d")), ErrorKind::NotADirectory);
        assert_kind(
            root.read(&RelPath::clean("a/b/c.txt/").unwrap()),
            ErrorKind::NotADirectory,
        );
    });
}

#[test]
fn read_of_a_file_larger_than_its_size_claims_is_whole() {
    each_backend(|backend| {
        // procfs files say they are empty.
        let own = format!("/proc/{}", std::process::id());
        let root = Root::open_ambient_with(own, options(backend)).unwrap();
        assert!(!root.read(&rel("status")).unwrap().is_empty());
    });
}

#[test]
fn open_options_open_what_they_say() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("f", "0123456789");
        let root = scratch.open(options);
        let mut text = String::new();
        root.open(&rel("f"))
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "0123456789");
        assert!(root.open(&rel("f")).unwrap().write(b"x").is_err());

        let mut file = root
            .open_with(&rel("f"), OpenOptions::new().write(true))
            .unwrap();
        file.seek(SeekFrom::Start(2)).unwrap();
        file.write_all(b"ab").unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        text.clear();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "01ab456789");

        let mut only = root
            .open_with(&rel("f"), OpenOptions::new().read(false).write(true))
            .unwrap();
        assert!(only.read(&mut [0]).is_err());

        root.open_with(&rel("f"), OpenOptions::new().append(true))
            .unwrap()
            .write_all(b"!")
            .unwrap();
        assert_eq!(scratch.read("root/f"), "01ab456789!");

        drop(
            root.open_with(&rel("f"), OpenOptions::new().write(true).truncate(true))
                .unwrap(),
        );
        assert_eq!(scratch.read("root/f"), "");

        let new = OpenOptions::new().write(true).create_new(true).mode(0o640);
        root.open_with(&rel("g"), new)
            .unwrap()
            .write_all(b"g")
            .unwrap();
        assert_eq!(scratch.read("root/g"), "g");
        assert_kind(root.open_with(&rel("g"), new), ErrorKind::Exists);
        let create = OpenOptions::new().write(true).create(true);
        drop(root.open_with(&rel("g"), create).unwrap());
        drop(root.open_with(&rel("h"), create).unwrap());
        assert_eq!(scratch.read("root/h"), "");
        assert_kind(root.open_with(&rel("x/h"), create), ErrorKind::NotFound);
        assert_kind(
            root.open_with(&rel("f/h"), create),
            ErrorKind::NotADirectory,
        );
        assert_kind(
            root.open_with(&rel("f"), OpenOptions::new().truncate(true)),
            ErrorKind::Invalid,
        );
        assert_kind(
            root.open_with(&rel("f"), OpenOptions::new().read(false)),
            ErrorKind::Invalid,
        );
        assert_kind(
            root.open_with(&rel("f"), OpenOptions::new().create(true)),
            ErrorKind::Invalid,
        );
        assert_kind(
            root.open_with(&rel("f"), OpenOptions::new().append(true).truncate(true)),
            ErrorKind::Invalid,
        );
    });
}

#[test]
fn descriptors_handed_out_block_and_are_not_inherited() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "x");
        let root = scratch.open(options(backend));
        let file = root.open(&rel("f")).unwrap();
        let flags = rustix::fs::fcntl_getfl(&file).unwrap();
        assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK));
        let append = root
            .open_with(&rel("f"), OpenOptions::new().append(true))
            .unwrap();
        assert!(
            rustix::fs::fcntl_getfl(&append)
                .unwrap()
                .contains(rustix::fs::OFlags::APPEND)
        );
    });
}

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
            Links::Beneath => {
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
            Links::Beneath => {
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
fn directories_are_created_and_their_handles_work() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        scratch
            .file("file", "")
            .dir("d")
            .link("d", "dir")
            .link("none", "dangling");
        let root = scratch.open(options);
        let made = root.create_dir(&rel("d/e")).unwrap().into_root().unwrap();
        made.write(&rel("f"), "x").unwrap();
        assert_eq!(scratch.read("root/d/e/f"), "x");
        assert_kind(root.create_dir(&rel("d/e")), ErrorKind::Exists);
        assert_kind(root.create_dir(&rel("dangling")), ErrorKind::Exists);
        assert_kind(root.create_dir(&rel("x/y")), ErrorKind::NotFound);

        let deep = root.create_dir_all(&rel("p/q/r/s")).unwrap();
        deep.into_root().unwrap().write(&rel("f"), "x").unwrap();
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
            Links::Beneath => {
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
fn read_dir_lists_everything_once() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        for number in 0..3000 {
            scratch.file(&format!("d/file-number-{number:05}"), "");
        }
        scratch
            .dir("d/sub")
            .link("sub", "d/link")
            .fifo("d/fifo")
            .link("d", "dir");
        let root = scratch.open(options);
        let list = |path: &str| {
            let mut found = Vec::new();
            let mut entries = root.read_dir(&rel(path))?;
            while let Some(entry) = entries.next_entry()? {
                assert_eq!(entry.metadata()?.kind, entry.kind());
                found.push((entry.name().to_string(), entry.kind()));
            }
            found.sort();
            Ok::<_, handfast::Error>(found)
        };
        let found = list("d").unwrap();
        assert_eq!(found.len(), 3003);
        assert!(found.windows(2).all(|pair| pair[0].0 != pair[1].0));
        assert!(found.contains(&("sub".into(), FileKind::Dir)));
        assert!(found.contains(&("link".into(), FileKind::Symlink)));
        assert!(found.contains(&("fifo".into(), FileKind::Fifo)));
        assert_kind(list("d/file-number-00000"), ErrorKind::NotADirectory);
        match links {
            Links::Refuse => drop(assert_kind(list("dir"), ErrorKind::Link)),
            Links::Beneath => assert_eq!(list("dir").unwrap(), found),
        }
        let mut top = root.read_dir(&RelPath::root()).unwrap();
        let mut count = 0;
        while top.next_entry().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, 2);
    });
}

#[test]
fn walk_lists_a_tree_and_keeps_to_its_limits() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        let mut expected = Vec::new();
        for a in 0..4 {
            expected.push(format!("d{a}"));
            for b in 0..5 {
                expected.push(format!("d{a}/e{b}"));
                for c in 0..6 {
                    scratch.file(&format!("t/d{a}/e{b}/f{c}"), "x");
                    expected.push(format!("d{a}/e{b}/f{c}"));
                }
            }
        }
        scratch.link("../t", "t/up").link("../../outside", "t/out");
        expected.extend(["up".to_owned(), "out".to_owned()]);
        expected.sort();
        let root = scratch.open(options);
        let walk = |limits| {
            let mut found = Vec::new();
            let mut walk = root.walk_with(&rel("t"), limits)?;
            while let Some(entry) = walk.next_entry()? {
                assert_eq!(entry.metadata()?.kind, entry.kind());
                found.push(String::from_utf8(entry.path()).unwrap());
            }
            found.sort();
            Ok::<_, handfast::Error>(found)
        };
        assert_eq!(walk(TreeLimits::new()).unwrap(), expected);
        assert_kind(walk(TreeLimits::new().with_entries(10)), ErrorKind::Limit);
        assert_kind(walk(TreeLimits::new().with_depth(1)), ErrorKind::Limit);
        assert_kind(
            walk(TreeLimits::new().with_time(Duration::ZERO)),
            ErrorKind::Limit,
        );
    });
}

#[test]
fn walk_goes_on_beside_a_directory_it_may_not_read() {
    if am_root() {
        skip("root may read everything");
        return;
    }
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch
            .file("t/a/x", "")
            .file("t/locked/x", "")
            .file("t/z/x", "");
        std::fs::set_permissions(
            scratch.path("root/t/locked"),
            std::fs::Permissions::from_mode(0o000),
        )
        .unwrap();
        let root = scratch.open(options);
        let mut walk = root.walk(&rel("t")).unwrap();
        let (mut found, mut errors) = (Vec::new(), Vec::new());
        loop {
            match walk.next_entry() {
                Ok(Some(entry)) => found.push(String::from_utf8(entry.path()).unwrap()),
                Ok(None) => break,
                Err(error) => errors.push((error.kind(), error.path().to_owned())),
            }
        }
        found.sort();
        assert_eq!(found, ["a", "a/x", "locked", "z", "z/x"]);
        assert_eq!(errors, [(ErrorKind::Denied, "t/locked".to_owned())]);
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
            Links::Beneath => {
                copied.unwrap();
                let target = std::fs::read_link(scratch.path("root/linked/link")).unwrap();
                assert_eq!(target.to_str(), Some("a"));
            }
        }
        scratch.link("../../outside", "t/out");
        let kind = match links {
            Links::Refuse => ErrorKind::Link,
            Links::Beneath => ErrorKind::Escape,
        };
        assert_kind(root.copy_tree(&rel("t"), &rel("y")), kind);
        scratch.assert_no_leftovers();
    });
}

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
        let a = root.open_dir(&rel("a")).unwrap().into_root().unwrap();
        let b = root.open_dir(&rel("b")).unwrap().into_root().unwrap();
        a.rename_to(&rel("f"), &b, &rel("g"), RenameMode::NoReplace)
            .unwrap();
        assert_eq!(scratch.read("root/b/g"), "f");
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
fn metadata_and_links() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        scratch
            .file("d/f", "12345")
            .link("d/f", "link")
            .link("d/../d/f", "round");
        let root = scratch.open(options);
        let seen = root.metadata(&rel("d/f")).unwrap();
        let std = std::fs::metadata(scratch.path("root/d/f")).unwrap();
        assert_eq!((seen.len, seen.kind, seen.nlink), (5, FileKind::File, 1));
        assert_eq!(
            (seen.identity.inode, seen.uid, seen.gid),
            (std.ino(), std.uid(), std.gid())
        );
        assert_eq!(seen.mode, std.permissions().mode() & 0o7777);
        assert_eq!(seen.modified.to_system_time(), std.modified().unwrap());
        assert_eq!(
            root.symlink_metadata(&rel("link")).unwrap().kind,
            FileKind::Symlink
        );
        assert_eq!(root.metadata(&RelPath::root()).unwrap().kind, FileKind::Dir);
        match links {
            Links::Refuse => {
                assert_kind(root.metadata(&rel("link")), ErrorKind::Link);
                assert_kind(root.read(&rel("round")), ErrorKind::Link);
            }
            Links::Beneath => {
                assert_eq!(root.metadata(&rel("link")).unwrap().identity, seen.identity);
                assert_eq!(root.read(&rel("round")).unwrap(), b"12345");
            }
        }
        assert_eq!(root.read_link(&rel("link")).unwrap().as_bytes(), b"d/f");
        assert_kind(root.read_link(&rel("d/f")), ErrorKind::Kind);
        assert_kind(root.read_link(&rel("d")), ErrorKind::Kind);
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
fn modes_owners_and_times_change_by_descriptor() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        scratch
            .file("f", "f")
            .dir("d")
            .link("f", "link")
            .fifo("fifo");
        let root = scratch.open(options);
        root.chmod(&rel("f"), 0o604).unwrap();
        assert_eq!(mode_of(&scratch, "root/f"), 0o604);
        root.chmod(&rel("d"), 0o711).unwrap();
        assert_eq!(mode_of(&scratch, "root/d"), 0o711);
        assert_kind(root.chmod(&rel("f"), 0o10000), ErrorKind::Invalid);
        assert_kind(root.chmod(&rel("fifo"), 0o600), ErrorKind::Kind);
        assert_kind(root.chmod(&RelPath::root(), 0o700), ErrorKind::Invalid);
        let time = Timestamp {
            seconds: 1_000_000_000,
            nanoseconds: 123_456_789,
        };
        root.set_times(&rel("f"), None, Some(time)).unwrap();
        assert_eq!(root.metadata(&rel("f")).unwrap().modified, time);
        let linked = root.chmod(&rel("link"), 0o640);
        match links {
            Links::Refuse => {
                assert_kind(linked, ErrorKind::Link);
                assert_eq!(mode_of(&scratch, "root/f"), 0o604);
            }
            Links::Beneath => {
                linked.unwrap();
                assert_eq!(mode_of(&scratch, "root/f"), 0o640);
            }
        }
        // A file that nobody may read can still be changed by its owner.
        root.chmod(&rel("f"), 0).unwrap();
        root.chmod(&rel("f"), 0o600).unwrap();
        let uid = std::fs::metadata(scratch.path("root/f")).unwrap().uid();
        root.chown(&rel("f"), Some(uid), None).unwrap();
        if am_root() {
            root.chown(&rel("f"), Some(12345), Some(54321)).unwrap();
            let meta = root.metadata(&rel("f")).unwrap();
            assert_eq!((meta.uid, meta.gid), (12345, 54321));
            root.write(&rel("f"), "new").unwrap();
            let meta = root.metadata(&rel("f")).unwrap();
            assert_eq!(
                (meta.uid, meta.gid),
                (12345, 54321),
                "the owner is kept where allowed"
            );
        } else {
            assert_kind(root.chown(&rel("f"), Some(0), None), ErrorKind::Denied);
        }
    });
}

#[test]
fn xattrs_in_the_user_namespace() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "f").link("f", "link");
        let root = scratch.open(options(backend));
        match root.set_xattr(&rel("f"), "user.colour", b"blue") {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                skip("this filesystem has no extended attributes");
                return;
            }
            set => set.unwrap(),
        }
        assert_eq!(
            root.get_xattr(&rel("f"), "user.colour").unwrap().unwrap(),
            b"blue"
        );
        assert_eq!(root.get_xattr(&rel("f"), "user.none").unwrap(), None);
        assert_eq!(root.list_xattrs(&rel("f")).unwrap(), ["user.colour"]);
        root.remove_xattr(&rel("f"), "user.colour").unwrap();
        assert_kind(
            root.remove_xattr(&rel("f"), "user.colour"),
            ErrorKind::NotFound,
        );
        for privileged in [
            "security.capability",
            "trusted.x",
            "system.posix_acl_access",
            "x",
        ] {
            assert_kind(
                root.set_xattr(&rel("f"), privileged, b"x"),
                ErrorKind::Denied,
            );
        }
        assert_kind(root.set_xattr(&rel("f"), "user.", b"x"), ErrorKind::Invalid);
        assert_kind(
            root.set_xattr(&rel("f"), "user.a\0b", b"x"),
            ErrorKind::Invalid,
        );
        assert_kind(
            root.set_xattr(&rel("link"), "user.x", b"x"),
            ErrorKind::Link,
        );
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

#[test]
fn locks_exclude_and_know_when_they_were_replaced() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch
            .dir("d")
            .link("d", "link")
            .hard_link("outside/secret", "hard")
            .fifo("fifo");
        let root = scratch.open(options);
        let soon = Duration::from_millis(20);
        let guard = root
            .lock(&rel("d/lock"), LockKind::Exclusive, soon)
            .unwrap();
        assert!(guard.verify().unwrap());
        assert_kind(
            root.lock(&rel("d/lock"), LockKind::Shared, soon),
            ErrorKind::Busy,
        );
        std::fs::rename(scratch.path("root/d/lock"), scratch.path("root/d/old")).unwrap();
        assert!(!guard.verify().unwrap());
        let second = root
            .lock(&rel("d/lock"), LockKind::Exclusive, soon)
            .unwrap();
        assert!(second.verify().unwrap());
        assert!(!guard.verify().unwrap());
        drop(second);
        let shared = root.lock(&rel("d/lock"), LockKind::Shared, soon).unwrap();
        let also = root.lock(&rel("d/lock"), LockKind::Shared, soon).unwrap();
        drop((shared, also));
        drop(
            root.lock(&rel("d/lock"), LockKind::Exclusive, soon)
                .unwrap(),
        );

        let dir = root.lock_dir(&rel("d"), LockKind::Exclusive, soon).unwrap();
        assert_kind(
            root.lock_dir(&rel("d"), LockKind::Exclusive, soon),
            ErrorKind::Busy,
        );
        assert!(dir.verify().unwrap());
        drop(dir);
        drop(
            root.lock_dir(&RelPath::root(), LockKind::Exclusive, soon)
                .unwrap(),
        );
        assert_kind(
            root.lock(&rel("link"), LockKind::Exclusive, soon),
            ErrorKind::Link,
        );
        assert_kind(
            root.lock(&rel("hard"), LockKind::Exclusive, soon),
            ErrorKind::HardLink,
        );
        assert_kind(
            root.lock(&rel("fifo"), LockKind::Exclusive, soon),
            ErrorKind::Kind,
        );
        assert_kind(
            root.lock(&rel("d"), LockKind::Exclusive, soon),
            ErrorKind::IsADirectory,
        );
    });
}

#[test]
fn the_root_itself_is_only_looked_at() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("f", "").dir("d");
        let root = scratch.open(options);
        let here = RelPath::root();
        root.metadata(&here).unwrap();
        root.open_dir(&here).unwrap();
        root.walk(&here).unwrap();
        assert_kind(root.read(&here), ErrorKind::Invalid);
        assert_kind(root.write(&here, ""), ErrorKind::Invalid);
        assert_kind(root.write_new(&here, ""), ErrorKind::Invalid);
        assert_kind(root.append(&here, ""), ErrorKind::Invalid);
        assert_kind(root.create_dir(&here), ErrorKind::Invalid);
        assert_kind(root.remove_file(&here), ErrorKind::Invalid);
        assert_kind(root.remove_dir(&here), ErrorKind::Invalid);
        assert_kind(root.remove_tree(&here), ErrorKind::Invalid);
        assert_kind(
            root.rename(&here, &rel("x"), RenameMode::Replace),
            ErrorKind::Invalid,
        );
        assert_kind(
            root.rename(&rel("f"), &here, RenameMode::Replace),
            ErrorKind::Invalid,
        );
        assert_kind(root.symlink("x", &here), ErrorKind::Invalid);
        assert_kind(root.hard_link(&rel("f"), &here), ErrorKind::Invalid);
        assert_kind(root.hard_link(&here, &rel("x")), ErrorKind::Invalid);
        assert_kind(root.copy(&here, &rel("x")), ErrorKind::Invalid);
        assert_kind(root.copy_tree(&rel("d"), &here), ErrorKind::Invalid);
    });
}

#[test]
fn special_files_only_where_they_are_allowed() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.fifo("fifo");
        let _socket = std::os::unix::net::UnixListener::bind(scratch.path("root/socket")).unwrap();
        let root = scratch.open(options(backend));
        for special in ["fifo", "socket"] {
            assert_kind(root.open(&rel(special)), ErrorKind::Kind);
            assert_kind(root.read(&rel(special)), ErrorKind::Kind);
            assert_kind(root.write(&rel(special), "x"), ErrorKind::Kind);
            assert_kind(root.append(&rel(special), "x"), ErrorKind::Kind);
            assert_kind(root.copy(&rel(special), &rel("x")), ErrorKind::Kind);
            assert_kind(root.chmod(&rel(special), 0o600), ErrorKind::Kind);
            assert_kind(
                root.open_with(&rel(special), OpenOptions::new().read(false).write(true)),
                ErrorKind::Kind,
            );
            root.metadata(&rel(special)).unwrap();
        }
        let allowing = scratch.open(options(backend).specials(Specials::Allow));
        allowing.open(&rel("fifo")).unwrap();
        root.remove_file(&rel("socket")).unwrap();
    });
}

#[test]
fn a_root_must_be_a_directory_and_not_a_link() {
    let scratch = Scratch::new();
    scratch.file("f", "").dir("d").link("d", "link");
    let open = |path: &str| Root::open_ambient(scratch.path(path));
    assert_kind(open("root/f"), ErrorKind::NotADirectory);
    assert_kind(open("root/link"), ErrorKind::Link);
    assert_kind(open("root/link/"), ErrorKind::Link);
    assert_kind(open("root/link///"), ErrorKind::Link);
    assert_kind(open("root/none"), ErrorKind::NotFound);
    assert_kind(Root::open_ambient(""), ErrorKind::Invalid);
    open("root/d/").unwrap();
    Root::open_ambient("/").unwrap();
    Root::open_ambient(".").unwrap();
    let error = open("root/none").unwrap_err();
    assert!(
        !error.to_string().contains("handfast-test"),
        "no host path: {error}"
    );
    let fd = std::fs::File::open(scratch.path("root/f")).unwrap();
    assert_kind(
        Root::from_fd(fd.into(), RootOptions::new()),
        ErrorKind::NotADirectory,
    );
}

#[test]
fn denied_objects_are_denied_under_any_name() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("d/state/key", "secret").file("d/f", "f");
        let open = scratch.open(options.clone());
        let state = open.metadata(&rel("d/state")).unwrap().identity;
        let file = open.metadata(&rel("d/f")).unwrap().identity;
        let root = scratch.open(options.deny(state).deny(file));
        std::fs::rename(scratch.path("root/d/state"), scratch.path("root/moved")).unwrap();
        std::fs::hard_link(scratch.path("root/d/f"), scratch.path("root/g")).unwrap();
        let denied = ErrorKind::Denied;
        assert_kind(root.read(&rel("moved/key")), denied);
        assert_kind(root.read_dir(&rel("moved")), denied);
        assert_kind(root.metadata(&rel("moved")), denied);
        assert_kind(root.walk(&rel("moved")), denied);
        assert_kind(root.write(&rel("moved/new"), ""), denied);
        assert_kind(root.create_dir_all(&rel("moved/a/b")), denied);
        assert_kind(root.remove_tree(&rel("moved")), denied);
        assert_kind(
            root.rename(&rel("moved"), &rel("x"), RenameMode::Replace),
            denied,
        );
        assert_kind(
            root.rename(&rel("d"), &rel("moved"), RenameMode::Exchange),
            denied,
        );
        for name in ["d/f", "g"] {
            assert_kind(root.read(&rel(name)), denied);
            assert_kind(root.write(&rel(name), ""), denied);
            assert_kind(root.remove_file(&rel(name)), denied);
            assert_kind(root.copy(&rel(name), &rel("x")), denied);
            assert_kind(root.hard_link(&rel(name), &rel("x")), denied);
        }
        std::fs::rename(scratch.path("root/moved"), scratch.path("root/d/state")).unwrap();
        assert_kind(root.remove_tree(&rel("d")), denied);
        assert_eq!(scratch.read("root/d/state/key"), "secret");
        assert_eq!(scratch.read("root/d/f"), "f");
        assert_kind(root.copy_tree(&rel("d"), &rel("x")), denied);
        let mut walk = root.walk(&rel("d")).unwrap();
        let mut kinds = Vec::new();
        loop {
            match walk.next_entry() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => kinds.push(error.kind()),
            }
        }
        assert_eq!(kinds, [denied]);
    });
}

#[test]
fn errors_name_verb_and_path_and_never_a_host_path_or_target() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch
            .link(scratch.path("outside/secret"), "esc\u{1b}ape\n")
            .link("loop", "loop");
        let root = scratch.open(options);
        let hostile = rel("esc\u{1b}ape\n");
        let errors = [
            root.read(&hostile).unwrap_err(),
            root.write(&hostile, "").unwrap_err(),
            root.chmod(&hostile, 0o600).unwrap_err(),
            root.create_dir_all(&hostile).unwrap_err(),
            root.read_dir(&hostile).unwrap_err(),
            root.rename(&rel("none"), &hostile, RenameMode::NoReplace)
                .unwrap_err(),
            root.read(&rel("loop")).unwrap_err(),
        ];
        for error in errors {
            let text = format!("{error} {error:?} {}", error.detail());
            assert!(!text.contains("handfast-test"), "{text}");
            assert!(!text.contains("secret"), "{text}");
            assert!(!text.contains('\u{1b}') && !text.contains('\n'), "{text}");
            assert!(text.contains(error.verb().name()), "{text}");
            assert_eq!(error.effect(), Effect::None);
        }
    });
}

#[test]
fn non_utf8_names_are_names_like_any_other() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        let root = scratch.open(options);
        let path = rel(b"\xff\xfe/\x80");
        root.create_dir(&rel(b"\xff\xfe")).unwrap();
        root.write(&path, "x").unwrap();
        assert_eq!(root.read(&path).unwrap(), b"x");
        let error = root.read(&rel(b"\xff\xfe/\x81")).unwrap_err();
        assert_eq!(error.path(), "\\xff\\xfe/\\x81");
        root.remove_tree(&rel(b"\xff\xfe")).unwrap();
    });
}

#[test]
fn a_trailing_slash_is_answered_by_what_is_there() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        scratch.file("f", "f").dir("d").link("d", "link");
        let root = scratch.open(options);
        let clean = |text: &str| RelPath::clean(text).unwrap();
        let kinds = |path: &str| {
            let path = clean(path);
            [
                root.read(&path).map(drop).unwrap_err().kind(),
                root.version(&path).map(drop).unwrap_err().kind(),
                root.write(&path, "").map(drop).unwrap_err().kind(),
                root.append(&path, "").map(drop).unwrap_err().kind(),
            ]
        };
        assert_eq!(kinds("f/"), [ErrorKind::NotADirectory; 4]);
        assert_eq!(kinds("d/"), [ErrorKind::IsADirectory; 4]);
        assert_eq!(kinds("none/"), [ErrorKind::NotFound; 4]);
        assert_eq!(
            kinds("link/"),
            [match links {
                Links::Refuse => ErrorKind::Link,
                Links::Beneath => ErrorKind::IsADirectory,
            }; 4]
        );
        assert_kind(root.remove_file(&clean("d/")), ErrorKind::IsADirectory);
        assert_kind(root.remove_file(&clean("link/")), ErrorKind::NotADirectory);
        assert!(scratch.path("root/d").is_dir());
    });
}

#[test]
fn the_root_is_not_changed_through_a_link_to_it() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("d").link(".", "here").link("d/..", "up");
        let before = mode_of(&scratch, "root");
        let root = scratch.open(beneath(backend));
        for name in ["here", "up"] {
            assert_kind(root.chmod(&rel(name), 0o700), ErrorKind::Invalid);
            assert_kind(root.set_times(&rel(name), None, None), ErrorKind::Invalid);
            assert_kind(root.chown(&rel(name), None, None), ErrorKind::Invalid);
            assert_kind(
                root.set_xattr(&rel(name), "user.x", b""),
                ErrorKind::Invalid,
            );
        }
        assert_eq!(mode_of(&scratch, "root"), before);
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
