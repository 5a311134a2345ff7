//! Paths, links and identities.

use crate::support::*;
use handfast::{ErrorKind, Links, OpenOptions, RelPath, RenameMode, Root, WriteOptions};
use std::process::Command;

#[test]
fn attack_06_a_sibling_with_the_same_prefix_is_outside() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.path("root-evil")).unwrap();
        std::fs::write(scratch.path("root-evil/f"), "outside").unwrap();
        scratch.link("../root-evil", "evil");
        let root = scratch.open(options);
        let kind = if links == Links::Refuse {
            ErrorKind::Link
        } else {
            ErrorKind::Escape
        };
        assert_kind(root.read(&rel("evil/f")), kind);
        assert_kind(root.write(&rel("evil/g"), ""), kind);
    });
}

#[test]
fn attack_07_magic_links_are_refused_wherever_they_stand() {
    each_policy(|options, _| {
        let root = Root::open_ambient_with("/proc", options).unwrap();
        let own = std::process::id();
        for path in ["root", "cwd", "exe", "fd/0", "ns/mnt"] {
            assert_kind(root.open(&rel(format!("{own}/{path}"))), ErrorKind::Link);
        }
        for path in [
            "root/etc",
            "cwd/Cargo.toml",
            "root/proc/self/root",
            "task/self/root",
        ] {
            let error = root.metadata(&rel(format!("{own}/{path}"))).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::Link | ErrorKind::NotFound),
                "{path}: {error}"
            );
        }
        // As itself it can be looked at.
        assert!(
            root.symlink_metadata(&rel(format!("{own}/root")))
                .unwrap()
                .is_symlink()
        );
    });
}

#[test]
fn attack_19_nothing_is_truncated_before_the_check() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch
            .hard_link("outside/secret", "hard")
            .link("../outside/secret", "link");
        let root = scratch.open(options);
        let truncate = OpenOptions::new().write(true).create(true).truncate(true);
        for name in ["hard", "link"] {
            root.open_with(&rel(name), truncate).unwrap_err();
            assert_eq!(scratch.read("outside/secret"), "outside");
        }
    });
}

#[test]
fn attack_25_a_moved_link_is_judged_when_it_is_followed() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("d/f", "f").dir("d/e").link("../f", "d/e/link");
        let root = scratch.open(beneath(backend));
        assert_eq!(root.read(&rel("d/e/link")).unwrap(), b"f");
        root.rename(&rel("d/e/link"), &rel("link"), RenameMode::NoReplace)
            .unwrap();
        assert_kind(root.read(&rel("link")), ErrorKind::Escape);
    });
}

#[test]
fn attack_27_an_entry_is_asked_of_the_held_directory() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("d/secret", "12");
        let root = scratch.open(options(backend));
        let mut list = root.read_dir(&rel("d")).unwrap();
        let entry = list.next_entry().unwrap().unwrap();
        // The name of the directory now leads outside, where a file of the same name stands.
        std::fs::rename(scratch.path("root/d"), scratch.path("root/e")).unwrap();
        scratch.link("../outside", "d");
        assert_eq!(entry.metadata().unwrap().len, 2);
    });
}

#[test]
fn attack_40_a_reused_inode_number_is_another_object() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        let root = scratch.open(options(backend));
        root.write(&rel("f"), "same").unwrap();
        let first = root.metadata(&rel("f")).unwrap();
        let version = root.version(&rel("f")).unwrap();
        for _ in 0..50 {
            std::fs::remove_file(scratch.path("root/f")).unwrap();
            std::fs::write(scratch.path("root/f"), "same").unwrap();
            let now = root.metadata(&rel("f")).unwrap();
            if now.identity.inode == first.identity.inode && now.identity.born.is_some() {
                assert!(!now.identity.same_object(&first.identity));
                assert_kind(root.write_if(&rel("f"), &version, "x"), ErrorKind::Stale);
                return;
            }
        }
        skip("this filesystem does not reuse inode numbers at once, or keeps no birth times");
    });
}

/// A link's text alone must not use up the process's descriptors.
#[test]
fn attack_49_a_long_link_does_not_use_up_descriptors() {
    let scratch = Scratch::new();
    let deep = vec!["a"; 1500].join("/");
    let root = scratch.open(beneath(handfast::BackendChoice::Walk));
    let limits = handfast::Limits::new().with_depth(2000).with_total(10_000);
    let path = RelPath::parse_with(&deep, &limits).unwrap();
    scratch
        .open(options(handfast::BackendChoice::Walk))
        .create_dir_all(&path)
        .unwrap();
    scratch.link(&deep, "link");
    assert_kind(root.metadata(&rel("link")), ErrorKind::TooLong);
}

#[test]
fn attack_50_the_process_root_may_change() {
    let scratch = Scratch::new();
    scratch.file("f", "f").link("/secret", "out");
    let output = if am_root() {
        Command::new(victim())
            .args(["chroot", scratch.root_path().to_str().unwrap()])
            .arg(scratch.path("outside"))
            .output()
            .ok()
    } else {
        let outside = scratch.path("outside");
        unshared(&[
            "chroot",
            scratch.root_path().to_str().unwrap(),
            outside.to_str().unwrap(),
        ])
    };
    if let Some(output) = output {
        assert_success(&output);
        assert_eq!(scratch.read("root/g"), "g");
    }
}

/// A parent that leaves between resolving and publishing is found out by looking again.
#[test]
fn attack_04_a_written_file_that_left_the_root_is_noticed() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("a");
        let root = scratch.open(options(backend));
        let staged = root.stage(&rel("a/f"), WriteOptions::new()).unwrap();
        std::fs::rename(scratch.path("root/a"), scratch.path("outside/dir/a")).unwrap();
        let written = staged.commit().unwrap();
        assert!(!written.verify(&root).unwrap());
    });
}

#[test]
fn attack_05_a_root_that_was_removed_says_so() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        let root = scratch.open(options(backend));
        assert!(root.enforcement().attached);
        std::fs::remove_dir(scratch.root_path()).unwrap();
        let enforcement = root.enforcement();
        assert!(!enforcement.attached);
        assert!(!enforcement.weaknesses().is_empty());
        // Filesystems differ in what they say to this.
        let error = root.write(&rel("f"), "").unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Denied),
            "{error}"
        );
        std::fs::create_dir(scratch.root_path()).unwrap();
    });
}

/// A lookup answers by the same rules as everything else.
#[test]
fn a_lookup_shows_nothing_that_is_denied() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "f");
        let identity = scratch
            .open(options(backend))
            .metadata(&rel("f"))
            .unwrap()
            .identity;
        let root = scratch.open(options(backend).deny(identity));
        let name = handfast::Name::parse("f").unwrap();
        let top = handfast::Files::top(&root).unwrap();
        assert_kind(
            handfast::Files::lookup(&root, &top, name.as_ref()),
            ErrorKind::Denied,
        );
        assert_kind(
            Root::open_ambient(scratch.path("outside/none/.")),
            ErrorKind::NotFound,
        );
        std::os::unix::fs::symlink("outside", scratch.path("link")).unwrap();
        for name in ["link/.", "link/./", "link/././."] {
            assert_kind(Root::open_ambient(scratch.path(name)), ErrorKind::Link);
        }
    });
}
