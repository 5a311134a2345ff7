//! A merge of an archive under faults: the process dies once at every system call, and every call fails
//! once.
//!
//! Whatever happens: after `recover` the directory is as it was, or all of the archive is in it, and nothing
//! else is left.

use std::collections::BTreeMap;

use crate::archives::tar;
use crate::session_faults::{calls_between, inject_into, kill_points, strace_is_there};
use crate::support::{Scratch, handfast};

/// A directory with files that the archive replaces, keeps and adds to.
fn scene() -> (Scratch, Vec<String>) {
    let scratch = Scratch::in_memory();
    scratch.file("site/replaced", "old");
    scratch.file("site/d/replaced", "old");
    scratch.file("site/d/kept", "kept");
    let archive = tar(&[
        ("added", "added"),
        ("d/replaced", "new"),
        ("e/deep", "deep"),
        ("replaced", "new"),
    ]);
    std::fs::write(scratch.at("update.tar"), archive).unwrap();
    let root = scratch.inside().display().to_string();
    let args = [
        "fs",
        "--root",
        &root,
        "--json",
        "extract",
        "--merge",
        "--replace",
        "update.tar",
        "site",
    ];
    let args = args.map(str::to_owned).to_vec();
    (scratch, args)
}

/// Every file of the directory.
fn site(scratch: &Scratch) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![scratch.at("site")];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(scratch.inside()).unwrap();
            let name = name.display().to_string();
            if path.is_dir() {
                found.insert(name, "/".to_owned());
                pending.push(path);
            } else {
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn merged() -> BTreeMap<String, String> {
    let (scratch, args) = scene();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let output = handfast(&args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    site(&scratch)
}

fn recover(scratch: &Scratch) -> String {
    let root = scratch.inside().display().to_string();
    let output = handfast(&["fs", "--root", &root, "recover"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_merge_that_dies_anywhere_is_finished_or_never_began() {
    if !strace_is_there() {
        return;
    }
    let (scratch, args) = scene();
    let (before, after) = (site(&scratch), merged());
    assert_ne!(before, after);
    let calls = kill_points(&calls_between(
        &scratch,
        &args,
        ("handfast-t-0", "extracted"),
        60,
    ));
    let (mut never, mut finished, mut halfway) = (0, 0, 0);
    for call in &calls {
        let (scratch, args) = scene();
        let (_, said) = inject_into(&args, call, "signal=SIGKILL");
        let what = format!("killed at {call:?}");
        assert!(said.is_empty(), "the kill was felt: {what} {said}");
        let mut half = site(&scratch);
        half.retain(|name, _| !name.contains(".handfast-"));
        halfway += usize::from(half != before && half != after);
        let said = recover(&scratch);
        let now = site(&scratch);
        match now == before {
            true => never += 1,
            false => {
                assert_eq!(now, after, "{what}: finished: {said}");
                finished += 1;
            }
        }
        assert_eq!(recover(&scratch), "", "{what}: nothing is left to do");
    }
    println!(
        "{} calls: {never} never began, {finished} finished, {halfway} of them were half-way",
        calls.len()
    );
    assert!(
        never > 10 && finished > 5 && halfway > 1,
        "{never} {finished} {halfway}"
    );
}

#[test]
fn a_merge_whose_calls_fail_leaves_everything_or_nothing() {
    if !strace_is_there() {
        return;
    }
    let (scratch, args) = scene();
    let (before, after) = (site(&scratch), merged());
    let calls = calls_between(&scratch, &args, ("handfast-t-0", "extracted"), 60);
    let (mut undone, mut done, mut settled) = (0, 0, 0);
    for call in &calls {
        let (scratch, args) = scene();
        let (code, said) = inject_into(&args, call, "error=EIO");
        let what = format!("failed at {call:?}: {said}");
        let at_once = site(&scratch);
        recover(&scratch);
        let now = site(&scratch);
        settled += usize::from(at_once != now);
        match now == before {
            true => {
                assert_ne!(code, Some(0), "{what}");
                undone += 1;
            }
            false => {
                assert_eq!(now, after, "{what}");
                assert!(!said.contains(r#""effect":"none""#), "{what}");
                done += 1;
            }
        }
    }
    println!(
        "{} calls: {undone} undone, {done} done, {settled} settled by `recover`",
        calls.len()
    );
    assert!(undone > 20 && done > 3, "{undone} {done}");
}
