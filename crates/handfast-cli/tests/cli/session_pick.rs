//! `session commit -p`: one question a hunk, asked on a terminal.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use crate::support::{Scratch, binary, skip};

/// Runs a command of sessions on a terminal and types answers. What it said, and its exit code.
fn on_a_terminal(s: &Scratch, args: &str, answers: &str) -> Option<(String, i32)> {
    if Command::new("script").arg("--version").output().is_err() {
        skip("commit -p", "script, which makes a terminal, is not there");
        return None;
    }
    let state = s.path.join("state");
    let command = format!(
        "{} session --state {} {args}",
        binary().display(),
        state.display()
    );
    let mut child = Command::new("script")
        .args(["-q", "-e", "-c", &command, "/dev/null"])
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(answers.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    Some((said, output.status.code().unwrap()))
}

fn numbered(changed: &[usize]) -> String {
    let line = |n| match changed.contains(&n) {
        true => format!("new {n}\n"),
        false => format!("{n}\n"),
    };
    (0..60).map(line).collect()
}

/// A session with a file of three hunks, a new file in a new directory, and a file that is gone.
fn scene() -> Scratch {
    let s = Scratch::new();
    s.file("f", numbered(&[]));
    s.file("gone", "x\n");
    s.new_session(&[]);
    let text = numbered(&[3, 30, 55]);
    s.inside_session(&["write", "/f"], text.as_bytes()).ok();
    s.inside_session(&["rm", "/gone"], b"").ok();
    s.inside_session(&["mkdir", "/d"], b"").ok();
    s.inside_session(&["write", "/d/new"], b"new\n").ok();
    s
}

fn read(s: &Scratch, path: &str) -> String {
    std::fs::read_to_string(s.at(path)).unwrap()
}

#[test]
fn every_hunk_is_asked_about_and_only_a_yes_is_committed() {
    let s = scene();
    // The directory, its file, three hunks, the deletion.
    let Some((said, code)) = on_a_terminal(&s, "commit -p s", "n\nn\ny\n?\nn\ny\nn\n") else {
        return;
    };
    assert_eq!(code, 0, "{said}");
    assert_eq!(read(&s, "f"), numbered(&[3, 55]), "{said}");
    assert!(s.at("gone").exists() && !s.at("d").exists());
    assert!(
        said.contains("(1/3) commit this hunk of `/f` [y,n,q,a,d,?]?"),
        "{said}"
    );
    assert!(said.contains("-30\n+new 30\n"), "{said}");
    assert!(said.contains("q - quit"), "{said}");
    assert!(said.contains("with it goes `/d`"), "{said}");
    assert!(said.ends_with("committed /f\n"), "{said}");
    // What was left is still there, and a path takes the rest.
    let left = s.hand(&["session", "diff", "--name-only", "s"], b"");
    assert_eq!(left.text(), "/d\n/d/new\n/f\n/gone\n");
}

#[test]
fn the_rest_of_a_file_all_of_it_or_nothing_more() {
    for (answers, f, d, gone) in [
        // All of a file.
        ("n\nn\na\nn\n", &[3, 30, 55][..], false, true),
        // None of it.
        ("n\nn\ny\nd\ny\n", &[3][..], false, false),
        // What came before the end counts; the end of the input is an end too.
        ("n\ny\ny\nq\n", &[3][..], true, true),
        ("n\nn\ny\n", &[3][..], false, true),
    ] {
        let s = scene();
        let Some((said, code)) = on_a_terminal(&s, "commit -p s", answers) else {
            return;
        };
        assert_eq!(code, 0, "{said}");
        assert_eq!(read(&s, "f"), numbered(f), "{answers:?} {said}");
        assert_eq!(s.at("d/new").exists(), d, "{answers:?} {said}");
        assert_eq!(s.at("gone").exists(), gone, "{answers:?} {said}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let s = scene();
    s.session(&["commit", "-p", "s"]).failed("Invalid", 2);
    for other in ["--yes", "--overwrite", "--skip-conflicts"] {
        let run = s.hand(&["session", "commit", "-p", other, "s"], b"");
        assert_eq!(run.code, 2, "{run:?}");
    }
    if let Some((said, code)) = on_a_terminal(&s, "commit -p s /none", "") {
        assert_eq!(code, 1, "{said}");
        assert!(
            said.contains("nothing was changed at or below `/none`"),
            "{said}"
        );
    }
}

/// A hunk that is gone when its turn comes stops the commit, and paths go first: what they brought into the
/// base is told.
#[test]
fn what_was_committed_before_a_failure_is_told() {
    if Command::new("script").arg("--version").output().is_err() {
        skip("commit -p", "script, which makes a terminal, is not there");
        return;
    }
    let s = Scratch::new();
    s.file("f", "a\nb\nc\n");
    s.new_session(&[]);
    s.inside_session(&["write", "/f"], b"a\nGOOD\nc\n").ok();
    s.inside_session(&["write", "/g"], b"new\n").ok();
    let state = s.path.join("state");
    let command = format!(
        "{} session --state {} commit -p s",
        binary().display(),
        state.display()
    );
    let mut child = Command::new("script")
        .args(["-q", "-e", "-c", &command, "/dev/null"])
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut said = Vec::new();
    let mut until = |question: &str| {
        let has = |said: &[u8]| String::from_utf8_lossy(said).contains(question);
        while !has(&said) {
            let mut some = [0; 512];
            let got = stdout.read(&mut some).unwrap();
            assert_ne!(got, 0, "{}", String::from_utf8_lossy(&said));
            said.extend_from_slice(&some[..got]);
        }
    };
    until("commit this hunk of `/f` [y,n,q,a,d,?]?");
    stdin.write_all(b"y\n").unwrap();
    until("commit `/g` [y,n,q,a,d,?]?");
    s.inside_session(&["write", "/f"], b"a\nOTHER\nc\n").ok();
    stdin.write_all(b"y\n").unwrap();
    drop(stdin);
    stdout.read_to_end(&mut said).unwrap();
    let code = child.wait().unwrap().code();
    let said = String::from_utf8_lossy(&said).replace('\r', "");
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(
        (read(&s, "f"), read(&s, "g")),
        ("a\nb\nc\n".into(), "new\n".into())
    );
    assert!(said.contains("there is no hunk"), "{said}");
    assert!(said.contains("; committed before that: `/g`\n"), "{said}");
    assert!(said.contains("visible already"), "{said}");
}
