//! Staging names, recovery and locks of the dead.

use crate::support::*;
use handfast::{ErrorKind, LockKind, RecoveryOutcome, RelPath, RenameMode, WriteOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

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

/// A conditional write marks its file until it has looked at what it displaced.
#[must_use]
fn mark(scratch: &Scratch, path: &str) -> bool {
    let value = 0x0123_4567_89ab_cdef_u64.to_be_bytes();
    let path = scratch.path("root").join(path);
    let flags = rustix::fs::XattrFlags::empty();
    match rustix::fs::setxattr(path, "user.handfast.staging", &value, flags) {
        Err(rustix::io::Errno::OPNOTSUPP) => {
            println!("skipped: this filesystem has no attributes");
            false
        }
        marked => {
            marked.unwrap();
            true
        }
    }
}

/// A directory that was proven to be ours is moved away while it is emptied, and a victim's gets its
/// name: by who may rename both, and could not remove what is in the victim's.
#[test]
fn attack_34_what_gets_the_name_of_a_temporary_directory_is_left_alone() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("victim/precious", "precious");
        let root = scratch.open(options(backend));
        let temp = root.temp_dir(&RelPath::root()).unwrap();
        let top = scratch.path("root");
        let name = top.join(std::str::from_utf8(temp.name().as_bytes()).unwrap());
        for number in 0..2000 {
            std::fs::write(name.join(format!("{number}")), "").unwrap();
        }
        let attacker = std::thread::spawn({
            let (top, name) = (top.clone(), name.clone());
            move || {
                let left = || std::fs::read_dir(&name).map_or(0, Iterator::count);
                while left() == 2000 {}
                if std::fs::rename(&name, top.join("elsewhere")).is_ok() {
                    std::fs::rename(top.join("victim"), &name).unwrap();
                }
            }
        });
        drop(temp);
        attacker.join().unwrap();
        let victim = match top.join("victim").exists() {
            true => top.join("victim"),
            false => name,
        };
        let content = std::fs::read_to_string(victim.join("precious"));
        assert_eq!(content.unwrap(), "precious");
    });
}

/// Who may rename and set attributes through us, but not remove everything in a tree (a rule of a
/// session), cannot make `recover` do it.
#[test]
fn attack_34_a_mark_is_not_an_attribute_for_everybody() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("victim/precious", "precious");
        let root = scratch.open(options(backend));
        let identity = root.metadata(&rel("victim")).unwrap().identity;
        let born = identity.born.map_or(0, |born| born.as_nanoseconds());
        let forged = format!(".handfast-t-{:x}-{born:x}-0123456789abcdef", identity.inode);
        root.rename(&rel("victim"), &rel(&forged), RenameMode::NoReplace)
            .unwrap();
        let value = 0x0123_4567_89ab_cdef_u64.to_be_bytes();
        let error = root
            .set_xattr(&rel(&forged), "user.handfast.staging", &value)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied);
        let found = root.recover(&RelPath::root()).unwrap();
        assert!(
            matches!(found[0].outcome, RecoveryOutcome::Kept(_)),
            "{found:?}"
        );
        assert_eq!(scratch.read(&format!("root/{forged}/precious")), "precious");
    });
}

/// Who may add names to a directory, but not take the victim's away (a sticky directory, a rule of a
/// session), plants what a conditional write that died would have left: as if the victim's file had
/// displaced his.
#[test]
fn attack_34_a_forged_leftover_does_not_displace_a_foreign_file() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("victim", "precious");
        let root = scratch.open(options(backend));
        let victim = root.metadata(&rel("victim")).unwrap().identity;
        let born = victim.born.map_or(0, |born| born.as_nanoseconds());
        let forged = format!(
            ".handfast-s-{:x}-{born:x}-0123456789abcdef-1-1-1-1",
            victim.inode
        );
        scratch.file(&forged, "planted");
        let found = root.recover(&RelPath::root()).unwrap();
        assert!(
            matches!(found[0].outcome, RecoveryOutcome::Kept(_)),
            "{found:?}"
        );
        assert_eq!(scratch.read("root/victim"), "precious");
        assert_eq!(scratch.read(&format!("root/{forged}")), "planted");
    });
}

/// What a conditional write leaves has no mark: nobody can learn how to pass it off as ours.
#[test]
fn attack_34_no_mark_stays_on_what_was_written() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "old");
        let root = scratch.open(options(backend));
        let version = root.version(&rel("f")).unwrap();
        root.write_if(&rel("f"), &version, "new").unwrap();
        assert_eq!(scratch.read("root/f"), "new");
        assert_eq!(root.list_xattrs(&rel("f")).unwrap(), Vec::<String>::new());
        // Nor if its writer died between the exchange and its look at the old file.
        let ours = root.metadata(&rel("f")).unwrap().identity;
        let born = ours.born.map_or(0, |born| born.as_nanoseconds());
        scratch.file("old", "old");
        let old = root.metadata(&rel("old")).unwrap();
        let old_born = old.identity.born.map_or(0, |born| born.as_nanoseconds());
        let staging = format!(
            ".handfast-s-{:x}-{born:x}-0123456789abcdef-{:x}-{old_born:x}-{:x}-{:x}",
            ours.inode,
            old.identity.inode,
            old.len,
            old.modified.as_nanoseconds()
        );
        std::fs::rename(
            scratch.path("root/old"),
            scratch.path("root").join(&staging),
        )
        .unwrap();
        if !mark(&scratch, "f") {
            return;
        }
        let found = root.recover(&RelPath::root()).unwrap();
        assert_eq!(found[0].outcome, RecoveryOutcome::Finished, "{found:?}");
        assert_eq!(scratch.read("root/f"), "new");
        assert_eq!(root.list_xattrs(&rel("f")).unwrap(), Vec::<String>::new());
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
            if !mark(&scratch, "f") {
                return;
            }
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

/// Before a temporary directory is locked, nothing tells it from one that a killed process left.
#[test]
fn temporary_directories_are_made_while_others_clean_up() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        let root = scratch.open(options(backend));
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    drop(root.recover(&RelPath::root()));
                }
            });
            let made: Result<Vec<_>, _> = (0..300)
                .map(|_| {
                    let dir = root.temp_dir(&RelPath::root())?;
                    dir.root().write(&rel("f"), "f").map(drop)
                })
                .collect();
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            made.unwrap();
        });
    });
}
