//! `tour`: everything it tells comes true, and nothing of it is left.

use std::process::Stdio;
use std::time::Duration;

use crate::support::{Run, Scratch, handfast};

/// The tour, in a temporary directory of its own.
fn tour(scratch: &Scratch, more: &[&str]) -> Run {
    let mut args = vec!["tour", "--fast"];
    args.extend(more);
    let mut command = handfast(&args);
    command
        .env("TMPDIR", scratch.inside())
        .env("HANDFAST_LOG", scratch.outside().join("nobody"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Run::wait(command.spawn().unwrap(), Duration::from_secs(240))
}

#[test]
fn every_chapter_comes_true_and_nothing_is_left_behind() {
    let scratch = Scratch::new();
    // Where people keep their temporary files may be part of a repository: the run takes the sample.
    scratch.file(".git/HEAD", "ref: refs/heads/main\n");
    let before = scratch.snapshot();
    let told = tour(&scratch, &[]);
    assert_eq!(told.code, 0, "{told:?}");
    let mut device = std::fs::File::options();
    let run = match device.read(true).write(true).open("/dev/fuse") {
        Ok(_) => "discarded /debug.log",
        Err(_) => "This machine cannot show it",
    };
    for line in [
        run,
        "landed in `outside/`",
        "100 writes landed inside",
        " 0 landed outside",
        "error: cannot write `settings.toml`",
        "+timeout = 5",
        "verdict: consistent, not authenticated",
        "verdict: tampered",
        "Verdict: BLOCK",
        "Verdict: CLEAN",
    ] {
        assert!(told.text().contains(line), "{line}: {}", told.text());
    }
    assert_eq!(scratch.snapshot(), before, "something was left");
}

#[test]
fn programs_get_one_object_with_a_line_for_each_chapter() {
    let scratch = Scratch::new();
    let told = tour(&scratch, &["--json"]).ok();
    let chapters = told["chapters"].as_array().unwrap();
    let names: Vec<_> = chapters
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["run", "race", "stale", "overlay", "log", "audit"]);
}

#[test]
fn without_a_place_to_play_it_says_so() {
    let scratch = Scratch::new();
    let mut command = handfast(&["tour", "--fast"]);
    command
        .env("TMPDIR", scratch.inside().join("nowhere"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let told = Run::wait(command.spawn().unwrap(), Duration::from_secs(60));
    assert_eq!(told.code, 3, "{told:?}");
}
