//! Others at work in the base while a commit runs, and in the session from another process.

use std::sync::atomic::{AtomicBool, Ordering};

use handfast_session::{CommitOptions, Mode, OnConflict};

use crate::support::*;

#[test]
fn a_foreign_change_in_the_middle_of_a_commit_is_never_lost() {
    const FILES: usize = 300;
    let mut late = 0;
    for round in 0..6 {
        let scratch = Scratch::new();
        for number in 0..FILES {
            scratch.file(&format!("f{number}"), "old");
        }
        let session = scratch.session(Mode::Overlay);
        for number in 0..FILES {
            match number % 3 {
                0 => session.remove_file(format!("/f{number}")).unwrap(),
                _ => drop(session.write(format!("/f{number}"), "ours").unwrap()),
            }
        }
        let begun = AtomicBool::new(false);
        let (report, foreign) = std::thread::scope(|scope| {
            let (begun, base) = (&begun, scratch.base());
            let writer = scope.spawn(move || {
                while !begun.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
                let mut written = Vec::new();
                for number in (0..FILES).rev().step_by(1 + round % 3) {
                    let temporary = base.join("foreign-temporary");
                    std::fs::write(&temporary, "foreign").unwrap();
                    let target = base.join(format!("f{number}"));
                    // Only what is still there is replaced: nobody un-deletes.
                    if target.exists() {
                        std::fs::rename(&temporary, &target).unwrap();
                        written.push(number);
                    }
                }
                drop(std::fs::remove_file(base.join("foreign-temporary")));
                written
            });
            let options = CommitOptions {
                on_conflict: OnConflict::Skip,
                ..CommitOptions::default()
            };
            let report = session
                .commit(&options, &mut |_, _| begun.store(true, Ordering::SeqCst))
                .unwrap();
            begun.store(true, Ordering::SeqCst);
            (report, writer.join().unwrap())
        });
        for number in foreign {
            let name = format!("f{number}");
            assert_eq!(scratch.read(&name), "foreign", "round {round} {name}");
        }
        late += report.conflicts.len();
        for (path, _) in &report.conflicts {
            let ours = session.diff().unwrap();
            assert!(
                ours.iter().any(|change| change.path == *path),
                "{path} stays in the overlay"
            );
        }
        let left = scratch
            .tree()
            .into_keys()
            .filter(|name| name.contains(".handfast-"));
        assert_eq!(left.count(), 0);
    }
    println!("{late} late conflicts");
}

#[test]
fn two_sessions_of_one_name_see_each_other() {
    let scratch = Scratch::new();
    scratch.file("a", "1").file("d/f", "1");
    let one = scratch.session(Mode::Overlay);
    let other = scratch.catalogue().open("s", me()).unwrap();
    one.write("/a", "2").unwrap();
    assert_eq!(other.read("/a").unwrap(), b"2");
    other
        .rename("/d", "/e", handfast::RenameMode::Replace)
        .unwrap();
    assert_eq!(one.read("/e/f").unwrap(), b"1");
    one.snapshot("x").unwrap();
    other.append("/a", "3").unwrap();
    one.rollback("x").unwrap();
    assert_eq!(other.read("/a").unwrap(), b"2");
    one.commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap();
    assert_eq!(diff(&other), [] as [&str; 0]);
    other.write("/a", "4").unwrap();
    assert_eq!(diff(&one), ["changed /a"]);
    one.discard(&[]).unwrap();
    assert_eq!(other.read("/a").unwrap(), b"2");
}

#[test]
fn threads_and_readers_in_one_session_lose_nothing() {
    let scratch = Scratch::new();
    scratch.file("log", "");
    drop(scratch.session(Mode::Overlay));
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let session = scratch.catalogue().open("s", me()).unwrap();
            scope.spawn(move || {
                for number in 0..50 {
                    session
                        .append("/log", format!("{writer}-{number}\n"))
                        .unwrap();
                    session
                        .write(format!("/w{writer}"), number.to_string())
                        .unwrap();
                    session
                        .create_dir_all(format!("/d/{writer}/{number}"))
                        .unwrap();
                }
            });
        }
        let reader = scratch.catalogue().open("s", me()).unwrap();
        scope.spawn(move || {
            for _ in 0..100 {
                reader.read("/log").unwrap();
                reader.diff().unwrap();
            }
        });
    });
    let session = scratch.catalogue().open("s", me()).unwrap();
    let log = String::from_utf8(session.read("/log").unwrap()).unwrap();
    assert_eq!(log.lines().count(), 200);
    assert_eq!(session.read("/w3").unwrap(), b"49");
    assert_eq!(session.read_dir("/d/2").unwrap().len(), 50);
}

/// What is written while a session goes back is in the snapshot of what it held, or comes after.
#[test]
fn nothing_is_lost_between_the_snapshot_and_going_back() {
    use std::sync::atomic::AtomicUsize;
    let scratch = Scratch::new();
    let session = scratch.session(Mode::Overlay);
    session.write("/early", "").unwrap();
    session.snapshot("start").unwrap();
    let (stop, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let writer = scratch.catalogue().open("s", me()).unwrap();
        let (stop, written) = (&stop, &written);
        scope.spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                let number = written.load(Ordering::SeqCst);
                writer.write(format!("/f{number}"), "x").unwrap();
                written.store(number + 1, Ordering::SeqCst);
            }
        });
        for round in 0..20 {
            let before = written.load(Ordering::SeqCst);
            while written.load(Ordering::SeqCst) == before {
                std::thread::yield_now();
            }
            let label = format!("kept{round}");
            session.rollback_keeping("start", &label).unwrap();
        }
        stop.store(true, Ordering::SeqCst);
    });
    let mut seen = std::collections::BTreeSet::new();
    session.snapshot("last").unwrap();
    let labels = session.labels().unwrap();
    assert_eq!(labels.len(), 22);
    for label in labels {
        session.rollback(&label).unwrap();
        let names = session.read_dir("/").unwrap();
        seen.extend(names.into_iter().map(|entry| entry.name.to_string()));
    }
    for number in 0..written.into_inner() {
        assert!(seen.contains(&format!("f{number}")), "{number} is lost");
    }
}
