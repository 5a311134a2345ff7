//! Every system call of an atomic operation fails once in every way, and dies once.
//!
//! strace runs the victim, first to learn which calls it makes, then once for each call and each
//! fault. Whatever happens, the file is whole-old or whole-new, the answer is true, and after
//! `recover` nothing stray is left.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::type_complexity,
    reason = "tests set their scenes with ambient calls"
)]
#![cfg(supported)]

mod support;

use std::collections::BTreeMap;
use std::process::Command;

use handfast::{RelPath, RootOptions};
use support::*;

const FAULTS: &[&str] = &[
    "error=ENOSPC",
    "error=EDQUOT",
    "error=EIO",
    "error=EROFS",
    "error=EMFILE",
    "error=ENOMEM",
    "error=EINTR",
    "signal=SIGKILL",
];

/// A call the victim makes after its marker: its name, and its number among the calls of that name.
#[derive(Clone, Debug)]
struct Call {
    name: String,
    number: usize,
}

/// Calls that are about memory, threads or the end of the process, not about files.
const NOT_OURS: &[&str] = &[
    "mmap",
    "munmap",
    "mremap",
    "brk",
    "mprotect",
    "madvise",
    "sigaltstack",
    "rt_sigprocmask",
    "rt_sigaction",
    "exit_group",
    "exit",
    "futex",
    "sched_yield",
    "clone3",
    "access",
];

fn trace(scratch: &Scratch, args: &[&str]) -> Vec<Call> {
    let log = scratch.path("trace");
    let status = Command::new("strace")
        .args(["-f", "-o", log.to_str().unwrap(), "-e", "signal=none"])
        .arg(victim())
        .args(args)
        .output()
        .unwrap();
    assert_success(&status);
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut calls = Vec::new();
    let mut marked = false;
    for line in text.lines() {
        let Some(name) = line
            .split_whitespace()
            .nth(1)
            .and_then(|rest| rest.split_once('('))
            .map(|(name, _)| name.to_owned())
        else {
            continue;
        };
        let number = counts.entry(name.clone()).or_default();
        *number += 1;
        marked |= line.contains("handfast-marker");
        if name == "write" && line.contains("\"ok\\n\"") {
            // It has answered: what follows is the end of the process.
            break;
        }
        if marked && !NOT_OURS.contains(&name.as_str()) {
            calls.push(Call {
                name,
                number: *number,
            });
        }
    }
    assert!(calls.len() > 8, "the trace shows the operation: {calls:?}");
    calls
}

struct Outcome {
    said: String,
    killed: bool,
}

fn inject(args: &[&str], call: &Call, fault: &str) -> Outcome {
    let output = Command::new("strace")
        .args(["-f", "-o", "/dev/null"])
        .arg("-e")
        .arg(format!("trace={}", call.name))
        .arg("-e")
        .arg(format!("inject={}:{fault}:when={}", call.name, call.number))
        .arg(victim())
        .args(args)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{call:?} {fault}: {errors}");
    Outcome {
        killed: !said.ends_with('\n'),
        said,
    }
}

/// Sweeps one operation. `check` judges the tree, with what the victim said.
fn sweep(scene: impl Fn() -> Scratch, args: &[&str], check: impl Fn(&Scratch, &Outcome, &str)) {
    let with_root = |scratch: &Scratch| -> Vec<String> {
        args.iter()
            .map(|arg| arg.replace("ROOT", scratch.root_path().to_str().unwrap()))
            .collect()
    };
    let first = scene();
    let own = with_root(&first);
    let calls = trace(&first, &own.iter().map(String::as_str).collect::<Vec<_>>());
    let (mut felt, mut runs, mut kept) = (0, 0, 0);
    for call in &calls {
        for fault in FAULTS {
            let scratch = scene();
            let own = with_root(&scratch);
            let outcome = inject(
                &own.iter().map(String::as_str).collect::<Vec<_>>(),
                call,
                fault,
            );
            let what = format!(
                "{} number {} {fault}: {:?}",
                call.name, call.number, outcome.said
            );
            runs += 1;
            if outcome.killed || !outcome.said.starts_with("ok") {
                felt += 1;
            }
            if fault.contains("SIGKILL") {
                assert!(outcome.killed, "the kill was felt: {what}");
            } else {
                assert!(!outcome.killed, "an error is an answer: {what}");
            }
            if fault.contains("EINTR") && call.name != "close" {
                assert!(
                    outcome.said.starts_with("ok"),
                    "interrupted calls are made again: {what}"
                );
            }
            check(&scratch, &outcome, &what);
            let root = scratch.open(RootOptions::new());
            let found = root.recover(&RelPath::root()).unwrap();
            // A tree that was about to be published has given up its mark: nobody can prove any
            // more whose it is, so it is kept and reported.
            let is_kept = |found: &handfast::Recovered| found.outcome.name() == "kept";
            let unmarked = args[0] == "copy-tree" && outcome.killed && found.iter().any(is_kept);
            if unmarked {
                kept += 1;
            } else {
                scratch.assert_no_leftovers();
            }
            check(&scratch, &outcome, &what);
        }
    }
    println!("{} calls, {runs} runs, {felt} felt", calls.len());
    // Between giving up the mark and the rename there are two calls.
    assert!(kept <= 3, "{kept} were kept");
    assert!(felt * 2 > runs, "the faults were felt: {felt} of {runs}");
}

fn old_or_new(scratch: &Scratch, outcome: &Outcome, what: &str) {
    let content = scratch.read("root/d/f");
    assert!(content == "old" || content == "new", "{what}: {content:?}");
    assert_eq!(scratch.read("root/d/other"), "other", "{what}");
    if outcome.killed {
        return;
    }
    let mut words = outcome.said.split(' ');
    match (
        words.next().unwrap().trim(),
        words.next().unwrap_or_default(),
    ) {
        ("ok", _) => assert_eq!(content, "new", "{what}"),
        (_, "none") => assert_eq!(content, "old", "{what}"),
        (_, "visible") => assert_eq!(content, "new", "{what}"),
        (_, "unknown") => {}
        other => panic!("{what}: {other:?}"),
    }
}

fn scene() -> Scratch {
    let scratch = Scratch::in_memory();
    scratch.file("d/f", "old").file("d/other", "other");
    scratch
}

#[test]
fn atomic_write() {
    if !have_program("strace") {
        return;
    }
    each_backend(|backend| {
        for durability in ["none", "full"] {
            sweep(
                scene,
                &[
                    "write",
                    "ROOT",
                    backend_name(backend),
                    "d/f",
                    "new",
                    durability,
                ],
                old_or_new,
            );
        }
    });
}

#[test]
fn conditional_write() {
    if !have_program("strace") {
        return;
    }
    each_backend(|backend| {
        sweep(
            scene,
            &["write-if", "ROOT", backend_name(backend), "d/f", "new"],
            old_or_new,
        );
    });
}

#[test]
fn tree_copy() {
    if !have_program("strace") {
        return;
    }
    let scene = || {
        let scratch = Scratch::in_memory();
        scratch.file("t/a/f", "f").file("t/g", "g");
        scratch
    };
    each_backend(|backend| {
        sweep(
            scene,
            &["copy-tree", "ROOT", backend_name(backend), "t", "copy"],
            |scratch, outcome, what| {
                let there = scratch.path("root/copy").exists();
                if there {
                    assert_eq!(scratch.read("root/copy/a/f"), "f", "{what}");
                    assert_eq!(scratch.read("root/copy/g"), "g", "{what}");
                }
                match outcome.said.split(' ').nth(1) {
                    // It answered `ok`, or was killed before it could answer.
                    None => assert!(there || outcome.killed, "{what}"),
                    Some("none") => assert!(!there, "{what}"),
                    Some(_) => {}
                }
            },
        );
    });
}

/// The checker can fail: a writer that truncates in place is caught by the same judgement.
#[test]
fn a_naive_writer_is_caught() {
    if !have_program("strace") {
        return;
    }
    let scratch = scene();
    let path = scratch.path("root/d/f");
    let output = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "-e", "trace=write"])
        .args(["-e", "inject=write:signal=SIGKILL:when=1"])
        .args(["sh", "-c", &format!("printf new > {}", path.display())])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let caught = std::panic::catch_unwind(|| {
        let outcome = Outcome {
            said: String::new(),
            killed: true,
        };
        old_or_new(&scratch, &outcome, "naive");
    });
    assert!(caught.is_err(), "an empty file passed for whole");
}
