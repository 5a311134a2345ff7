//! Changes by others at the worst moment: between a look and what depends on it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use handfast::{ErrorKind, RenameMode};
use handfast_session::{CommitOptions, Committed, Mode, Session};

use crate::support::{Scratch, kind, me};

fn commit(session: &Session) -> Committed {
    session
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap()
}

/// A conditional change either finds what somebody else put there, or the commit does.
#[test]
fn conditional_changes_lose_nothing_to_a_race() {
    let s = Scratch::new();
    let session = s.session(Mode::Overlay);
    let (mut done, mut noticed) = (0, 0);
    for round in 0..200_u32 {
        s.file("f", format!("seen {round}"));
        std::fs::write(s.top.join("theirs"), "theirs").unwrap();
        let (_, version) = session.read_versioned("/f").unwrap();
        let (theirs, f) = (s.top.join("theirs"), s.at("f"));
        let calm = round % 8 == 0;
        let other = std::thread::spawn(move || {
            if !calm {
                std::thread::sleep(std::time::Duration::from_micros(u64::from(round * 7 % 300)));
                std::fs::rename(&theirs, &f).unwrap();
            }
        });
        let acted = match round % 16 < 8 {
            true => session.write_if("/f", &version, "ours").map(drop),
            false => session.remove_if("/f", &version),
        };
        other.join().unwrap();
        match acted {
            Ok(()) => {
                done += 1;
                let conflicts = commit(&session).conflicts;
                assert_eq!(
                    conflicts.is_empty(),
                    calm,
                    "round {round}: a change was lost"
                );
            }
            Err(error) => {
                noticed += 1;
                assert_eq!(error.kind(), ErrorKind::Stale);
            }
        }
        session.discard(&[]).unwrap();
    }
    assert!(done >= 25 && done + noticed == 200, "{done} {noticed}");
}

#[test]
fn a_resumed_commit_does_not_move_what_others_put_there() {
    for exchange in [false, true] {
        let s = Scratch::new();
        s.file("a", "seen").file("c", "other");
        let session = s.session(Mode::Overlay);
        let (to, how) = match exchange {
            false => ("/b", RenameMode::NoReplace),
            true => ("/c", RenameMode::Exchange),
        };
        session.rename("/a", to, how).unwrap();
        let died = catch_unwind(AssertUnwindSafe(|| {
            session.commit(&CommitOptions::default(), &mut |_, _| panic!("killed"))
        }));
        assert!(died.is_err());
        drop(session);
        s.file("a", "written by somebody else");
        let session = s.catalogue().open("s", me()).unwrap();
        session.mend().unwrap();
        assert_eq!(s.read("a"), "written by somebody else", "{exchange}");
        assert!(!s.at("b").exists(), "{:?}", s.tree());
        assert!(
            !session.diff().unwrap().is_empty(),
            "it is still to be decided"
        );
        assert!(!commit(&session).conflicts.is_empty());
    }
}

#[test]
fn a_change_between_prepare_and_a_move_is_a_conflict() {
    for (exchange, swap) in [(false, false), (false, true), (true, false), (true, true)] {
        let s = Scratch::new();
        s.file("a", "seen").file("c", "other").file("d", "d");
        let session = s.session(Mode::Overlay);
        match exchange {
            false => session.rename("/a", "/b", RenameMode::NoReplace).unwrap(),
            true => session.rename("/a", "/c", RenameMode::Exchange).unwrap(),
        }
        // Beside it, something that is done all the same.
        session.rename("/d", "/e", RenameMode::NoReplace).unwrap();
        let (a, theirs) = (s.at("a"), s.top.join("theirs"));
        let mut once = true;
        let mut change = |_: usize, _: usize| {
            if !std::mem::take(&mut once) {
                return;
            }
            if swap {
                std::fs::write(&theirs, "seen").unwrap();
                std::fs::rename(&theirs, &a).unwrap();
            } else {
                std::fs::write(&a, "foreign").unwrap();
            }
        };
        let report = session
            .commit(&CommitOptions::default(), &mut change)
            .unwrap();
        let conflicts: Vec<String> = report.conflicts.iter().map(|c| c.0.to_string()).collect();
        let at = if exchange { "/c" } else { "/b" };
        assert!(conflicts.iter().any(|path| path == at), "{report:?}");
        let left = if swap { "seen" } else { "foreign" };
        assert_eq!(s.read("a"), left, "{exchange} {swap}");
        assert_eq!(s.read("e"), "d", "{:?}", s.tree());
        assert!(!s.at("b").exists());
        assert!(
            !s.tree().keys().any(|name| name.starts_with(".handfast")),
            "{:?}",
            s.tree()
        );
    }
}

#[test]
fn a_mode_that_others_gave_a_directory_is_a_conflict() {
    use std::os::unix::fs::PermissionsExt;
    let s = Scratch::new();
    s.dir("d").dir("moved").dir("calm");
    let set = |path: &str, mode| {
        std::fs::set_permissions(s.at(path), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for path in ["d", "moved", "calm"] {
        set(path, 0o750);
    }
    let session = s.session(Mode::Overlay);
    session.chmod("/d", 0o755).unwrap();
    session.chmod("/d", 0o711).unwrap();
    session.chmod("/moved", 0o755).unwrap();
    session
        .rename("/moved", "/there", RenameMode::NoReplace)
        .unwrap();
    session.chmod("/calm", 0o755).unwrap();
    set("d", 0o700);
    set("moved", 0o700);
    // What the journal says is what counts, not what this process remembers.
    drop(session);
    let session = s.catalogue().open("s", me()).unwrap();
    let report = commit(&session);
    assert!(report.committed.is_empty());
    let conflicts: Vec<String> = report.conflicts.iter().map(|c| c.0.to_string()).collect();
    assert_eq!(conflicts, ["/d", "/there"]);
    set("d", 0o750);
    set("moved", 0o750);
    assert!(commit(&session).conflicts.is_empty());
    let tree = s.tree();
    let modes: Vec<&str> = ["d", "there", "calm"]
        .iter()
        .map(|at| tree[*at].as_str())
        .collect();
    assert_eq!(modes, ["dir 711", "dir 755", "dir 755"]);
}

#[test]
fn an_edited_journal_is_noticed_by_readers() {
    let s = Scratch::new();
    s.file("a", "a");
    let session = s.session(Mode::Overlay);
    session.write("/first", "1").unwrap();
    session.write("/second", "2").unwrap();
    let journal = find(&s.top.join("state"), "journal").unwrap();
    let mut bytes = std::fs::read(&journal).unwrap();
    let at = bytes
        .windows(6)
        .position(|window| window == b"second")
        .unwrap();
    bytes[at] = b'x';
    std::fs::write(&journal, bytes).unwrap();
    let other = s.catalogue().open("s", me());
    let seen = other.and_then(|other| other.read("/first"));
    assert_eq!(kind(seen), ErrorKind::Stale);
}

fn find(dir: &std::path::Path, name: &str) -> Option<std::path::PathBuf> {
    std::fs::read_dir(dir).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => find(&path, name),
            false => path.ends_with(name).then_some(path),
        }
    })
}

#[test]
fn trees_do_not_grow_deeper_than_can_be_handled() {
    for mode in [Mode::Memory, Mode::Overlay] {
        let s = Scratch::new();
        let session = s.session(mode);
        let mut refused = 0;
        for round in 0..8 {
            let (top, old) = if round % 2 == 0 {
                ("/A", "/B")
            } else {
                ("/B", "/A")
            };
            let mut path = top.to_owned();
            for _ in 0..100 {
                path.push_str("/a");
            }
            session.create_dir_all(&path).unwrap();
            if round == 0 {
                continue;
            }
            match session.rename(old, format!("{path}/x"), RenameMode::NoReplace) {
                Ok(()) => assert_eq!(refused, 0),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::TooLong);
                    refused += 1;
                    break;
                }
            }
        }
        assert_eq!(refused, 1, "{mode}");
        let swapped = session.rename("/A", "/B", RenameMode::Exchange);
        swapped.unwrap();
        if mode == Mode::Overlay {
            session.snapshot("deep").unwrap();
            drop(session);
            let session = s.catalogue().open("s", me()).unwrap();
            assert!(!session.diff().unwrap().is_empty());
            session.discard(&[]).unwrap();
        }
    }
}
