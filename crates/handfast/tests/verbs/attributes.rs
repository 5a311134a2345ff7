//! Modes, owners, times, extended attributes and locks.

use crate::support::*;
use handfast::{ErrorKind, Links, LockKind, RelPath, Timestamp};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

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
            Links::Beneath | Links::InRoot => {
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
            "user.handfast.staging",
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
