//! `handfast approve`: what waits, and who may answer it.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Run, Scratch, binary, handfast, skip};
use crate::walls::walls;

const PATIENCE: Duration = Duration::from_secs(60);

fn scene() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("key.pem", "secret");
    scratch.new_session(&["--ask", "*.pem"]);
    scratch
}

/// Reads the file that asks, in a process of its own.
fn reader(scratch: &Scratch) -> Child {
    let state = scratch.path.join("state");
    let state = state.to_str().unwrap();
    handfast(&["fs", "--session", "s", "--state", state, "read", "/key.pem"])
        .spawn()
        .unwrap()
}

fn approve(scratch: &Scratch, args: &[&str]) -> Run {
    scratch.hand(&[&["approve", "--json"], args].concat(), b"")
}

fn question(scratch: &Scratch) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let listed = approve(scratch, &[]).ok();
        if let Some(first) = listed["questions"].as_array().unwrap().first() {
            return first.clone();
        }
        assert!(Instant::now() < deadline, "no question came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_question_is_listed_answered_and_kept_as_far_as_the_answer_says() {
    let scratch = scene();
    let child = reader(&scratch);
    let asked = question(&scratch);
    let id = asked["id"].as_str().unwrap().to_owned();
    assert_eq!(asked["session"], "s");
    assert_eq!(asked["path"], "/key.pem");
    assert_eq!(
        (&asked["verb"], &asked["access"]),
        (&"open".into(), &"read".into())
    );
    assert_eq!(asked["object"]["size"], 6);
    assert_eq!(asked["object"]["sha256"].as_str().unwrap().len(), 64);
    assert!(asked["digest"].as_str().unwrap().starts_with(&id));
    // For people, without a terminal: the list.
    let words = scratch.hand(&["approve", "s"], b"y\n");
    assert!(words.text().contains(&id), "{words:?}");
    assert!(words.text().contains("wants to read /key.pem"), "{words:?}");
    approve(&scratch, &["--yes", &id[..8]]).refused("NotFound");
    approve(&scratch, &["--yes", &id, "--for", "file"]).ok();
    let read = Run::wait(child, PATIENCE);
    assert_eq!((read.code, read.text()), (0, "secret"), "{read:?}");
    approve(&scratch, &["--yes", &id]).refused("NotFound");

    let grants = approve(&scratch, &["--grants"]).ok()["grants"].clone();
    assert_eq!(grants[0]["id"], id.as_str());
    assert!(
        grants[0]["by"].as_str().unwrap().contains("pid "),
        "{grants}"
    );
    let again = Run::wait(reader(&scratch), PATIENCE);
    assert_eq!(again.text(), "secret");
    approve(&scratch, &["s", "--take-back", &id]).ok();
    approve(&scratch, &["s", "--take-back", &id]).refused("NotFound");

    let child = reader(&scratch);
    let id = question(&scratch)["digest"].as_str().unwrap().to_owned();
    approve(&scratch, &["s", "--deny", &id]).ok();
    let read = Run::wait(child, PATIENCE);
    assert_eq!(read.code, 1, "{read:?}");
    assert!(read.stderr.contains("refused by"), "{read:?}");
    assert_eq!(read.text(), "");
}

#[test]
fn looking_for_questions_makes_nothing_and_a_missing_session_is_said() {
    let scratch = Scratch::new();
    assert_eq!(
        approve(&scratch, &[]).ok()["questions"],
        Value::Array(vec![])
    );
    approve(&scratch, &["nobody"]).refused("NotFound");
    approve(&scratch, &["--yes", "0123456789abcdef"]).refused("NotFound");
    assert!(!scratch.path.join("state").exists());
    let run = scratch.hand(&["approve", "--for", "session"], b"");
    assert_eq!(run.code, 2, "a scope without an answer: {run:?}");
    let run = scratch.hand(&["approve", "--wait"], b"");
    assert_eq!(run.code, 2, "{run:?}");
}

/// The program itself starts the command, or a process behind a wall does.
#[test]
fn a_program_cannot_answer_itself() {
    let scratch = scene();
    let state = scratch.path.join("state");
    let child = reader(&scratch);
    let id = question(&scratch)["id"].as_str().unwrap().to_owned();
    for mut wall in walls(skip) {
        let output = wall
            .arg(binary())
            .args(["approve", "--yes", &id, "--state"])
            .arg(&state)
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(words.contains("outside of any run"), "{words}");
    }
    approve(&scratch, &["--deny", &id]).ok();
    assert_eq!(Run::wait(child, PATIENCE).code, 1);
}

/// The same terminal as the program's is refused, and another one is asked on.
#[test]
fn a_person_answers_on_another_terminal() {
    let scratch = scene();
    if !Command::new("script")
        .arg("--version")
        .output()
        .is_ok_and(|run| run.status.success())
    {
        skip("answers on a terminal", "there is no script(1)");
        return;
    }
    let state = scratch.path.join("state");
    let binary = binary();
    let binary = binary.to_str().unwrap();
    let on_terminal = |line: &str| {
        Command::new("script")
            .args(["-qec", line, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let state = state.to_str().unwrap();
    // Both on one terminal.
    let both = format!(
        "{binary} fs --session s --state {state} read /key.pem & \
         until id=$({binary} approve --json --state {state} | grep -o '\"id\": *\"[0-9a-f]*' | grep -o '[0-9a-f]*$'); do sleep 0.1; done; \
         {binary} approve --state {state} --yes $id; echo code $?; kill %1; wait"
    );
    let output = on_terminal(&format!("bash -c '{}'", both.replace('\'', "'\\''")));
    let output = output.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(words.contains("code 1"), "{words}");
    assert!(words.contains("use another one"), "{words}");
    assert!(!words.contains("secret"), "{words}");
    // A person on a terminal of its own.
    let child = reader(&scratch);
    question(&scratch);
    let begin = scratch.path.join("begin");
    let mut person = on_terminal(&format!(
        "until test -e {}; do sleep 0.05; done; {binary} approve --state {state}",
        begin.display()
    ));
    let mut typed = person.stdin.take().unwrap();
    // What is typed before the question is there is no answer to it.
    typed.write_all(b"y\n").unwrap();
    let mut shown = person.stdout.take().unwrap();
    let mut words = String::new();
    let mut until = |wanted: usize, part: &str, words: &mut String| {
        let mut bytes = [0; 1024];
        while words.matches(part).count() < wanted {
            let read = shown.read(&mut bytes).unwrap_or(0);
            assert!(read > 0, "it ended: {words}");
            words.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    };
    until(1, "y", &mut words);
    std::fs::write(&begin, "").unwrap();
    until(1, "allow it?", &mut words);
    typed.write_all(b"?\n").unwrap();
    until(2, "allow it?", &mut words);
    assert_eq!(question(&scratch)["path"], "/key.pem", "it still waits");
    typed.write_all(b"y\n").unwrap();
    drop(shown.read_to_string(&mut words));
    drop(typed);
    person.wait().unwrap();
    assert!(words.contains("wants to read /key.pem"), "{words}");
    assert!(words.contains("allow for this file"), "{words}");
    assert!(words.contains("1 question answered"), "{words}");
    assert_eq!(Run::wait(child, PATIENCE).text(), "secret");
}

#[test]
fn options_that_ask_are_checked() {
    let scratch = Scratch::new();
    let base = scratch.inside();
    let base = base.to_str().unwrap();
    for wrong in [
        &["--ask-timeout", "5s"][..],
        &["--ask", "*.pem", "--ask-timeout", "0s"],
        &["--ask", "*.pem", "--ask-timeout", "soon"],
        &["--ask", "!x"],
    ] {
        let run = scratch.session(&[&["new", "s", "--base", base], wrong].concat());
        assert_eq!(run.code, 2, "{wrong:?} {run:?}");
    }
    let right = [
        "new",
        "s",
        "--base",
        base,
        "--ask",
        "*.pem",
        "--ask-timeout",
        "5s",
    ];
    assert_eq!(scratch.session(&right).code, 0);
}
