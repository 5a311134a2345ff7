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
        let temp = root.temp_file(&rel("d")).unwrap();
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

/// What a power loss leaves is decided by the order of syncs; the loss itself is tried elsewhere.
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
    assert_eq!(
        calls,
        ["write", "fsync", "linkat", "renameat", "fsync", "write"]
    );
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
