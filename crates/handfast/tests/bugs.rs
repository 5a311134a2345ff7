//! Bugs that others shipped, each once. The numbers are those of the project's catalogue.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::type_complexity,
    reason = "tests set their scenes with ambient calls"
)]
#![cfg(supported)]

mod support;

use std::os::unix::fs::PermissionsExt;

use handfast::{Backend, ErrorKind, Limits, Links, OpenOptions, RelPath, RenameMode, WriteOptions};
use support::*;

fn clean(text: &str) -> RelPath {
    RelPath::clean(text).unwrap()
}

/// CVE-2026-39822 (Go): a trailing slash made the last link be followed.
#[test]
fn b01_a_trailing_slash_follows_nothing() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        scratch
            .link(scratch.path("outside"), "link")
            .link("../outside", "relative");
        let root = scratch.open(options);
        let kind = if links == Links::Refuse {
            ErrorKind::Link
        } else {
            ErrorKind::Escape
        };
        for name in ["link/", "relative/", "link/.", "link//"] {
            assert_kind(root.read_dir(&clean(name)), kind);
            assert_kind(root.open_dir(&clean(name)), kind);
            assert_kind(root.create_dir_all(&clean(name)), kind);
            assert_kind(
                root.symlink_metadata(&clean(name)),
                ErrorKind::NotADirectory,
            );
            assert_kind(root.remove_file(&clean(name)), ErrorKind::NotADirectory);
            assert_kind(root.remove_tree(&clean(name)), ErrorKind::NotADirectory);
        }
        assert_eq!(scratch.read("outside/secret"), "outside");
    });
}

/// GHSA-hp8f-xmx4-4qrg (cap-primitives): the same through a link whose target ends in a slash.
#[test]
fn b02_a_trailing_slash_in_a_target_follows_nothing_outside() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch
            .link("evil/", "first")
            .link(scratch.path("outside"), "evil")
            .link("evil2/", "second")
            .link("../outside/", "evil2");
        let root = scratch.open(options);
        for name in ["first", "second", "first/secret", "second/secret"] {
            let error = root.metadata(&rel(name)).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::Link | ErrorKind::Escape),
                "{name}: {error}"
            );
            assert!(root.read(&rel(name)).is_err());
            assert!(root.write(&rel(name), "x").is_err());
        }
        assert_eq!(scratch.read("outside/secret"), "outside");
    });
}

/// CVE-2025-22873 (Go): `../` opened the parent.
#[test]
fn b03_the_parent_is_refused_in_every_spelling() {
    for text in [
        "..", "../", "../.", "./..", "a/../..", "..//", "a/..", "a/../",
    ] {
        assert_kind(RelPath::clean(text), ErrorKind::Invalid);
        assert_kind(RelPath::parse(text), ErrorKind::Invalid);
    }
}

/// CVE-2026-32282 (Go) and relatives: chmod followed a link.
#[test]
fn b04_chmod_touches_the_judged_object_only() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        scratch.link("../outside/secret", "link");
        let root = scratch.open(options);
        let kind = if links == Links::Refuse {
            ErrorKind::Link
        } else {
            ErrorKind::Escape
        };
        assert_kind(root.chmod(&rel("link"), 0o777), kind);
        let mode = std::fs::metadata(scratch.path("outside/secret"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o111, 0);
    });
}

/// CVE-2022-21658 (Rust's standard library) and CVE-2018-6954: removal followed a link.
#[test]
fn b08_removal_follows_nothing() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch
            .dir("t")
            .link("../../outside", "t/out")
            .link("../outside", "top");
        let outside = scratch.outside();
        let root = scratch.open(options);
        root.remove_tree(&rel("t")).unwrap();
        root.remove_tree(&rel("top")).unwrap();
        assert_eq!(scratch.outside(), outside);
    });
}

/// GHSA-2r75-cxrj-cmph (wasmtime): truncation through a handle for reading.
#[test]
fn b09_a_handle_for_reading_cannot_truncate() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "content");
        let root = scratch.open(options(backend));
        let file = root.open(&rel("f")).unwrap();
        assert!(file.set_len(0).is_err());
        assert_eq!(scratch.read("root/f"), "content");
    });
}

/// cap-std issues 79 and 122: `..` of a link's target skipped the search permission.
#[test]
fn b12_search_permission_holds_when_a_directory_is_left() {
    if am_root() {
        skip("root may search everything");
        return;
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch
            .file("f", "f")
            .dir("locked")
            .link("locked/../f", "via")
            .link("locked/.", "dot");
        let locked = scratch.path("root/locked");
        std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o600)).unwrap();
        let root = scratch.open(beneath(backend));
        assert_kind(root.read(&rel("via")), ErrorKind::Denied);
        assert_kind(root.metadata(&rel("dot")), ErrorKind::Denied);
        std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(root.read(&rel("via")).unwrap(), b"f");
    });
}

/// securejoin 0.3.5: two racing mkdir-alls, and one of them failed.
#[test]
fn b19_racing_create_dir_alls_all_succeed() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        let root = scratch.open(options);
        for round in 0..30 {
            let path = rel(format!("r{round}/a/b/c/d"));
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| root.create_dir_all(&path).unwrap());
                }
            });
        }
    });
}

/// securejoin 0.3.3: what was made was compared with what was asked for, and differed by an ACL.
#[test]
fn b18_modes_of_what_is_made_are_not_second_guessed() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("d");
        std::fs::set_permissions(
            scratch.path("root/d"),
            std::fs::Permissions::from_mode(0o3777),
        )
        .unwrap();
        let root = scratch.open(options(backend));
        root.create_dir_all(&rel("d/a/b")).unwrap();
        root.write(&rel("d/a/f"), "x").unwrap();
    });
}

/// path_jail 0.5.0: reading and writing opened for writing only.
#[test]
fn b29_every_combination_of_access_does_what_it_says() {
    use std::io::{Read, Seek, SeekFrom, Write};
    each_policy(|options, _| {
        for read in [false, true] {
            for write in [false, true] {
                for append in [false, true] {
                    let scratch = Scratch::new();
                    scratch.file("f", "0123");
                    let root = scratch.open(options.clone());
                    let how = OpenOptions::new().read(read).write(write).append(append);
                    let Ok(mut file) = root.open_with(&rel("f"), how) else {
                        assert!(!read && !write && !append);
                        continue;
                    };
                    let mut byte = [0];
                    assert_eq!(file.read(&mut byte).is_ok(), read);
                    file.seek(SeekFrom::Start(0)).unwrap();
                    assert_eq!(file.write(b"x").is_ok(), write || append);
                    let expected = match (write || append, append) {
                        (false, _) => "0123",
                        (_, true) => "0123x",
                        (_, false) => "x123",
                    };
                    assert_eq!(scratch.read("root/f"), expected);
                }
            }
        }
    });
}

/// soft-canonicalize 0.5.6 and issue 53: `..` after a link counts from where the link led.
#[test]
fn b31_dotdot_counts_from_where_the_link_led() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch
            .file("a/f", "right")
            .file("f", "wrong")
            .dir("a/b")
            .link("a/b", "link")
            .link("link/../f", "via")
            .link("/../outside/secret", "jump");
        let root = scratch.open(beneath(backend));
        assert_eq!(root.read(&rel("via")).unwrap(), b"right");
        assert_kind(root.read(&rel("jump")), ErrorKind::Escape);
    });
}

/// strict-path, soft-canonicalize: other string parameters are hostile too.
#[test]
fn b33_every_string_is_hostile() {
    let scratch = Scratch::new();
    scratch.file("f", "");
    let root = scratch.open(handfast::RootOptions::new());
    for name in ["", "user.", "user.\0", "../x", "user./../x\0"] {
        assert!(root.set_xattr(&rel("f"), name, b"").is_err(), "{name:?}");
    }
    for target in ["", "\0", "/", "//", "../..", "a/../../.."] {
        assert!(root.symlink(target, &rel("l")).is_err(), "{target:?}");
    }
    for version in ["", "v1", "\0", "../..", "v1.1.1.1-1.1.1-1.1-1.zz"] {
        assert!(version.parse::<handfast::Version>().is_err(), "{version:?}");
    }
}

/// agentos PR 1670: metadata asked for read permission; a rename across mounts was done in two
/// steps; recursion; existence told through a link.
#[test]
fn b34_metadata_needs_no_permission_on_the_object_and_links_tell_nothing() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        scratch.file("f", "f").link("../outside", "out");
        std::fs::set_permissions(
            scratch.path("root/f"),
            std::fs::Permissions::from_mode(0o000),
        )
        .unwrap();
        let root = scratch.open(options);
        root.metadata(&rel("f")).unwrap();
        let there = root.metadata(&rel("out/secret")).unwrap_err();
        let missing = root.metadata(&rel("out/none")).unwrap_err();
        assert_eq!(there.kind(), missing.kind());
        let kind = if links == Links::Refuse {
            ErrorKind::Link
        } else {
            ErrorKind::Escape
        };
        assert_eq!(there.kind(), kind);
    });
}

/// ANOLISA 2298: the record showed the harmless path, not the object.
#[test]
fn b35_events_name_the_object() {
    use std::sync::{Arc, Mutex};
    struct Log(Mutex<Vec<Option<u64>>>);
    impl handfast::Recorder for Log {
        fn record(&self, event: &handfast::Event<'_>) -> Result<(), handfast::RecordError> {
            self.0
                .lock()
                .unwrap()
                .push(event.object.map(|object| object.identity.inode));
            Ok(())
        }
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("real", "x").link("real", "harmless");
        let log = Arc::new(Log(Mutex::new(Vec::new())));
        let root = scratch
            .open(beneath(backend))
            .with_recorder(Arc::clone(&log) as Arc<dyn handfast::Recorder>);
        let real = root.symlink_metadata(&rel("real")).unwrap().identity.inode;
        root.write(&rel("harmless"), "y").unwrap();
        let told: Vec<_> = std::mem::take(&mut *log.0.lock().unwrap());
        assert_eq!(told[1], Some(real), "the intent names what is replaced");
    });
}

/// z-shell 581: the staging file was replaced before the rename.
#[test]
fn b36_what_stands_under_the_name_afterwards_is_compared() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("d");
        let root = scratch.open(options(backend));
        let written = root.write(&rel("d/f"), "mine").unwrap();
        assert!(written.verify(&root).unwrap());
        std::fs::write(scratch.path("root/d/g"), "other").unwrap();
        std::fs::rename(scratch.path("root/d/g"), scratch.path("root/d/f")).unwrap();
        assert!(!written.verify(&root).unwrap());
        std::fs::remove_file(scratch.path("root/d/f")).unwrap();
        assert!(!written.verify(&root).unwrap());
    });
}

/// openclaw 114635: the mode was set after the rename, through the name.
#[test]
fn b37_the_mode_is_there_before_the_name_is() {
    if !have_program("strace") {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("f", "old");
    std::fs::set_permissions(
        scratch.path("root/f"),
        std::fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    let log = scratch.path("trace");
    let output = std::process::Command::new("strace")
        .args([
            "-f",
            "-o",
            log.to_str().unwrap(),
            "-e",
            "trace=fchmod,chmod,fchmodat,linkat,renameat",
        ])
        .arg(victim())
        .args([
            "write",
            scratch.root_path().to_str().unwrap(),
            "auto",
            "f",
            "new",
            "none",
        ])
        .output()
        .unwrap();
    assert_success(&output);
    let text = std::fs::read_to_string(&log).unwrap();
    let calls: Vec<_> = text
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1)?.split_once('('))
        .map(|(name, _)| name)
        .collect();
    assert!(calls.contains(&"fchmod"), "{calls:?}");
    assert_eq!(
        calls.last(),
        Some(&"renameat"),
        "nothing is changed by name: {calls:?}"
    );
    assert!(
        !calls.contains(&"chmod") && !calls.contains(&"fchmodat"),
        "{calls:?}"
    );
}

/// CVE-2025-4517 (Python): the check gave up at PATH_MAX and the kernel did not.
#[test]
fn b39_long_paths_are_resolved_by_the_same_rules() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        let root = scratch.open(options);
        let limits = Limits::new().with_total(100_000).with_depth(10_000);
        let long = vec!["d".repeat(200); 60].join("/");
        let path = RelPath::parse_with(&long, &limits).unwrap();
        assert!(path.as_bytes().len() > 8192);
        let deep = root.create_dir_all(&path).unwrap().into_root();
        deep.write(&rel("f"), "deep").unwrap();
        let file = RelPath::parse_with(format!("{long}/f"), &limits).unwrap();
        assert_eq!(root.read(&file).unwrap(), b"deep");
        root.write(&file, "deeper").unwrap();
        assert_eq!(deep.read(&rel("f")).unwrap(), b"deeper");
        deep.write(&rel("g"), "x").unwrap();
        // A link at the far end that leaves the root is still seen.
        rustix::fs::symlinkat(scratch.path("outside"), &deep, "out").unwrap();
        let out = RelPath::parse_with(format!("{long}/out/secret"), &limits).unwrap();
        let kind = if links == Links::Refuse {
            ErrorKind::Link
        } else {
            ErrorKind::Escape
        };
        assert_kind(root.read(&out), kind);
        root.remove_tree(&rel("d".repeat(200))).unwrap();
    });
}

/// gVisor 14786: `O_DIRECTORY|O_NOFOLLOW` follows links there. The walk never relies on the pair.
#[test]
fn b40_the_walk_pins_and_looks_before_it_opens_a_directory() {
    if !have_program("strace") {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("t/a/f", "");
    let log = scratch.path("trace");
    let output = std::process::Command::new("strace")
        .args(["-f", "-o", log.to_str().unwrap(), "-e", "trace=openat"])
        .arg(victim())
        .args([
            "copy-tree",
            scratch.root_path().to_str().unwrap(),
            "walk",
            "t",
            "copy",
        ])
        .output()
        .unwrap();
    assert_success(&output);
    let text = std::fs::read_to_string(&log).unwrap();
    let after = text.split("handfast-marker").last().unwrap();
    for line in after.lines().filter(|line| !line.contains("O_PATH")) {
        let both = line.contains("O_DIRECTORY") && line.contains("O_NOFOLLOW");
        assert!(!both, "{line}");
    }
}

/// rcore 2479: an emulation that takes the flags and ignores them. Here the real kernel is probed.
#[test]
fn b41_the_kernel_was_asked_before_it_was_trusted() {
    if !kernel_available() {
        skip("openat2 is masked or absent");
        return;
    }
    let scratch = Scratch::new();
    let enforcement = scratch.open(handfast::RootOptions::new()).enforcement();
    assert_eq!(enforcement.backend, Backend::Kernel);
    assert_eq!(enforcement.reason, handfast::BackendReason::Probed);
}

/// librefang 6299: a link above a directory that does not exist yet.
#[test]
fn b45_a_link_above_what_is_missing_is_met() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.link("../outside", "link");
        let outside = scratch.outside();
        let root = scratch.open(options);
        for path in ["link/new", "link/new/deeper", "link/new/deeper/still"] {
            assert!(root.create_dir_all(&rel(path)).is_err());
            assert!(root.write(&rel(path), "x").is_err());
            assert!(root.create_dir(&rel(path)).is_err());
            assert!(
                root.rename(&rel("link"), &rel(path), RenameMode::NoReplace)
                    .is_err()
            );
            assert!(
                root.write_with(&rel(path), "x", WriteOptions::new())
                    .is_err()
            );
        }
        assert_eq!(scratch.outside(), outside);
    });
}
