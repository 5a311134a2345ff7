//! `run --ask`: a person is asked, and nothing else of the run waits.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::stage::{Stage, Told, as_each_user};

const PATIENCE: Duration = Duration::from_secs(60);

/// The numbers of so many questions.
fn questions(stage: &Stage, expected: usize) -> Vec<Value> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let told = stage.handfast(&["approve", "--json"]);
        let listed: Value = serde_json::from_str(&told.out).unwrap_or_default();
        let found = listed["questions"].as_array().cloned().unwrap_or_default();
        if found.len() >= expected {
            return found;
        }
        assert!(Instant::now() < deadline, "{} came: {told:?}", found.len());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A run that has said its first line.
fn started(stage: &Stage, script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let args = [
        "run",
        "--session",
        "s",
        "--ask",
        "a.txt",
        "--",
        "sh",
        "-c",
        script,
    ];
    let mut command = stage.command("", &args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

#[test]
fn a_person_is_asked_and_the_rest_of_the_run_goes_on() {
    as_each_user(|stage| {
        let script = "n=0; while [ $n -lt 12 ]; do cat a.txt & n=$((n+1)); done; sleep 1; \
            ls . src > /dev/null; cat src/main.rs > /dev/null; mv src/main.rs src/b; echo free; wait";
        let begun = Instant::now();
        let (child, mut out) = started(stage, script);
        let mut text = String::new();
        out.read_line(&mut text).unwrap();
        assert_eq!(text, "free\n");
        assert!(begun.elapsed() < Duration::from_secs(50), "it waited too");
        for question in questions(stage, 12) {
            assert_eq!(question["path"], "/a.txt");
            let caller = question["caller"].as_str().unwrap();
            assert!(caller.contains("/cat"), "{caller}");
            let id = question["id"].as_str().unwrap();
            let told = stage.handfast(&["approve", "--yes", id]);
            assert_eq!(told.code, Some(0), "{told:?}");
        }
        out.read_to_string(&mut text).unwrap();
        assert_eq!(text.matches("from the base\n").count(), 12, "{text}");
        let told = Told::from(child.wait_with_output().unwrap());
        assert_eq!(told.code, Some(0), "{told:?}");
    });
}

#[test]
fn a_request_that_waits_can_be_killed_and_ends_with_its_run() {
    as_each_user(|stage| {
        let begun = Instant::now();
        let script = "timeout 1 cat a.txt; echo $?; timeout -s KILL 1 cat a.txt; echo $?; \
            cat a.txt & sleep 1; echo end";
        let (child, mut out) = started(stage, script);
        let mut text = String::new();
        out.read_to_string(&mut text).unwrap();
        let told = Told::from(child.wait_with_output().unwrap());
        assert_eq!(text, "124\n137\nend\n", "{told:?}");
        assert_eq!(told.code, Some(0), "{told:?}");
        assert!(begun.elapsed() < Duration::from_secs(50), "it waited");
        assert!(questions(stage, 0).is_empty(), "nobody waits any more");
    });
}

/// A person allowed one program to open a file for writing; another program names the file.
#[test]
fn a_file_that_another_program_has_open_is_not_cut_without_a_question() {
    as_each_user(|stage| {
        let script = "exec 3>>a.txt && echo open; \
            perl -e 'print truncate(\"a.txt\", 3) ? \"cut\\n\" : \"refused\\n\"'; echo more >&3; echo end";
        let (child, mut out) = started(stage, script);
        let [first] = &questions(stage, 1)[..] else {
            panic!("one question at a time")
        };
        let told = stage.handfast(&["approve", "--yes", first["id"].as_str().unwrap()]);
        assert_eq!(told.code, Some(0), "{told:?}");
        let mut text = String::new();
        out.read_line(&mut text).unwrap();
        assert_eq!(text, "open\n");
        let [second] = &questions(stage, 1)[..] else {
            panic!("one question at a time")
        };
        assert!(
            second["caller"].as_str().unwrap().contains("perl"),
            "{second}"
        );
        let told = stage.handfast(&["approve", "--deny", second["id"].as_str().unwrap()]);
        assert_eq!(told.code, Some(0), "{told:?}");
        out.read_to_string(&mut text).unwrap();
        assert_eq!(text, "open\nrefused\nend\n");
        let told = Told::from(child.wait_with_output().unwrap());
        assert_eq!(told.code, Some(0), "{told:?}");
        let diff = stage.handfast(&["session", "diff", "--names", "s"]);
        assert!(diff.out.contains("14 to 19 bytes"), "{diff:?}");
    });
}

#[test]
fn rules_that_ask_are_given_to_a_new_session_only() {
    as_each_user(|stage| {
        assert_eq!(stage.run(&[], "true").code, Some(0));
        let late = stage.run(&["--ask", "a.txt"], "cat a.txt");
        assert_eq!((late.code, late.out.as_str()), (Some(2), ""), "{late:?}");
        assert!(late.words.contains("other rules"), "{late:?}");
        let new = ["--session", "asks", "--ask", "a.txt", "--explain"];
        let told = stage.run(&new, "true");
        assert!(told.out.contains("ask      a.txt"), "{told:?}");
        let bad = stage.run(&["--session", "bad", "--ask", "!a"], "true");
        assert_eq!(bad.code, Some(2), "{bad:?}");
        let both = stage.run(&["--policy", "policy.toml", "--ask", "x"], "true");
        assert_eq!(both.code, Some(2), "{both:?}");
    });
}
