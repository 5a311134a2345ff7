//! Modes, attributes and extreme arguments.

use crate::support::*;
use handfast::{ErrorKind, LockKind, WriteOptions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::time::Duration;

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
