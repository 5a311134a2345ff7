//! Writing and removing only what was seen.

use serde_json::Value;

use crate::support::{Scratch, backends};

fn text(value: &Value) -> &str {
    value["file_version"].as_str().unwrap()
}

#[test]
fn a_version_from_any_verb_is_accepted_once() {
    for backend in backends("versions") {
        let scratch = Scratch::new();
        let options = ["--backend", backend];
        let run = |verb: &[&str]| scratch.fs_with(&options, verb, b"content");
        let mut seen = run(&["write", "file"]).ok();
        for verb in ["version", "stat", "read"] {
            assert_eq!(text(&run(&[verb, "file"]).ok()), text(&seen), "{verb}");
        }
        for _ in 0..3 {
            let next = run(&["write", "file", "--if-version", text(&seen)]).ok();
            let stale = run(&["write", "file", "--if-version", text(&seen)]);
            assert_eq!(stale.refused("Stale")["effect"], "none");
            run(&["rm", "file", "--if-version", text(&seen)]).refused("Stale");
            seen = next;
        }
        let appended = run(&["append", "file"]).ok();
        run(&["write", "file", "--if-version", text(&seen)]).refused("Stale");
        run(&["rm", "--if-version", text(&appended), "file"]).ok();
        assert_eq!(std::fs::read_dir(scratch.inside()).unwrap().count(), 0);
        for verb in [["write", "file"], ["rm", "file"], ["write", "missing/file"]] {
            let verb = [&verb[..], &["--if-version", text(&appended)]].concat();
            run(&verb).refused("Stale");
        }
        assert_eq!(std::fs::read_dir(scratch.inside()).unwrap().count(), 0);
    }
}

#[test]
fn a_change_by_others_is_noticed() {
    for backend in backends("changes by others") {
        let scratch = Scratch::new();
        let path = scratch.file("file", "one");
        let options = ["--backend", backend];
        let seen = scratch.fs(&options, &["version", "file"]).ok();
        std::fs::write(&path, "two").unwrap();
        let verb = ["write", "file", "--if-version", text(&seen)];
        let error = scratch.fs_with(&options, &verb, b"three").refused("Stale");
        assert_eq!(error["detail"], "the content was changed");
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
    }
}

#[test]
fn what_is_not_a_version_is_wrong_usage() {
    let scratch = Scratch::new();
    let path = scratch.file("file", "one");
    for bad in ["", "v1", "latest", "v1.0.0.0.0.0-0.0-0.zz"] {
        for verb in ["write", "rm"] {
            let error = scratch
                .fs(&[], &[verb, "file", "--if-version", bad])
                .failed("Invalid", 2);
            assert_eq!(error["verb"], verb);
        }
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"one");
}
