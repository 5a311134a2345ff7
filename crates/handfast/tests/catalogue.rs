//! Rows of the attack catalogue that have no better home.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::type_complexity,
    reason = "tests set their scenes with ambient calls"
)]
#![cfg(target_os = "linux")]

mod support;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use handfast::{
    ErrorKind, FilesystemKind, Links, LockKind, OpenOptions, RecoveryOutcome, RelPath, RenameMode,
    Root, WriteOptions,
};
use support::*;

/// Runs the victim in a namespace of its own where it may mount; `None` if there is none.
fn unshared(args: &[&str]) -> Option<std::process::Output> {
    let flags = if am_root() { "-m" } else { "-Urm" };
    let output = Command::new("unshare")
        .arg(flags)
        .arg(victim())
        .args(args)
        .output()
        .unwrap();
    let cannot = output.status.code() == Some(3)
        || String::from_utf8_lossy(&output.stderr).contains("unshare:");
    if cannot {
        assert!(
            !am_root() || std::env::var_os("CI").is_none(),
            "root in CI can mount"
        );
        skip("no namespace can be made here");
        return None;
    }
    Some(output)
}

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
fn attack_29_umask_and_setgid() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        let root = scratch.root_path();
        let output = Command::new(victim())
            .args(["umask", root.to_str().unwrap(), backend_name(backend)])
            .output()
            .unwrap();
        assert_success(&output);
        scratch.dir("shared");
        let shared = scratch.path("root/shared");
        std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o2775)).unwrap();
        let root = scratch.open(options(backend));
        root.create_dir_all(&rel("shared/a/b")).unwrap();
        let made = std::fs::metadata(scratch.path("root/shared/a/b")).unwrap();
        assert_eq!(
            made.permissions().mode() & 0o2000,
            0o2000,
            "set-group-id is inherited"
        );
        assert_eq!(made.gid(), std::fs::metadata(&shared).unwrap().gid());
        root.create_dir_with(&rel("plain"), 0o6777).unwrap();
        assert_eq!(
            root.metadata(&rel("plain")).unwrap().mode & 0o6000,
            0,
            "and never asked for"
        );
    });
}

#[test]
fn attack_30_a_default_acl_does_not_widen_an_exact_mode() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("d");
        // user::rwx, group::rwx, mask::rwx, other::rwx as a default list.
        let mut acl = 2_u32.to_le_bytes().to_vec();
        for tag in [0x01_u16, 0x04, 0x10, 0x20] {
            acl.extend(tag.to_le_bytes());
            acl.extend(7_u16.to_le_bytes());
            acl.extend(u32::MAX.to_le_bytes());
        }
        let set = rustix::fs::setxattr(
            scratch.path("root/d"),
            "system.posix_acl_default",
            &acl,
            rustix::fs::XattrFlags::empty(),
        );
        if set.is_err() {
            skip("this filesystem has no access control lists");
            return;
        }
        let root = scratch.open(options(backend));
        let mode = |path: &str| root.metadata(&rel(path)).unwrap().mode & 0o777;
        root.write_with(&rel("d/exact"), "", WriteOptions::new().mode(0o600))
            .unwrap();
        assert_eq!(mode("d/exact"), 0o600);
        let mut temp = root.temp_file(&rel("d")).unwrap();
        temp.persist_new(&rel("d/temp"), WriteOptions::new())
            .unwrap();
        assert_eq!(mode("d/temp"), 0o600);
    });
}

#[test]
fn attack_31_a_full_disk_loses_nothing_and_leaves_nothing() {
    let scratch = Scratch::new();
    if let Some(output) = unshared(&["full-disk", scratch.root_path().to_str().unwrap()]) {
        assert_success(&output);
    }
}

#[test]
fn attack_31_a_filesystem_that_turns_read_only() {
    let scratch = Scratch::new();
    if let Some(output) = unshared(&["read-only", scratch.root_path().to_str().unwrap()]) {
        assert_success(&output);
    }
}

/// What a power loss leaves is decided by the order of syncs; the loss itself is not tried here.
#[test]
fn attack_33_content_is_synced_before_the_name_and_the_name_before_the_answer() {
    if !have_program("strace") {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("d/f", "old");
    let log = scratch.path("trace");
    let output = Command::new("strace")
        .args([
            "-f",
            "-o",
            log.to_str().unwrap(),
            "-e",
            "trace=write,fsync,linkat,renameat,renameat2",
        ])
        .arg(victim())
        .args([
            "write",
            scratch.root_path().to_str().unwrap(),
            "auto",
            "d/f",
            "new content",
            "full",
        ])
        .output()
        .unwrap();
    assert_success(&output);
    let calls: Vec<String> = std::fs::read_to_string(&log)
        .unwrap()
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .filter_map(|call| call.split_once('(').map(|(name, _)| name.to_owned()))
        .collect();
    // The last three, and the content's own sync before them, whatever a filesystem without
    // unnamed files needs besides.
    assert_eq!(calls[calls.len() - 3..], ["renameat", "fsync", "write"]);
    let rename = calls.len() - 3;
    let synced = calls.iter().rposition(|call| call == "fsync");
    let before = calls[..rename]
        .iter()
        .rposition(|call| call == "fsync")
        .unwrap();
    let written = calls[..rename]
        .iter()
        .rposition(|call| call == "write")
        .unwrap();
    assert!(written < before && synced == Some(rename + 1), "{calls:?}");
}

#[test]
fn attack_34_planted_staging_names_are_nobodys_business() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        let planted = [
            ".handfast-s-1-1-0000000000000001",
            ".handfast-t-1-1-0000000000000001",
            ".handfast-d-1-1-0000000000000001",
            ".handfast-anything",
            ".handfast-s-1-1-0000000000000001-1-1-1-1",
        ];
        for name in planted {
            scratch.file(name, "foreign");
        }
        scratch
            .link("../outside/secret", ".handfast-s-2-2-0000000000000002")
            .file("f", "old");
        let root = scratch.open(options(backend));
        root.write(&rel("f"), "new").unwrap();
        let found = root.recover(&RelPath::root()).unwrap();
        assert_eq!(found.len(), 6);
        for found in found {
            assert!(
                matches!(found.outcome, RecoveryOutcome::Kept(_)),
                "{found:?}"
            );
        }
        for name in planted {
            assert_eq!(scratch.read(&format!("root/{name}")), "foreign");
        }
        assert_eq!(scratch.read("outside/secret"), "outside");
    });
}

/// A name made for a file proves nothing about another file under it, nor about one in use.
#[test]
fn attack_34_recover_removes_only_what_is_provably_ours_and_dead() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("victim", "precious");
        let meta = std::fs::metadata(scratch.path("root/victim")).unwrap();
        // Somebody gives a foreign file a name with its own inode, but a wrong birth time.
        let forged = format!(".handfast-s-{:x}-1-0000000000000001", meta.ino());
        std::fs::rename(
            scratch.path("root/victim"),
            scratch.path("root").join(&forged),
        )
        .unwrap();
        let root = scratch.open(options(backend));
        let staged = root.stage(&rel("f"), WriteOptions::new()).unwrap();
        let temp = root.temp_dir(&RelPath::root()).unwrap();
        temp.root().write(&rel("kept"), "kept").unwrap();
        let outcomes: Vec<_> = root
            .recover(&RelPath::root())
            .unwrap()
            .into_iter()
            .map(|found| found.outcome.name())
            .collect();
        assert!(outcomes.contains(&"kept"), "{outcomes:?}");
        assert!(outcomes.contains(&"in-use"), "{outcomes:?}");
        assert!(!outcomes.contains(&"removed"), "{outcomes:?}");
        assert_eq!(scratch.read(&format!("root/{forged}")), "precious");
        assert_eq!(temp.root().read(&rel("kept")).unwrap(), b"kept");
        drop(staged);
    });
}

#[test]
fn attack_38_a_holder_that_is_killed_holds_no_longer() {
    let scratch = Scratch::new();
    let mut child = Command::new(victim())
        .args(["hold-lock", scratch.root_path().to_str().unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line.trim(), "locked");
    let root = scratch.open(handfast::RootOptions::new());
    let soon = Duration::from_millis(30);
    assert_kind(
        root.lock(&rel("lock"), LockKind::Exclusive, soon),
        ErrorKind::Busy,
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let guard = root
        .lock(&rel("lock"), LockKind::Exclusive, Duration::from_secs(1))
        .unwrap();
    assert!(guard.verify().unwrap());
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

#[test]
fn attack_44_overlay_copy_up_does_not_confuse_identities() {
    assert_eq!(
        FilesystemKind::from_magic(0x794c_7630),
        FilesystemKind::Overlay
    );
    for kind in [
        FilesystemKind::Nfs,
        FilesystemKind::Smb,
        FilesystemKind::Fuse,
    ] {
        assert!(kind.is_remote() && !kind.weaknesses().is_empty());
    }
    assert!(FilesystemKind::Ext.weaknesses().is_empty());
    let scratch = Scratch::new();
    // An upper directory needs a filesystem that overlayfs takes.
    if let Some(output) = unshared(&["overlay", scratch.root_path().to_str().unwrap()]) {
        assert_success(&output);
    }
}

#[test]
fn attack_45_attributes_are_not_copied() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "f");
        let root = scratch.open(options(backend));
        match root.set_xattr(&rel("f"), "user.secret", b"x") {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                skip("this filesystem has no extended attributes");
                return;
            }
            set => set.unwrap(),
        }
        root.copy(&rel("f"), &rel("g")).unwrap();
        assert_eq!(root.get_xattr(&rel("g"), "user.secret").unwrap(), None);
        root.write(&rel("f"), "new").unwrap();
        assert_eq!(root.get_xattr(&rel("f"), "user.secret").unwrap(), None);
    });
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

/// A directory of a victim under a name that would prove it ours: inode and birth time are public,
/// the maker's mark is not.
#[test]
fn attack_34_a_forged_name_of_a_directory_proves_nothing() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("victim/precious", "precious");
        let root = scratch.open(options(backend));
        let identity = root.metadata(&rel("victim")).unwrap().identity;
        let born = identity.born.map_or(0, |born| born.as_nanoseconds());
        let forged = format!(".handfast-t-{:x}-{born:x}-0123456789abcdef", identity.inode);
        root.rename(&rel("victim"), &rel(&forged), RenameMode::NoReplace)
            .unwrap();
        let found = root.recover(&RelPath::root()).unwrap();
        assert!(
            matches!(found[0].outcome, RecoveryOutcome::Kept(_)),
            "{found:?}"
        );
        assert_eq!(scratch.read(&format!("root/{forged}/precious")), "precious");
    });
}

/// What was written after an interrupted exchange is newer than what it displaced.
#[test]
fn attack_34_recover_never_undoes_later_work() {
    each_backend(|backend| {
        for later in [false, true] {
            let scratch = Scratch::new();
            scratch.file("f", "ours");
            let root = scratch.open(options(backend));
            let ours = root.metadata(&rel("f")).unwrap().identity;
            let born = ours.born.map_or(0, |born| born.as_nanoseconds());
            // As a conditional write leaves it that died right after it displaced a foreign file.
            let staging = format!(
                ".handfast-s-{:x}-{born:x}-0123456789abcdef-1-1-1-1",
                ours.inode
            );
            scratch.file(&staging, "foreign");
            std::thread::sleep(Duration::from_millis(20));
            if later {
                std::fs::write(scratch.path("root/f"), "later work").unwrap();
            }
            let found = root.recover(&RelPath::root()).unwrap();
            let content = scratch.read("root/f");
            if later {
                assert!(
                    matches!(found[0].outcome, RecoveryOutcome::Kept(_)),
                    "{found:?}"
                );
                assert_eq!(content, "later work");
                assert_eq!(scratch.read(&format!("root/{staging}")), "foreign");
            } else {
                assert_eq!(found[0].outcome, RecoveryOutcome::PutBack, "{found:?}");
                assert_eq!(content, "foreign");
                scratch.assert_no_leftovers();
            }
        }
    });
}

#[test]
fn attack_42_recover_reads_no_endless_file() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        let root = scratch.open(options(backend));
        let file = std::fs::File::create(scratch.path("root/huge")).unwrap();
        file.set_len(1 << 40).unwrap();
        let status = root.metadata(&rel("huge")).unwrap();
        let born = status.identity.born.map_or(0, |born| born.as_nanoseconds());
        let name = format!(
            ".handfast-d-{:x}-{born:x}-0123456789abcdef-{:x}-{born:x}-{:x}-{:x}-0123456789abcdef",
            status.identity.inode,
            status.identity.inode,
            status.len,
            status.modified.as_nanoseconds()
        );
        root.rename(&rel("huge"), &rel(&name), RenameMode::NoReplace)
            .unwrap();
        within_a_second("recover", move || {
            let found = root.recover(&RelPath::root()).unwrap();
            assert!(
                matches!(found[0].outcome, RecoveryOutcome::Kept(_)),
                "{found:?}"
            );
        });
    });
}

/// A leftover that resists is reported, and the search goes on.
#[test]
fn recover_goes_on_beside_what_resists() {
    if am_root() {
        skip("root may remove everything");
        return;
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("locked");
        let root = scratch.open(options(backend));
        let blank = ".handfast-t-0-0-0123456789abcdef";
        scratch
            .dir(&format!("locked/{blank}"))
            .dir(&format!("z/{blank}"));
        std::fs::set_permissions(
            scratch.path("root/locked"),
            std::fs::Permissions::from_mode(0o555),
        )
        .unwrap();
        let found = root.recover(&RelPath::root()).unwrap();
        let mut outcomes: Vec<_> = found.iter().map(|found| found.outcome.name()).collect();
        outcomes.sort_unstable();
        assert_eq!(outcomes, ["kept", "removed"]);
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

/// Numbers that mean something else to the kernel, and times that no clock shows.
#[test]
fn extreme_arguments_are_errors_or_work_and_never_panic() {
    let scratch = Scratch::new();
    scratch.file("f", "").dir("d");
    let root = scratch.open(handfast::RootOptions::new());
    drop(
        root.lock(&rel("lock"), LockKind::Exclusive, Duration::MAX)
            .unwrap(),
    );
    drop(
        root.lock_dir(&rel("d"), LockKind::Exclusive, Duration::MAX)
            .unwrap(),
    );
    let forever = handfast::TreeLimits::new().with_time(Duration::MAX);
    assert!(
        root.walk_with(&rel("d"), forever)
            .unwrap()
            .next_entry()
            .unwrap()
            .is_none()
    );
    assert_kind(
        root.chown(&rel("f"), Some(u32::MAX), None),
        ErrorKind::Invalid,
    );
    assert_kind(
        root.chown(&rel("f"), None, Some(u32::MAX)),
        ErrorKind::Invalid,
    );
    for nanoseconds in [0x3fff_ffff, 0x3fff_fffe, 1_000_000_000, u32::MAX] {
        let time = handfast::Timestamp {
            seconds: 0,
            nanoseconds,
        };
        assert_kind(
            root.set_times(&rel("f"), None, Some(time)),
            ErrorKind::Invalid,
        );
    }
    for seconds in [i64::MAX, i64::MIN] {
        let time = handfast::Timestamp {
            seconds,
            nanoseconds: u32::MAX,
        };
        let _ = time.to_system_time();
    }
    assert_kind(
        root.read_to_limit(&rel("d"), u64::MAX),
        ErrorKind::IsADirectory,
    );
    assert_eq!(root.read_to_limit(&rel("f"), u64::MAX).unwrap(), b"");
}

/// A directory that may be read but not searched is listed alike on both backends.
#[test]
fn a_directory_that_can_be_listed_but_not_searched() {
    if am_root() {
        skip("root may search everything");
        return;
    }
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("d/f", "");
        std::fs::set_permissions(
            scratch.path("root/d"),
            std::fs::Permissions::from_mode(0o444),
        )
        .unwrap();
        let root = scratch.open(options);
        let mut list = root.read_dir(&rel("d")).unwrap();
        assert_eq!(list.next_entry().unwrap().unwrap().name().as_bytes(), b"f");
        assert_kind(root.read(&rel("d/f")), ErrorKind::Denied);
    });
}

/// What is published is compared with what was staged.
#[test]
fn b36_a_swapped_staging_directory_is_noticed() {
    use std::sync::{Arc, Mutex};
    // The recorder is called while the copy is made, and plays the attacker.
    struct Swapper(PathBuf, Mutex<bool>);
    impl handfast::Recorder for Swapper {
        fn record(&self, event: &handfast::Event<'_>) -> Result<(), handfast::RecordError> {
            let mut done = self.1.lock().unwrap();
            if event.phase == handfast::Phase::Entries && !*done {
                let staging = std::fs::read_dir(&self.0)
                    .unwrap()
                    .flatten()
                    .find(|entry| {
                        entry
                            .file_name()
                            .to_string_lossy()
                            .starts_with(".handfast-t")
                    })
                    .unwrap();
                std::fs::rename(staging.path(), self.0.join("stolen")).unwrap();
                std::os::unix::fs::symlink("/etc", staging.path()).unwrap();
                *done = true;
            }
            Ok(())
        }
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        for number in 0..600 {
            scratch.file(&format!("t/f{number}"), "");
        }
        let swapper = Swapper(scratch.root_path(), Mutex::new(false));
        let root = scratch
            .open(options(backend))
            .with_recorder(Arc::new(swapper));
        let error = assert_kind(root.copy_tree(&rel("t"), &rel("copy")), ErrorKind::Raced);
        assert_eq!(error.effect(), handfast::Effect::Unknown);
    });
}

/// A slot answers by the same rules as everything else.
#[test]
fn a_slot_shows_nothing_that_is_denied() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "f");
        let identity = scratch
            .open(options(backend))
            .metadata(&rel("f"))
            .unwrap()
            .identity;
        let root = scratch.open(options(backend).deny(identity));
        assert_kind(root.slot(&rel("f")).unwrap().metadata(), ErrorKind::Denied);
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

#[test]
fn attack_10_what_is_mounted_into_a_temporary_directory_is_left_alone() {
    let scratch = Scratch::new();
    let outside = scratch.path("outside");
    std::fs::set_permissions(&outside, std::fs::Permissions::from_mode(0o751)).unwrap();
    let root = scratch.root_path();
    let args = [
        "mounted-temp",
        root.to_str().unwrap(),
        outside.to_str().unwrap(),
    ];
    if let Some(output) = unshared(&args) {
        assert_success(&output);
        assert_eq!(scratch.read("outside/secret"), "outside");
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

/// A rename between filesystems is refused, and never done in two steps.
#[test]
fn b34_a_rename_between_filesystems_is_refused() {
    let scratch = Scratch::new();
    scratch.file("f", "f");
    let root = scratch.open(handfast::RootOptions::new());
    let Ok(other) = Root::open_ambient("/dev/shm") else {
        skip("there is no other filesystem");
        return;
    };
    if other.identity().device == root.identity().device {
        skip("there is no other filesystem");
        return;
    }
    let name = rel(format!("handfast-test-{}", std::process::id()));
    for mode in [RenameMode::Replace, RenameMode::NoReplace] {
        assert_kind(
            root.rename_to(&rel("f"), &other, &name, mode),
            ErrorKind::Mount,
        );
    }
    assert_kind(other.metadata(&name), ErrorKind::NotFound);
    assert_eq!(scratch.read("root/f"), "f");
}
