//! Random operations against a model in memory, with processes that end and are killed in between.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};

use handfast::files::{At, Attributes, Files, Put, WhatToRemove};
use handfast::{Durability, Error, ErrorKind, Name, RelPath, TreeLimits, WriteOptions};
use handfast_session::{CommitOptions, Mode, Session};

use crate::support::*;
use crate::tree_model::*;

/// Trees without the modes of directories.
fn plain(tree: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let plain = |(path, facts): (String, String)| match facts.starts_with("dir") {
        true => (path, "dir".to_owned()),
        false => (path, facts),
    };
    tree.into_iter().map(plain).collect()
}

/// A way to do an operation.
type Act = fn(&Session, &Op) -> Answer;

fn act(session: &Session, op: &Op) -> Answer {
    let done = match op {
        Op::Write(path, text) => session.write(path, text).map(drop),
        Op::WriteNew(path, text) => session.write_new(path, text).map(drop),
        Op::Append(path, text) => session.append(path, text).map(drop),
        Op::Mkdir(path) => session.create_dir(path),
        Op::RemoveFile(path) => session.remove_file(path),
        Op::RemoveDir(path) => session.remove_dir(path),
        Op::RemoveTree(path) => session.remove_tree(path),
        Op::Rename(from, to, mode) => session.rename(from, to, *mode),
        Op::Chmod(path, mode) => match session.metadata(path) {
            Ok(status) if status.is_dir() => return Err(ErrorKind::IsADirectory),
            _ => session.chmod(path, *mode),
        },
        Op::Copy(from, to) => session.copy(from, to).map(drop),
    };
    done.map_err(|error| error.kind())
}

/// The same by handles alone: the directory is looked up name by name, and the verb is done in it.
fn act_by_handles(files: &dyn Files, op: &Op) -> Answer {
    let held = |path: &str| {
        let (parent, last) = path.rsplit_once('/').expect("paths begin with a slash");
        let mut dir = files.top()?;
        for part in parent.split('/').filter(|part| !part.is_empty()) {
            dir = files.lookup(&dir, Name::parse(part)?.as_ref())?;
            if !dir.metadata().is_dir() {
                return Err(Error::refused(ErrorKind::NotADirectory, ""));
            }
        }
        Ok((dir, Name::parse(last)?))
    };
    let plain = WriteOptions::new().durability(Durability::None);
    let done = || match op {
        Op::Write(path, text) => {
            let (dir, name) = held(path)?;
            let mut staged = files.stage_at(At::new(&dir, &name), plain)?;
            staged.write_all(text.as_bytes())?;
            staged.publish(Put::Replace).map(drop)
        }
        Op::WriteNew(path, text) => {
            let (dir, name) = held(path)?;
            let at = At::new(&dir, &name);
            files.put_at(at, text.as_bytes(), Put::New, plain).map(drop)
        }
        Op::Append(path, text) => {
            let (dir, name) = held(path)?;
            let at = At::new(&dir, &name);
            files.append_at(at, text.as_bytes(), plain).map(drop)
        }
        Op::Mkdir(path) => {
            let (dir, name) = held(path)?;
            files.create_dir_at(At::new(&dir, &name), 0o777).map(drop)
        }
        Op::RemoveFile(path) => {
            let (dir, name) = held(path)?;
            files.remove_at(At::new(&dir, &name), WhatToRemove::File)
        }
        Op::RemoveDir(path) => {
            let (dir, name) = held(path)?;
            files.remove_at(At::new(&dir, &name), WhatToRemove::Dir)
        }
        Op::RemoveTree(path) => {
            let path = RelPath::parse(&path[1..])?;
            files.remove_tree(&path, TreeLimits::new())
        }
        Op::Rename(from, to, mode) => {
            let ((one, from), (other, to)) = (held(from)?, held(to)?);
            files.rename_at(At::new(&one, &from), At::new(&other, &to), *mode)
        }
        Op::Chmod(path, mode) => {
            let (dir, name) = held(path)?;
            let node = files.lookup(&dir, name.as_ref())?;
            if node.metadata().is_dir() {
                return Err(Error::refused(ErrorKind::IsADirectory, ""));
            }
            files.set_attributes_of(&node, &Attributes::new().mode(*mode))
        }
        Op::Copy(from, to) => {
            let (from, to) = (RelPath::parse(&from[1..])?, RelPath::parse(&to[1..])?);
            files.copy(&from, &to, Put::Replace).map(drop)
        }
    };
    done().map_err(|error| error.kind())
}

/// Refusals whose kind depends on which of two faults is found first.
fn same_answer(op: &Op, ours: Answer, model: Answer) -> bool {
    match (op, ours, model) {
        (Op::Rename(..) | Op::Copy(..), Err(_), Err(_)) => true,
        (_, ours, model) => ours == model,
    }
}

fn scene() -> Scratch {
    let scratch = Scratch::new();
    scratch
        .file("a/b/c", "abc")
        .file("a/d", "ad")
        .file("b", "b")
        .file("c/a", "ca")
        .dir("d/d");
    scratch
}

/// How many operations were done and not refused.
fn run(mode: Mode, seed: u64, count: usize, act: Act) -> usize {
    let scratch = scene();
    let mut model = Model::of(&scratch);
    let before = scratch.tree();
    let mut session = scratch.session(mode);
    let mut dice = Dice(seed);
    let (mut done, mut history) = (0, Vec::new());
    for number in 0..count {
        let op = op(&mut dice, number);
        let expected = model.clone().apply(&op);
        let answer = act(&session, &op);
        history.push(op.clone());
        assert!(
            same_answer(&op, answer, expected),
            "{mode} seed {seed}: {op:?}: {answer:?}, expected {expected:?}\n{history:?}"
        );
        if answer.is_ok() {
            model.apply(&op).unwrap();
            done += 1;
        }
        if number % 7 == 0 {
            assert_eq!(
                plain(tree_in(&session)),
                model.tree(),
                "{mode} seed {seed}\n{history:?}"
            );
        }
        if mode == Mode::Overlay && dice.roll(10) == 0 {
            drop(session);
            session = scratch.catalogue().open("s", me()).unwrap();
        }
    }
    assert_eq!(plain(tree_in(&session)), model.tree(), "{mode} seed {seed}");
    if mode == Mode::ReadWrite {
        assert_eq!(plain(scratch.tree()), model.tree());
        return done;
    }
    assert_eq!(scratch.tree(), before, "the base is as it was");
    let changes = diff(&session);
    let report = session
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap();
    assert_eq!(
        report.conflicts,
        [],
        "{mode} seed {seed}\n{changes:?}\n{history:?}"
    );
    assert_eq!(
        plain(scratch.tree()),
        model.tree(),
        "{mode} seed {seed}: the base after commit\n{changes:?}\n{history:?}"
    );
    assert_eq!(diff(&session), [] as [&str; 0]);
    done
}

#[test]
fn a_session_does_what_the_model_does() {
    // HANDFAST_MODEL_SEEDS makes it longer.
    let seeds = std::env::var("HANDFAST_MODEL_SEEDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(40);
    for mode in [Mode::ReadWrite, Mode::Overlay, Mode::Memory] {
        let done: usize = (1..=seeds)
            .map(|seed| run(mode, seed * 7919, 60, act))
            .sum();
        let asked = usize::try_from(seeds).unwrap() * 60;
        assert!(done * 5 > asked, "{mode}: only {done} of {asked} were done");
    }
}

#[test]
fn a_session_does_what_the_model_does_by_handles_too() {
    for mode in [Mode::ReadWrite, Mode::Overlay] {
        let by_handles: Act = |session, op| act_by_handles(session, op);
        let runs = (1..=30_u64).map(|seed| run(mode, seed * 6151, 60, by_handles));
        let done: usize = runs.sum();
        assert!(done * 5 > 30 * 60, "{mode}: only {done} were done");
    }
}

/// Some paths at a time, in an order that has nothing to do with how they came about.
#[test]
fn committing_bit_by_bit_comes_to_the_same() {
    for seed in 1..=60_u64 {
        let scratch = scene();
        let mut model = Model::of(&scratch);
        let session = scratch.session(Mode::Overlay);
        let mut dice = Dice(seed * 104_729);
        let mut history = Vec::new();
        for number in 0..25 {
            let op = op(&mut dice, number);
            if act(&session, &op).is_ok() {
                model.apply(&op).unwrap();
                history.push(op);
            }
        }
        for _ in 0..12 {
            let changes = session.diff().unwrap();
            if changes.is_empty() {
                break;
            }
            let chosen = &changes[dice.roll(changes.len() as u64) as usize];
            let options = CommitOptions {
                paths: vec![chosen.path.clone()],
                ..CommitOptions::default()
            };
            // A path may have to wait for another; then it stays, and nothing is lost.
            if let Err(error) = session.commit(&options, &mut |_, _| {}) {
                // What goes with its directory has to be named with it.
                assert_eq!(error.kind(), handfast::ErrorKind::NotFound);
            }
            let shown = plain(tree_in(&session));
            assert_eq!(shown, model.tree(), "seed {seed} {chosen:?}\n{history:?}");
        }
        let report = session
            .commit(&CommitOptions::default(), &mut |_, _| {})
            .unwrap();
        assert_eq!(report.conflicts, [], "seed {seed}\n{history:?}");
        assert_eq!(
            plain(scratch.tree()),
            model.tree(),
            "seed {seed}\n{history:?}"
        );
    }
}

const CHILD: &str = "HANDFAST_MODEL_CHILD";

/// The process that is killed: not a test of its own.
#[test]
fn child() {
    let Ok(text) = std::env::var(CHILD) else {
        return;
    };
    let (state, rest) = text.split_once('|').unwrap();
    let (seed, from) = rest.split_once('|').unwrap();
    let (seed, from): (u64, usize) = (seed.parse().unwrap(), from.parse().unwrap());
    let session = handfast_session::Catalogue::open_ambient(state)
        .unwrap()
        .open("s", me())
        .unwrap();
    let mut dice = Dice(seed);
    for number in 0.. {
        let op = op(&mut dice, number);
        if number < from {
            continue;
        }
        let _ = act(&session, &op);
        // Told one by one: what was told has happened.
        println!("done {number}");
    }
}

#[test]
fn a_session_survives_whoever_is_killed_in_it() {
    let mut told = 0;
    for seed in 1..=6_u64 {
        let scratch = scene();
        let mut model = Model::of(&scratch);
        drop(scratch.session(Mode::Overlay));
        let state = scratch.top.join("state");
        let mut at = 0;
        let mut dice = Dice(seed * 31);
        for _ in 0..6 {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "model::child", "--nocapture", "--test-threads=1"])
                .env(CHILD, format!("{}|{}|{at}", state.display(), seed * 77))
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let wanted = 1 + dice.roll(25) as usize;
            let mut last = at;
            let mut seen = 0;
            for line in lines.by_ref() {
                if let Some(number) = line.unwrap().strip_prefix("done ") {
                    last = number.parse::<usize>().unwrap() + 1;
                    seen += 1;
                }
                if seen >= wanted {
                    break;
                }
            }
            std::thread::sleep(std::time::Duration::from_micros(dice.roll(3000)));
            child.kill().unwrap();
            for line in lines {
                if let Some(number) = line.unwrap_or_default().strip_prefix("done ") {
                    last = number.parse::<usize>().unwrap_or(last) + 1;
                }
            }
            child.wait().unwrap();
            told += last - at;
            let mut ops = Dice(seed * 77);
            for number in 0..last {
                let op = op(&mut ops, number);
                if number >= at {
                    let _ = model.apply(&op);
                }
            }
            let session = scratch.catalogue().open("s", me()).unwrap();
            session.mend().unwrap();
            let shown = plain(tree_in(&session));
            let mut next = model.clone();
            let following = op(&mut ops, last);
            let _ = next.apply(&following);
            // The one that was under way has happened, or has not. Removing a tree goes name by
            // name, so it may have come half-way; then it is finished here.
            at = if shown == model.tree() {
                last
            } else if shown == next.tree() {
                model = next;
                last + 1
            } else {
                assert!(matches!(following, Op::RemoveTree(_)), "{following:?}");
                let _ = act(&session, &following);
                assert_eq!(
                    plain(tree_in(&session)),
                    next.tree(),
                    "seed {seed} at {last} {following:?}"
                );
                model = next;
                last + 1
            };
        }
    }
    println!("{told} operations before kills");
    assert!(
        told > 50,
        "the processes were killed before they did anything: {told}"
    );
}
