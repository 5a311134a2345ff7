//! What others change in the base while a program runs over the kernel's overlay.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use super::fast::{FAST, Paused, furnish, in_session, write};
use super::stage::{Stage, as_each_user};

/// What somebody does to the base during a run, after a program has done its part.
type Case = (&'static str, &'static str, fn(&Path), &'static str);

const CASES: [Case; 13] = [
    (
        "changed",
        "echo p >> a.txt",
        |base| write(base, "a.txt", "person"),
        "/a.txt",
    ),
    (
        "replaced",
        "echo p >> a.txt",
        |base| {
            write(base, "other", "person");
            std::fs::rename(base.join("other"), base.join("a.txt")).unwrap();
        },
        "/a.txt",
    ),
    (
        "replaced by an old file",
        "echo p >> a.txt",
        |base| {
            std::fs::rename(base.join("removed"), base.join("a.txt")).unwrap();
        },
        "/a.txt",
    ),
    (
        "removed",
        "echo p >> a.txt",
        |base| {
            std::fs::remove_file(base.join("a.txt")).unwrap();
        },
        "/a.txt",
    ),
    (
        "removed by one, changed by the other",
        "rm a.txt",
        |base| write(base, "a.txt", "person"),
        "/a.txt",
    ),
    (
        "made by both",
        "echo p > both",
        |base| write(base, "both", "person"),
        "/both",
    ),
    (
        "a directory was removed, and something came into it",
        "rm -r dir",
        |base| {
            write(base, "dir/person", "new");
        },
        "/dir",
    ),
    (
        "a directory was emptied, and something came into it",
        "rm -r emptied; mkdir emptied",
        |base| {
            write(base, "emptied/person", "new");
        },
        "/emptied/person",
    ),
    (
        "a directory was renamed",
        "echo p >> dir/two",
        |base| {
            std::fs::rename(base.join("dir"), base.join("elsewhere")).unwrap();
        },
        "/dir/two",
    ),
    (
        "a directory was renamed, and a file is new in it",
        "echo p > dir/new",
        |base| {
            std::fs::rename(base.join("dir"), base.join("elsewhere")).unwrap();
        },
        "/dir/new",
    ),
    (
        "another directory took its place",
        "echo p >> dir/two",
        |base| {
            std::fs::create_dir(base.join("new")).unwrap();
            std::fs::rename(base.join("dir"), base.join("elsewhere")).unwrap();
            std::fs::rename(base.join("twin"), base.join("dir")).unwrap();
        },
        "/dir/two",
    ),
    (
        "a link leads elsewhere",
        "ln -sfn src retargeted",
        |base| {
            std::fs::remove_file(base.join("retargeted")).unwrap();
            std::os::unix::fs::symlink("removed", base.join("retargeted")).unwrap();
        },
        "/retargeted",
    ),
    (
        "a mode",
        "chmod 700 dir",
        |base| {
            let mode = std::fs::Permissions::from_mode(0o750);
            std::fs::set_permissions(base.join("dir"), mode).unwrap();
        },
        "/dir",
    ),
];

#[test]
fn what_others_change_during_a_fast_run_is_a_conflict() {
    as_each_user(|stage| {
        for (number, (what, program, person, path)) in CASES.iter().enumerate() {
            let stage = &Stage::new(&stage.user);
            furnish(stage);
            // The same names, so that only the directory tells.
            stage.scratch.file("twin/one", "1");
            stage.scratch.file("twin/two", "2");
            stage.hand_over();
            // Both orders: the program has copied the file, or is about to.
            for before in [false, true] {
                let session = format!("s{number}-{before}");
                let kept = |stage: &Stage| snapshot(&stage.scratch.inside());
                let paused = match before {
                    false => Paused::new(stage, &session, program, ":"),
                    // The changes below stand already.
                    true if *what != "changed" => continue,
                    true => Paused::new(stage, &session, ":", program),
                };
                // Nothing else is touched: a new owner would be a change too.
                person(&stage.scratch.inside());
                let state = kept(stage);
                let told = paused.go_on();
                assert_eq!(told.code, Some(0), "{what}: {told:?}");
                let told = stage.handfast(&["session", "commit", "--yes", &session]);
                assert_eq!(told.code, Some(1), "{what}: {told:?}");
                let conflict = format!("conflict  {path}:");
                assert!(told.out.contains(&conflict), "{what}: {told:?}");
                assert_eq!(kept(stage), state, "{what}: {told:?}");
                let told = stage.handfast(&["session", "diff", &session]);
                assert!(
                    told.code == Some(0) || told.code == Some(1),
                    "{what}: {told:?}"
                );
                assert!(told.out.contains(&path[1..]), "{what}: {told:?}");
            }
        }
    });
}

/// What somebody puts into a directory that a program removes, and where it must be afterwards.
type Added = (
    &'static str,
    fn(&Path),
    &'static [(&'static str, &'static str)],
);

const ADDED: [Added; 7] = [
    (
        "rm -r dir",
        |base| write(base, "dir/person", "new"),
        &[("dir/person", "new")],
    ),
    (
        "rm -r dir",
        |base| write(base, "dir/sub/person", "new"),
        &[("dir/sub/person", "new")],
    ),
    (
        "rm -r dir",
        |base| std::fs::rename(base.join("removed"), base.join("dir/old")).unwrap(),
        &[("dir/old", "1")],
    ),
    (
        "rm -r dir",
        |base| std::fs::rename(base.join("twin"), base.join("dir/twin")).unwrap(),
        &[
            ("dir/twin/one", "of the twin"),
            ("dir/twin/two", "of the twin"),
        ],
    ),
    (
        "rm -r dir",
        |base| {
            std::fs::rename(base.join("dir"), base.join("elsewhere")).unwrap();
            std::fs::rename(base.join("twin"), base.join("dir")).unwrap();
        },
        &[("dir/one", "of the twin"), ("dir/two", "of the twin")],
    ),
    (
        "rm -r dir; echo file > dir",
        |base| write(base, "dir/person", "new"),
        &[("dir/person", "new")],
    ),
    (
        "rm -r emptied; mkdir emptied",
        |base| write(base, "emptied/person", "new"),
        &[("emptied/person", "new")],
    ),
];

#[test]
fn what_others_put_into_a_directory_during_a_fast_run_is_never_removed() {
    as_each_user(|stage| {
        for (number, (program, person, kept)) in ADDED.iter().enumerate() {
            let stage = &Stage::new(&stage.user);
            furnish(stage);
            stage.scratch.file("twin/one", "of the twin");
            stage.scratch.file("twin/two", "of the twin");
            stage.hand_over();
            let session = format!("s{number}");
            let paused = Paused::new(stage, &session, program, ":");
            person(&stage.scratch.inside());
            let told = paused.go_on();
            assert_eq!(told.code, Some(0), "{number}: {told:?}");
            let told = stage.handfast(&["session", "commit", "--yes", "--overwrite", &session]);
            assert_eq!(told.code, Some(1), "{number}: {told:?}");
            assert!(told.out.contains("conflict  /"), "{number}: {told:?}");
            for (name, text) in *kept {
                let there = std::fs::read_to_string(stage.base(name));
                assert_eq!(
                    there.ok().as_deref(),
                    Some(*text),
                    "{number} {name}: {told:?}"
                );
            }
        }
        // What was there and was only changed goes: that is what was asked for.
        furnish(stage);
        let paused = Paused::new(stage, "changed", "rm -r dir emptied; mkdir emptied", ":");
        write(&stage.scratch.inside(), "dir/two", "person");
        write(&stage.scratch.inside(), "emptied/old", "person");
        let told = paused.go_on();
        assert_eq!(told.code, Some(0), "{told:?}");
        let told = stage.handfast(&["session", "commit", "--yes", "--overwrite", "changed"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert!(!stage.base("dir").exists() && !stage.base("emptied/old").exists());
    });
}

/// Every name below with its content.
fn snapshot(dir: &Path) -> String {
    let script = "find . -not -path './.git*' | LC_ALL=C sort | while read -r f; do echo \"$f\"; \
         test -L \"$f\" && readlink \"$f\" || { test -f \"$f\" && cat \"$f\"; }; done";
    let found = Command::new("sh")
        .args(["-c", script])
        .current_dir(dir)
        .output();
    String::from_utf8_lossy(&found.unwrap().stdout).into_owned()
}

#[test]
fn moved_and_linked_files_are_no_conflict() {
    as_each_user(|stage| {
        furnish(stage);
        let script = "set -e; mv moved/eight src/eight; rmdir moved; ln a.txt again; mv removed back; \
             mv back removed; mkdir new; mv dir/one new/one; mv dir/sub renamed";
        let told = stage.run(&in_session(&FAST, "s"), script);
        assert_eq!(told.code, Some(0), "{told:?}");
        let told = stage.handfast(&["session", "diff", "--names", "s"]);
        assert!(!told.out.contains("meanwhile"), "{told:?}");
        for line in [
            "added    /src/eight",
            "deleted  /moved/eight",
            "added    /renamed/three",
        ] {
            assert!(told.out.contains(line), "{line}: {told:?}");
        }
        let told = stage.handfast(&["session", "commit", "--yes", "s"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert_eq!(std::fs::read(stage.base("new/one")).unwrap(), b"1");
        assert_eq!(
            std::fs::read(stage.base("again")).unwrap(),
            b"from the base\n"
        );
    });
}

#[test]
fn what_nobody_else_changed_is_no_conflict() {
    as_each_user(|stage| {
        furnish(stage);
        let program = "echo p >> a.txt; rm removed; rm -r dir; chmod 700 src; echo n > new";
        let paused = Paused::new(stage, "s", program, ":");
        // Beside it, a person changes and makes other files.
        let base = stage.scratch.inside();
        write(&base, "untouched/nine", "person");
        write(&base, "person", "new");
        stage.scratch.file("untouched/later", "new");
        let told = paused.go_on();
        assert_eq!(told.code, Some(0), "{told:?}");
        let told = stage.handfast(&["session", "commit", "--yes", "s"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert_eq!(
            std::fs::read(stage.base("untouched/nine")).unwrap(),
            b"person"
        );
        assert!(!stage.base("dir").exists() && stage.base("new").exists());
    });
}

/// `dir` and `twin` change places.
fn exchange(base: &Path) {
    let dir = std::fs::File::open(base).unwrap();
    let how = rustix::fs::RenameFlags::EXCHANGE;
    rustix::fs::renameat_with(&dir, "dir", &dir, "twin", how).unwrap();
}

/// Two directories change places all the time, also while the changes are imported. Whichever stands there
/// at the end has the same names and content as the one that the program saw; only where it was tells.
#[test]
fn directories_that_change_places_during_the_import_are_a_conflict() {
    const ROUNDS: usize = 8;
    as_each_user(|stage| {
        furnish(stage);
        for name in ["one", "two", "sub/three"] {
            let text = std::fs::read(stage.base(&format!("dir/{name}"))).unwrap();
            stage.scratch.file(&format!("twin/{name}"), text);
        }
        stage.hand_over();
        let base = stage.scratch.inside();
        let (mut exchanged, mut contested) = (0, 0);
        let (mut naive, mut committed) = (0, 0);
        for round in 0..ROUNDS {
            let session = format!("x{round}");
            let paused = Paused::new(stage, &session, "echo p >> dir/two; rm dir/one", ":");
            let stop = AtomicBool::new(false);
            let count = AtomicUsize::new(0);
            let told = std::thread::scope(|scope| {
                let attacker = scope.spawn(|| {
                    while !stop.load(Relaxed) {
                        exchange(&base);
                        count.fetch_add(1, Relaxed);
                    }
                });
                // If nobody had a turn before the import, there is nothing to notice.
                while count.load(Relaxed) == 0 && !attacker.is_finished() {
                    std::thread::yield_now();
                }
                let before = count.load(Relaxed);
                let told = paused.go_on();
                contested += usize::from(count.load(Relaxed) > before);
                stop.store(true, Relaxed);
                attacker.join().unwrap();
                exchanged += count.load(Relaxed);
                told
            });
            assert_eq!(told.code, Some(0), "{told:?}");
            // The control compares names and content before and after an exchange, and notices nothing. The
            // directories stand as they did when we commit.
            let look = || {
                let dir = base.join("dir");
                let number = std::fs::metadata(&dir).unwrap().ino();
                (snapshot(&dir), number)
            };
            let seen = look();
            exchange(&base);
            let now = look();
            exchange(&base);
            assert_ne!(now.1, seen.1, "it is another directory");
            naive += usize::from(now.0 == seen.0);
            let told = stage.handfast(&["session", "commit", "--yes", &session]);
            committed += usize::from(told.code == Some(0));
            assert_eq!(
                std::fs::read(base.join("dir/two")).unwrap(),
                b"2",
                "{told:?}"
            );
            assert!(base.join("dir/one").exists(), "{told:?}");
        }
        println!(
            "{exchanged} exchanges, the control committed {naive} of {ROUNDS}, we {committed}"
        );
        assert!(contested > 0, "starved: nobody acted during an import");
        assert_eq!((naive, committed), (ROUNDS, 0));
    });
}
