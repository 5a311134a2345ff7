//! A reader that goes away never changes what was done or what the exit code says.

use std::process::Stdio;

use crate::support::{IMPATIENCE, Run, Scratch, handfast};

/// Runs with a standard output that nobody reads.
fn unread(args: &[&str], input: &str) -> Run {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = handfast(args);
    command.stdout(writer);
    let (stdin, mut feed) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut feed, input.as_bytes()).unwrap();
    drop(feed);
    command.stdin(stdin);
    let child = command.spawn().unwrap();
    drop(command);
    Run::wait(child, 10 * IMPATIENCE)
}

#[test]
fn a_closed_pipe_does_not_change_the_exit_code() {
    let scratch = Scratch::new();
    scratch.file("big", vec![b'x'; 4 << 20]);
    for number in 0..2000 {
        scratch.file(&format!("many/{number}"), "");
    }
    let inside = scratch.inside();
    let root = inside.to_str().unwrap();
    let fs = |verb: &[&str], input: &str| {
        let args = [&["fs", "--root", root], verb].concat();
        unread(&args, input)
    };
    for verb in [
        &["read", "big"][..],
        &["read", "big", "--json"],
        &["ls", "many"],
        &["ls", "many", "-0"],
        &["tree", ".", "--json"],
        &["stat", "big"],
        &["version", "big"],
        &["recover"],
    ] {
        let run = fs(verb, "");
        assert_eq!((run.code, run.stdout.len()), (0, 0), "{verb:?} {run:?}");
        assert!(!run.stderr.contains("error"), "{run:?}");
    }
    for verb in [
        &["read", "missing", "--json"][..],
        &["read", "many", "--json"],
        &["rm", "many", "--json"],
        &["read", "../x", "--json"],
    ] {
        assert_eq!(fs(verb, "").code, 1, "{verb:?}");
    }
    assert_eq!(fs(&["write", "new", "--json"], "content").code, 0);
    assert_eq!(std::fs::read(scratch.at("new")).unwrap(), b"content");
    assert_eq!(fs(&["rm", "-r", "many", "--json"], "").code, 0);
    assert!(std::fs::metadata(scratch.at("many")).is_err());
    assert_eq!(fs(&["chmod", "999", "big", "--json"], "").code, 2);
    assert_eq!(unread(&["--help"], "").code, 0);
    assert_eq!(unread(&["--version"], "").code, 0);
    assert_eq!(
        unread(&["fs", "--json", "--root", "/nonexistent", "ls", "."], "").code,
        2
    );
    let doctor = unread(&["doctor", "--json", "--root", root], "").code;
    let read = Run::of(&["doctor", "--root", root], b"", 10 * IMPATIENCE).code;
    assert_eq!(doctor, read);
}

#[test]
fn closed_streams_do_no_harm() {
    let scratch = Scratch::new();
    scratch.file("file", "content");
    for (redirect, code) in [(">&-", 0), ("2>&-", 0), ("<&-", 0), (">&- 2>&- <&-", 0)] {
        let script = format!("\"$0\" fs --root \"$1\" read file {redirect}");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script]);
        command.arg(crate::support::binary());
        command.arg(scratch.inside());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let run = Run::wait(command.spawn().unwrap(), 10 * IMPATIENCE);
        assert_eq!(run.code, code, "{redirect} {run:?}");
    }
}

#[test]
fn output_that_cannot_be_delivered_is_not_a_success() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        crate::support::skip("a full device", "there is no /dev/full");
        return;
    };
    let scratch = Scratch::new();
    scratch.file("file", "content");
    let inside = scratch.inside();
    let root = inside.to_str().unwrap();
    for (verb, code) in [
        (&["read", "file"][..], 1),
        (&["ls", "."], 1),
        (&["ls", ".", "--json"], 1),
        (&["ls", "missing", "--json"], 1),
    ] {
        let mut command = handfast(&[&["fs", "--root", root], verb].concat());
        command.stdout(full.try_clone().unwrap());
        let run = Run::wait(command.spawn().unwrap(), 10 * IMPATIENCE);
        assert_eq!(run.code, code, "{run:?}");
        assert!(
            run.stderr.contains("cannot write to standard output"),
            "{run:?}"
        );
    }
}

#[test]
fn a_refused_write_does_not_wait_for_its_input() {
    let scratch = Scratch::new();
    scratch.dir("dir");
    let (stdin, _feed) = std::io::pipe().unwrap();
    let mut command = handfast(&["fs", "--json", "--root"]);
    command.arg(scratch.inside()).args(["write", "dir"]);
    command.stdin(stdin);
    let run = Run::wait(command.spawn().unwrap(), 10 * IMPATIENCE);
    run.refused("IsADirectory");
}

#[test]
fn a_writer_that_is_killed_leaves_the_old_file() {
    let scratch = Scratch::new();
    scratch.file("file", "old");
    let (stdin, mut feed) = std::io::pipe().unwrap();
    let mut command = handfast(&["fs", "--root"]);
    command.arg(scratch.inside()).args(["write", "file"]);
    command.stdin(stdin);
    let mut child = command.spawn().unwrap();
    drop(command);
    // More than a pipe holds: once this returns, the writer has begun.
    std::io::Write::write_all(&mut feed, &vec![b'n'; 1 << 20]).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read(scratch.at("file")).unwrap(), b"old");
    scratch.fs(&[], &["recover"]).ok();
    assert_eq!(std::fs::read_dir(scratch.inside()).unwrap().count(), 1);
}
