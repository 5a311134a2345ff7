//! Questions of one process and answers of another: who may answer, and what a killed one leaves.

use std::process::{Child, Command, Stdio};

use handfast::ErrorKind;

use super::walls::walls;
use super::*;

const ROLE: &str = "HANDFAST_ASK_ROLE";
const STATE: &str = "HANDFAST_ASK_STATE";

/// This test binary again, in one of the roles below.
fn start(role: &str, scratch: &Scratch) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ask::processes::role", "--nocapture"])
        .env(ROLE, role)
        .env(STATE, scratch.top.join("state"))
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// What a process that was started by these tests does; nothing in an ordinary run.
#[test]
fn role() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let catalogue =
        handfast_session::Catalogue::open_ambient(std::env::var_os(STATE).unwrap()).unwrap();
    let session = catalogue.open("s", me()).unwrap();
    let inbox = session.inbox().unwrap();
    match role.as_str() {
        "asks" => match session.read("/a.pem") {
            Ok(read) => say(&format!("read {}", String::from_utf8(read).unwrap())),
            Err(error) => say(&format!("refused {}", error.detail())),
        },
        // A program that asks, and starts another that answers.
        "asks and answers" => std::thread::scope(|scope| {
            let asks = scope.spawn(|| session.read("/a.pem"));
            let question = next_question(inbox);
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "ask::processes::role", "--nocapture"])
                .env(ROLE, format!("answers {}", question.digest))
                .output()
                .unwrap();
            say(&String::from_utf8_lossy(&child.stdout));
            let no = answer(false, GrantScope::Once);
            inbox.answer(&question.digest, &no).unwrap();
            assert!(asks.join().unwrap().is_err());
        }),
        other => {
            let digest = other.strip_prefix("answers ").unwrap();
            let answered = inbox.answer(digest, &person(true, GrantScope::Once));
            match answered {
                Ok(_) => say("taken"),
                Err(error) => say(&format!("answer {}: {}", error.kind(), error.detail())),
            }
        }
    }
}

fn say(text: &str) {
    println!("said: {text}");
}

fn said(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // A role has assertions of its own.
    assert!(output.status.success(), "{text}");
    let lines = text.lines().filter_map(|line| line.split_once("said: "));
    lines.map(|(_, said)| said).collect::<Vec<_>>().join("\n")
}

fn person(yes: bool, scope: GrantScope) -> Answer {
    Answer {
        by: AnsweredBy::Person("alice".to_owned()),
        ..answer(yes, scope)
    }
}

fn scene() -> (Scratch, Inbox) {
    let scratch = Scratch::new();
    scratch.file("a.pem", "secret");
    drop(asking_session(&scratch, Mode::Overlay, "*.pem", LONG));
    let inbox = scratch.catalogue().inbox("s").unwrap();
    (scratch, inbox)
}

#[test]
fn a_person_answers_what_another_process_asks() {
    let (scratch, inbox) = scene();
    let child = start("asks", &scratch);
    let question = next_question(&inbox);
    // Only the process that asks answers for a client of its own.
    let forged = answer(true, GrantScope::Once);
    assert_eq!(
        kind(inbox.answer(&question.digest, &forged)),
        ErrorKind::Denied
    );
    inbox
        .answer(&question.id, &person(true, GrantScope::Once))
        .unwrap();
    assert_eq!(said(child), "read secret");
}

#[test]
fn a_process_that_the_asking_one_started_does_not_answer() {
    let (scratch, _) = scene();
    let told = said(start("asks and answers", &scratch));
    assert!(told.contains("started by the program that asks"), "{told}");
}

#[test]
fn a_killed_asker_leaves_no_question() {
    let (scratch, inbox) = scene();
    let mut child = start("asks", &scratch);
    let question = next_question(&inbox);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(inbox.questions().unwrap().is_empty());
    let late = inbox.answer(&question.digest, &person(true, GrantScope::Session));
    assert_eq!(kind(late), ErrorKind::NotFound);
    assert!(inbox.grants().unwrap().is_empty());
    let left = std::fs::read_dir(scratch.top.join("state/sessions/s/inbox")).unwrap();
    assert_eq!(left.count(), 0);
}

/// A process in a PID namespace of its own, as programs in a run are, and one that gave up getting
/// more rights.
#[test]
fn confined_processes_do_not_answer() {
    let (scratch, inbox) = scene();
    let child = start("asks", &scratch);
    let question = next_question(&inbox);
    let exe = std::env::current_exe().unwrap();
    for mut wall in walls(skip) {
        let child = wall
            .arg(&exe)
            .args(["--exact", "ask::processes::role", "--nocapture"])
            .env(ROLE, format!("answers {}", question.digest))
            .env(STATE, scratch.top.join("state"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let told = said(child);
        assert!(told.contains("outside of any run"), "{wall:?}: {told}");
    }
    inbox
        .answer(&question.digest, &person(false, GrantScope::Once))
        .unwrap();
    assert!(said(child).starts_with("refused refused by alice"));
}
