//! With an access control list the group bits of the mode are its mask: who keeps the mode and
//! loses the list opens the file to others.

use std::fs;
use std::path::Path;

use handfast::{BackendChoice, Root, WriteOptions};
use rustix::fs::XattrFlags;

use crate::others::*;
use crate::support::*;

const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

const OWNER: u16 = 1;
const USER: u16 = 2;
const GROUP: u16 = 4;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;
const NOBODY: u32 = u32::MAX;

/// A list as the kernel takes it.
fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

/// Sets a list; `false` where the filesystem has none.
fn set(path: &Path, kind: &str, entries: &[(u16, u16, u32)]) -> bool {
    match rustix::fs::setxattr(path, kind, &list(entries), XattrFlags::empty()) {
        Ok(()) => true,
        Err(rustix::io::Errno::OPNOTSUPP) => {
            skip("this filesystem has no access control lists");
            false
        }
        Err(errno) => panic!("{errno}"),
    }
}

fn get(path: &Path) -> Option<Vec<u8>> {
    let mut value = [0; 1024];
    let len = rustix::fs::getxattr(path, ACCESS, &mut value[..]).ok()?;
    Some(value[..len].to_vec())
}

/// A user of group 0, as the file's, and of no other.
fn member_reads(path: &Path) -> bool {
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            rustix::thread::set_thread_groups(&[]).unwrap();
            rustix::thread::set_thread_gid(rustix::fs::Gid::ROOT).unwrap();
            rustix::thread::set_thread_uid(rustix::fs::Uid::from_raw(4321)).unwrap();
            fs::read(path).is_ok()
        });
        reader.join().unwrap()
    })
}

fn reads(uid: u32, path: &Path) -> bool {
    as_user(uid, || fs::read(path).is_ok())
}

/// Every way by which a file is replaced.
type Way = fn(&Root, &str);
const WAYS: &[(&str, Way)] = &[
    ("write", |root, path| {
        root.write(&rel(path), "new").unwrap();
    }),
    ("write_if", |root, path| {
        let version = root.version(&rel(path)).unwrap();
        root.write_if(&rel(path), &version, "new").unwrap();
    }),
    ("stage", |root, path| {
        use std::io::Write;
        let mut staged = root.stage(&rel(path), WriteOptions::new()).unwrap();
        staged.write_all(b"new").unwrap();
        staged.commit().unwrap();
    }),
    ("commit_if", |root, path| {
        let version = root.version(&rel(path)).unwrap();
        let staged = root.stage(&rel(path), WriteOptions::new()).unwrap();
        staged.commit_if(&version).unwrap();
    }),
    ("copy", |root, path| {
        root.copy(&rel("source"), &rel(path)).unwrap();
    }),
];

/// Every way, on both backends, with and without unnamed files.
fn each_way(test: impl Fn(&str, Way, BackendChoice) + Sync) {
    each_backend(|backend| {
        for (name, way) in WAYS {
            test(name, *way, backend);
            on_older_kernel(&[Lacks::Unnamed], || {
                test(&format!("{name}, no unnamed files"), *way, backend);
            });
        }
    });
}

#[test]
fn l2_the_owning_group_gains_nothing_and_the_named_user_loses_nothing() {
    if !others_can_be_played() {
        return;
    }
    each_way(|name, way, backend| {
        let scratch = Scratch::new();
        scratch.file("f", "old").file("source", "");
        let file = scratch.path("root/f");
        let entries = [
            (OWNER, 6, NOBODY),
            (USER, 6, BOB),
            (USER, 0, MALLORY),
            (GROUP, 0, NOBODY),
            (MASK, 6, NOBODY),
            (OTHER, 4, NOBODY),
        ];
        if !set(&file, ACCESS, &entries) {
            return;
        }
        let before = get(&file);
        assert!(!member_reads(&file) && reads(BOB, &file) && !reads(MALLORY, &file));
        way(&scratch.open(options(backend)), "f");
        assert!(
            !member_reads(&file),
            "{name}: the owning group reads it now"
        );
        assert!(reads(BOB, &file), "{name}: the named user lost it");
        assert!(!reads(MALLORY, &file), "{name}: the denial is gone");
        assert_eq!(get(&file), before, "{name}");
    });
}

#[test]
fn l2_a_default_list_gives_nobody_what_the_old_file_did_not() {
    if !others_can_be_played() {
        return;
    }
    each_way(|name, way, backend| {
        let scratch = Scratch::new();
        scratch.file("d/f", "old").file("source", "");
        let (dir, file) = (scratch.path("root/d"), scratch.path("root/d/f"));
        set_mode(&file, 0o640);
        if !set_default(&dir) {
            return;
        }
        assert!(!reads(MALLORY, &file));
        way(&scratch.open(options(backend)), "d/f");
        assert!(!reads(MALLORY, &file), "{name}: the default list opened it");
        assert_eq!(mode_of(&scratch, "root/d/f"), 0o640, "{name}");
    });
}

/// A default list that names Mallory.
fn set_default(dir: &Path) -> bool {
    let entries = [
        (OWNER, 7, NOBODY),
        (USER, 7, MALLORY),
        (GROUP, 5, NOBODY),
        (MASK, 7, NOBODY),
        (OTHER, 5, NOBODY),
    ];
    set(dir, DEFAULT, &entries)
}

#[test]
fn l2_an_exact_mode_says_all() {
    if !others_can_be_played() {
        return;
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("d").file("d/old", "old").file("source", "");
        if !set_default(&scratch.path("root/d")) {
            return;
        }
        let root = scratch.open(options(backend));
        let exact = WriteOptions::new().mode(0o640);
        root.write_new_with(&rel("d/new"), "x", exact).unwrap();
        root.write_with(&rel("d/written"), "x", exact).unwrap();
        root.write_with(&rel("d/old"), "x", exact).unwrap();
        root.copy_with(&rel("source"), &rel("d/copied"), exact)
            .unwrap();
        let staged = root.stage(&rel("d/staged"), exact).unwrap();
        staged.commit_new().unwrap();
        let mut temp = root.temp_file(&rel("d")).unwrap();
        temp.persist_new(&rel("d/temp"), exact).unwrap();
        for name in ["new", "written", "old", "copied", "staged", "temp"] {
            let file = scratch.path("root/d").join(name);
            assert!(!reads(MALLORY, &file), "{name}: 0640 means nobody else");
            assert_eq!(mode_of(&scratch, &format!("root/d/{name}")), 0o640);
        }
    });
}

/// A new file without an exact mode is made as anybody's: a directory's default list is meant for
/// it.
#[test]
fn l2_a_new_file_inherits_as_usual() {
    if !others_can_be_played() {
        return;
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("d");
        if !set_default(&scratch.path("root/d")) {
            return;
        }
        let root = scratch.open(options(backend));
        root.write(&rel("d/f"), "x").unwrap();
        assert!(reads(MALLORY, &scratch.path("root/d/f")));
    });
}

/// A list that cannot be carried over (the owner's group is not ours to give) is made narrower.
#[test]
fn l2_another_group_gains_nothing() {
    if !others_can_be_played() {
        return;
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("d/f", "old");
        let (dir, file) = (scratch.path("root/d"), scratch.path("root/d/f"));
        share(&dir);
        let entries = [
            (OWNER, 6, NOBODY),
            (USER, 6, BOB),
            (GROUP, 6, NOBODY),
            (MASK, 6, NOBODY),
            (OTHER, 0, NOBODY),
        ];
        if !set(&file, ACCESS, &entries) {
            return;
        }
        // Bob may write the file and the directory, and cannot give files away: the new file gets
        // his group, whose members could not read the old one.
        let root = scratch.open(options(backend));
        as_user(BOB, || root.write(&rel("d/f"), "new").map(drop)).unwrap();
        let stranger = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                rustix::thread::set_thread_groups(&[]).unwrap();
                rustix::thread::set_thread_gid(rustix::fs::Gid::from_raw(BOB)).unwrap();
                rustix::thread::set_thread_uid(rustix::fs::Uid::from_raw(4321)).unwrap();
                fs::read(&file).is_ok()
            });
            reader.join().unwrap()
        });
        assert!(!stranger, "a member of Bob's group reads it now");
        assert!(reads(BOB, &file));
    });
}
