//! What an answer reaches, and what becomes of questions.

use std::sync::Mutex;

use handfast::{Decision, ErrorKind, Event, RecordError, Recorder, Verb};
use handfast_session::Caller;

use super::*;

#[test]
fn an_answer_for_a_file_holds_for_this_file_only() {
    let scratch = Scratch::new();
    scratch.file("a.pem", "a").file("b.pem", "b");
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let hasty = session.for_caller(me().without_asking());
    let (read, question) = answered(&session, &answer(true, GrantScope::File), |session| {
        session.read("/a.pem")
    });
    read.unwrap();
    assert_eq!(hasty.read("/b.pem").unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(session.read("/a.pem").unwrap(), b"a");
    // Reading was granted, changing was not.
    assert!(session.inbox().unwrap().questions().unwrap().is_empty());
    is_not_granted(hasty.write("/a.pem", "x"));
    // Another file under the same name is another file.
    std::fs::rename(scratch.at("b.pem"), scratch.at("a.pem")).unwrap();
    is_not_granted(hasty.read("/a.pem"));
    let inbox = session.inbox().unwrap();
    assert_eq!(inbox.grants().unwrap().len(), 1);
    let by = AnsweredBy::Face("alice".to_owned());
    inbox.take_back(&question.id, &by).unwrap();
    assert!(inbox.grants().unwrap().is_empty());
    assert_eq!(
        kind(inbox.take_back(&question.id, &by)),
        ErrorKind::NotFound
    );
}

#[test]
fn an_answer_for_a_file_that_is_changed_holds_for_its_next_change() {
    let scratch = Scratch::new();
    scratch.file("a.pem", "a");
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let (written, _) = answered(&session, &answer(true, GrantScope::File), |session| {
        session.write("/a.pem", "1")
    });
    written.unwrap();
    session.write("/a.pem", "2").unwrap();
    session.append("/a.pem", "3").unwrap();
}

#[test]
fn an_answer_for_the_session_holds_for_its_pattern_and_its_access() {
    let scratch = Scratch::new();
    scratch
        .file("a.pem", "a")
        .file("b.pem", "b")
        .file("c.key", "c");
    let protect = Protect::new().with_ask("*.pem").with_ask("*.key");
    let mount = scratch.mount(Mode::Overlay).protect(protect);
    let session = scratch.session_of(&SessionSpec::new().mount(mount).ask_timeout(LONG));
    let hasty = session.for_caller(me().without_asking());
    answered(&session, &answer(true, GrantScope::Session), |session| {
        session.read("/a.pem")
    })
    .0
    .unwrap();
    assert_eq!(session.read("/b.pem").unwrap(), b"b");
    is_not_granted(hasty.read("/c.key"));
    is_not_granted(hasty.write("/a.pem", "x"));
    // Another process of the session knows it too.
    let other = scratch.catalogue().open("s", me()).unwrap();
    assert_eq!(other.read("/b.pem").unwrap(), b"b");
    // A no for the session beats it.
    let (refused, _) = answered(&session, &answer(false, GrantScope::Session), |session| {
        session.read("/c.key")
    });
    is_not_granted(refused);
    let why = is_not_granted(session.read("/c.key"));
    assert!(why.contains("refused by alice"), "{why}");
}

#[test]
fn two_requests_for_one_file_are_two_questions() {
    let scratch = Scratch::new();
    scratch.file("a.pem", "a");
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let inbox = session.inbox().unwrap();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| session.read("/a.pem"));
        let one = next_question(inbox);
        let second = scope.spawn(|| session.read("/a.pem"));
        let two = waiting(inbox, 2).remove(1);
        inbox
            .answer(&one.digest, &answer(true, GrantScope::Once))
            .unwrap();
        assert_eq!(first.join().unwrap().unwrap(), b"a");
        assert_eq!(waiting(inbox, 1)[0].id, two.id);
        inbox
            .answer(&two.digest, &answer(false, GrantScope::Once))
            .unwrap();
        is_not_granted(second.join().unwrap());
    });
    // One answer for the file lets all of them go on.
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| session.read("/a.pem")))
            .collect();
        let questions = waiting(inbox, 4);
        inbox
            .answer(&questions[2].digest, &answer(true, GrantScope::File))
            .unwrap();
        for one in all {
            assert_eq!(one.join().unwrap().unwrap(), b"a");
        }
    });
}

#[test]
fn only_a_question_that_waits_is_answered_and_only_once() {
    let scratch = Scratch::new();
    scratch.file("a.pem", "a");
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let inbox = session.inbox().unwrap();
    let yes = answer(true, GrantScope::Once);
    let slow = face();
    let patient = session.for_caller(me().asker(slow.clone()));
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| patient.read("/a.pem"));
        let question = next_question(inbox);
        assert_eq!(question.caller, "test (pid 7, /bin/cat)");
        let mut other = question.digest.clone();
        other.replace_range(
            40..41,
            if other.as_bytes()[40] == b'0' {
                "1"
            } else {
                "0"
            },
        );
        for wrong in [&other, &question.id[..15], "", "../spec", "zz"] {
            assert_eq!(kind(inbox.answer(wrong, &yes)), ErrorKind::NotFound);
        }
        slow.gone.store(true, Ordering::SeqCst);
        let why = is_not_granted(asks.join().unwrap());
        assert!(why.contains("given up"), "{why}");
        assert_eq!(
            kind(inbox.answer(&question.digest, &yes)),
            ErrorKind::NotFound
        );
    });
    assert!(inbox.questions().unwrap().is_empty());
    // Several who answer at the same time: one of them is first, also while its answer is taken.
    for round in 0..20 {
        std::thread::scope(|scope| {
            let asks = scope.spawn(|| session.read("/a.pem"));
            let question = next_question(inbox);
            let all: Vec<_> = (0..4)
                .map(|late| {
                    let (digest, yes) = (question.digest.clone(), &yes);
                    scope.spawn(move || {
                        // Until the request looks for its answer.
                        std::thread::sleep(Duration::from_millis(late * 13));
                        inbox.answer(&digest, yes).is_ok()
                    })
                })
                .collect();
            let taken = all.into_iter().map(|one| one.join().unwrap());
            assert_eq!(taken.filter(|taken| *taken).count(), 1, "round {round}");
            asks.join().unwrap().unwrap();
        });
    }
}

#[derive(Default)]
struct Tape(Mutex<Vec<String>>);

impl Recorder for Tape {
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
        let how = match &event.decision {
            Decision::Allowed => "allowed".to_owned(),
            Decision::Refused { why, .. } => format!("refused: {why}"),
        };
        let label = event.destination.map(ToString::to_string);
        let line = format!(
            "{} {} /{} [{}] {how}",
            event.phase.name(),
            event.verb,
            event.path,
            label.unwrap_or_default()
        );
        self.0.lock().unwrap().push(line);
        Ok(())
    }
}

#[test]
fn every_question_and_every_answer_is_an_event_with_who_gave_it() {
    let scratch = Scratch::new();
    scratch.file("a.pem", "a");
    let tape = Arc::new(Tape::default());
    let quiet = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let session = quiet.for_caller(Caller::new("bot").recorder(tape.clone()));
    let (read, question) = answered(&session, &answer(true, GrantScope::Once), |session| {
        session.read("/a.pem")
    });
    read.unwrap();
    let told = std::mem::take(&mut *tape.0.lock().unwrap());
    let id = &question.id;
    assert_eq!(
        told,
        [
            format!("intent ask /a.pem [read {id}] allowed"),
            "result ask /a.pem [yes, once, by alice] allowed".to_owned(),
            "single read /a.pem [] allowed".to_owned(),
        ]
    );
    let (refused, question) = answered(&session, &answer(false, GrantScope::Once), |session| {
        session.write("/a.pem", "x")
    });
    is_not_granted(refused);
    let told = std::mem::take(&mut *tape.0.lock().unwrap());
    let id = &question.id;
    let why = "refused: refused by alice: ask `*.pem`";
    assert_eq!(
        told,
        [
            format!("intent ask /a.pem [write {id}] allowed"),
            format!("result ask /a.pem [no, once, by alice] {why}"),
            format!("intent write /a.pem [] {why}"),
        ]
    );
    // An answer of the asking process in the name of a person is refused, and told.
    let inbox = session.inbox().unwrap();
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| session.read("/a.pem"));
        let question = next_question(inbox);
        let forged = Answer {
            by: AnsweredBy::Person("mallory".to_owned()),
            ..answer(true, GrantScope::Session)
        };
        assert_eq!(
            kind(inbox.answer(&question.digest, &forged)),
            ErrorKind::Denied
        );
        let deadline = Instant::now() + LONG;
        while tape.0.lock().unwrap().len() < 2 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        inbox
            .answer(&question.digest, &answer(false, GrantScope::Once))
            .unwrap();
        is_not_granted(asks.join().unwrap());
    });
    let told = std::mem::take(&mut *tape.0.lock().unwrap());
    assert!(
        told[1].contains("[answer refused] refused: an answer was refused: mallory"),
        "{told:?}"
    );
    assert!(inbox.grants().unwrap().is_empty());
}

#[test]
fn what_cannot_be_recorded_is_not_asked() {
    struct Broken;
    impl Recorder for Broken {
        fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
            match event.verb {
                Verb::Ask => Err(RecordError::Failed(std::io::Error::other("full"))),
                _ => Ok(()),
            }
        }
    }
    let scratch = Scratch::new();
    scratch.file("a.pem", "a");
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let session = session.for_caller(me().recorder(Arc::new(Broken)));
    assert_eq!(kind(session.read("/a.pem")), ErrorKind::Io);
    assert!(session.inbox().unwrap().questions().unwrap().is_empty());
}

/// The one who takes it back has no log; the program that asked has one.
#[test]
fn an_answer_that_is_taken_back_is_an_event() {
    let scratch = Scratch::new();
    scratch.file("a.pem", "a");
    let session = asking_session(&scratch, Mode::Overlay, "*.pem", LONG);
    let (read, question) = answered(&session, &answer(true, GrantScope::Session), |session| {
        session.read("/a.pem")
    });
    read.unwrap();
    let inbox = scratch.catalogue().inbox("s").unwrap();
    let by = AnsweredBy::Face("b".repeat(500));
    inbox.take_back(&question.id, &by).unwrap();
    // A caller without a log leaves it for one that has a log.
    session.record_taken_back().unwrap();
    is_not_granted(session.for_caller(me().without_asking()).read("/a.pem"));
    let tape = Arc::new(Tape::default());
    let recorded = session.for_caller(me().without_asking().recorder(tape.clone()));
    is_not_granted(recorded.read("/a.pem"));
    let told = std::mem::take(&mut *tape.0.lock().unwrap());
    let label = format!("yes to {} taken back by {}…", question.id, "b".repeat(21));
    assert_eq!(label.chars().count(), 60, "what is cut says so");
    assert_eq!(told[0], format!("single ask /a.pem [{label}] allowed"));
    recorded.record_taken_back().unwrap();
    assert!(tape.0.lock().unwrap().is_empty(), "once");
}
