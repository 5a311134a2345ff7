//! What a recorder hears of a session as a whole, and of text that never became a path.

use std::sync::{Arc, Mutex};

use handfast::{Decision, ErrorKind, Event, Phase, RecordError, Recorder, Verb};
use handfast_session::{Caller, CommitOptions, Error, Mode, OnConflict, Session, VirtualPath};

use crate::support::*;

/// One event, as far as these tests look.
#[derive(Clone, Debug)]
struct Heard {
    id: u64,
    line: String,
    entries: Vec<String>,
}

#[derive(Default)]
struct Tape {
    heard: Mutex<Vec<Heard>>,
    /// Says no to this verb in this phase.
    refuses: Mutex<Option<(Verb, Phase)>>,
}

impl Recorder for Tape {
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
        if *self.refuses.lock().unwrap() == Some((event.verb, event.phase)) {
            return Err(RecordError::Refused("not now".to_owned()));
        }
        let how = match &event.decision {
            Decision::Allowed => String::new(),
            Decision::Refused { kind, why } => format!(" {kind}: {why}"),
        };
        let label = event.destination.map(|label| format!(" {label}"));
        let text = event.text.map(|text| format!(" text {} bytes", text.len()));
        let entry = |entry: &handfast::TouchedEntry| {
            format!("{} {}", entry.kind.name(), handfast::escape(&entry.path))
        };
        self.heard.lock().unwrap().push(Heard {
            id: event.op_id,
            line: format!(
                "{} {}{}{}{how}",
                event.phase.name(),
                event.verb,
                label.unwrap_or_default(),
                text.unwrap_or_default()
            ),
            entries: event.entries.iter().map(entry).collect(),
        });
        Ok(())
    }
}

impl Tape {
    /// What was heard since the last time, all of one operation.
    fn operation(&self) -> (Vec<String>, Vec<String>) {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap());
        assert!(
            heard.windows(2).all(|two| two[0].id == two[1].id),
            "{heard:?}"
        );
        let entries = heard.iter().flat_map(|one| one.entries.clone()).collect();
        (heard.into_iter().map(|one| one.line).collect(), entries)
    }
}

fn recorded(scratch: &Scratch) -> (Session, Arc<Tape>) {
    drop(scratch.session(Mode::Overlay));
    let tape = Arc::new(Tape::default());
    let caller = Caller::new("bot").recorder(tape.clone());
    (scratch.catalogue().open("s", caller).unwrap(), tape)
}

fn commit(session: &Session, paths: &[&str], on_conflict: OnConflict) -> Result<usize, Error> {
    let paths = paths.iter().map(|path| VirtualPath::parse(path).unwrap());
    let options = CommitOptions {
        paths: paths.collect(),
        on_conflict,
        ..CommitOptions::default()
    };
    Ok(session.commit(&options, &mut |_, _| {})?.committed.len())
}

#[test]
fn commit_and_discard_tell_what_they_are_about_before_and_how_it_ended() {
    let scratch = Scratch::new();
    scratch.file("a", "1").file("old", "2").dir("d");
    let (session, tape) = recorded(&scratch);
    session.write("/a", "changed").unwrap();
    session.create_dir("/d/new").unwrap();
    session
        .rename("/old", "/d/moved", handfast::RenameMode::Replace)
        .unwrap();
    session.write("/x", "dropped").unwrap();
    tape.heard.lock().unwrap().clear();

    assert_eq!(commit(&session, &["/d"], OnConflict::Refuse).unwrap(), 2);
    let (told, entries) = tape.operation();
    assert_eq!(told, ["intent commit", "entries commit", "result commit"]);
    assert_eq!(entries, ["unknown old", "unknown d/moved", "dir d/new"]);

    session
        .discard(&[VirtualPath::parse("/x").unwrap()])
        .unwrap();
    let (told, entries) = tape.operation();
    assert_eq!(
        told,
        ["intent discard", "entries discard", "result discard"]
    );
    assert_eq!(entries, ["unknown x"]);

    scratch.file("a", "theirs");
    assert_eq!(commit(&session, &[], OnConflict::Skip).unwrap(), 0);
    let (told, _) = tape.operation();
    assert_eq!(
        told[2],
        "result commit Stale: 0 committed, 1 in conflict: `/a`"
    );
}

/// What waits to be named and what is left out is not told as committed; what goes with a directory is.
#[test]
fn a_commit_tells_what_it_takes_and_nothing_else() {
    let scratch = Scratch::new();
    scratch.file("gone/x", "1").file("kept", "2");
    let protect = handfast_session::Protect::new().with_read_only("kept");
    drop(scratch.protected(Mode::Overlay, protect));
    let tape = Arc::new(Tape::default());
    let caller = Caller::new("bot").recorder(tape.clone());
    let session = scratch.catalogue().open("s", caller).unwrap();
    session.remove_tree("/gone").unwrap();
    session.write("/kept", "changed").unwrap();
    session.write("/log", "left out").unwrap();
    session.write("/new", "new").unwrap();
    tape.heard.lock().unwrap().clear();
    let options = CommitOptions {
        leave_out: vec![v("/log")],
        ..CommitOptions::default()
    };
    session.commit(&options, &mut |_, _| {}).unwrap();
    let (_, entries) = tape.operation();
    assert_eq!(entries, ["dir gone", "unknown gone/x", "unknown new"]);
}

#[test]
fn many_entries_are_told_in_several_lists() {
    let scratch = Scratch::new();
    let (session, tape) = recorded(&scratch);
    for number in 0..600 {
        session.write(format!("/f{number:03}"), "").unwrap();
    }
    tape.heard.lock().unwrap().clear();
    assert_eq!(commit(&session, &[], OnConflict::Refuse).unwrap(), 600);
    let (told, entries) = tape.operation();
    assert_eq!(told.len(), 5, "{told:?}");
    assert_eq!(entries.len(), 600);
}

#[test]
fn snapshots_rollbacks_and_forks_are_told_with_their_labels() {
    let scratch = Scratch::new();
    let (session, tape) = recorded(&scratch);
    session.write("/a", "1").unwrap();
    tape.heard.lock().unwrap().clear();
    session.snapshot("one").unwrap();
    assert_eq!(
        tape.operation().0,
        ["intent snapshot one", "result snapshot one"]
    );
    session.snapshot("one").unwrap_err();
    let (told, _) = tape.operation();
    assert_eq!(
        told[1],
        "result snapshot one Exists: there is a snapshot `one` already"
    );
    session.rollback("one").unwrap();
    assert_eq!(
        tape.operation().0,
        ["intent roll-back one", "result roll-back one"]
    );
    let caller = || me().recorder(tape.clone());
    let catalogue = scratch.catalogue();
    catalogue.fork("s", Some("one"), "t", caller()).unwrap();
    assert_eq!(tape.operation().0, ["intent fork t", "result fork t"]);
    catalogue.remove("t", caller()).unwrap();
    let (told, entries) = tape.operation();
    assert_eq!(
        told,
        ["intent discard", "entries discard", "result discard"]
    );
    assert_eq!(entries, ["unknown a"]);
    assert_eq!(catalogue.list().unwrap(), ["s"]);
}

#[test]
fn what_the_recorder_does_not_take_is_not_done() {
    let scratch = Scratch::new();
    let (session, tape) = recorded(&scratch);
    session.write("/a", "1").unwrap();
    for phase in [Phase::Intent, Phase::Entries] {
        for verb in [Verb::Commit, Verb::Discard] {
            *tape.refuses.lock().unwrap() = Some((verb, phase));
            let refused = match verb {
                Verb::Commit => commit(&session, &[], OnConflict::Refuse).map(drop),
                _ => session.discard(&[]).map(drop),
            };
            assert_eq!(kind(refused), ErrorKind::Denied);
        }
    }
    for verb in [Verb::Snapshot, Verb::Rollback, Verb::Fork] {
        *tape.refuses.lock().unwrap() = Some((verb, Phase::Intent));
        let caller = me().recorder(tape.clone());
        let refused = match verb {
            Verb::Snapshot => session.snapshot("one"),
            Verb::Rollback => session.rollback("one"),
            _ => scratch.catalogue().fork("s", None, "t", caller),
        };
        assert_eq!(kind(refused), ErrorKind::Denied);
    }
    assert!(scratch.tree().is_empty(), "{:?}", scratch.tree());
    assert_eq!(session.read("/a").unwrap(), b"1");
    assert!(session.labels().unwrap().is_empty());
    assert_eq!(scratch.catalogue().list().unwrap(), ["s"]);
}

#[test]
fn text_that_is_no_path_is_told_and_cut() {
    let scratch = Scratch::new();
    let (session, tape) = recorded(&scratch);
    assert_eq!(kind(session.read("../etc/passwd")), ErrorKind::Invalid);
    let (told, _) = tape.operation();
    assert_eq!(
        told,
        ["single read text 13 bytes Invalid: paths in a session are absolute"]
    );
    let long = format!("/{}", "a".repeat(100_000));
    assert_eq!(kind(session.write(&long, "")), ErrorKind::TooLong);
    let (told, _) = tape.operation();
    assert_eq!(
        told,
        ["intent write text 4096 bytes TooLong: the path is too long"]
    );
    let refusals = [
        session.metadata("x").map(drop),
        session.read_dir("x").map(drop),
        session.create_dir_all("x"),
        session.remove_tree("x"),
        session.copy_tree("/a", "x"),
        session.copy("x", "/a").map(drop),
        session.walk("x", handfast::TreeLimits::default()).map(drop),
    ];
    let told = tape.heard.lock().unwrap().len();
    assert_eq!(told, refusals.len(), "one each");
    for refused in refusals {
        assert_eq!(kind(refused), ErrorKind::Invalid);
    }
}

#[test]
fn drafts_and_locks_are_told_when_they_are_made_and_when_they_become_files() {
    let scratch = Scratch::new();
    let (session, tape) = recorded(&scratch);
    let staged = session.stage("/a").unwrap();
    let told = tape.operation().0;
    assert_eq!(told, ["intent temp-file", "result temp-file"]);
    staged.commit().unwrap();
    assert_eq!(tape.operation().0, ["intent write", "result write"]);
    let mut temp = session.temp_file("/").unwrap();
    let told = tape.operation().0;
    assert_eq!(told, ["intent temp-file", "result temp-file"]);
    temp.persist_new("/b").unwrap();
    let told = tape.operation().0;
    assert_eq!(told, ["intent write-new", "result write-new"]);
    let dir = session.temp_dir("/").unwrap();
    let told = tape.operation().0;
    assert_eq!(told, ["intent temp-dir", "result temp-dir"]);
    drop(dir);
    let told = std::mem::take(&mut *tape.heard.lock().unwrap());
    assert!(told.iter().any(|one| one.line.starts_with("result remove")));
    let zero = std::time::Duration::ZERO;
    drop(
        session
            .lock("/a", handfast::LockKind::Shared, zero)
            .unwrap(),
    );
    assert_eq!(tape.operation().0, ["intent lock", "result lock"]);
    // What is not recorded is not done.
    *tape.refuses.lock().unwrap() = Some((Verb::Write, Phase::Intent));
    let staged = session.stage("/a").unwrap();
    assert_eq!(staged.commit().unwrap_err().kind(), ErrorKind::Denied);
}
