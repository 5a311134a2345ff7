//! Random operations against a model in memory, with processes that end and are killed in between.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use handfast::{ErrorKind, RenameMode};
use handfast_session::{CommitOptions, Mode, Session};

use crate::support::*;

/// A small generator of our own, so that a run can be told by one number.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % sides
    }

    /// Few names and little depth, so that operations meet.
    fn path(&mut self) -> String {
        let depth = [1, 1, 2, 2, 3][self.roll(5) as usize];
        (0..depth)
            .map(|_| ["/a", "/b", "/c"][self.roll(3) as usize])
            .collect()
    }
}

#[derive(Clone, Debug)]
enum Op {
    Write(String, String),
    WriteNew(String, String),
    Append(String, String),
    Mkdir(String),
    RemoveFile(String),
    RemoveDir(String),
    RemoveTree(String),
    Rename(String, String, RenameMode),
    Chmod(String, u32),
    Copy(String, String),
}

fn op(dice: &mut Dice, number: usize) -> Op {
    let (one, two) = (dice.path(), dice.path());
    let text = format!("{number}.");
    match dice.roll(16) {
        0..=2 => Op::Write(one, text),
        3 => Op::WriteNew(one, text),
        4 => Op::Append(one, text),
        5..=6 => Op::Mkdir(one),
        7 => Op::RemoveFile(one),
        8 => Op::RemoveDir(one),
        9 => Op::RemoveTree(one),
        10..=11 => Op::Rename(one, two, RenameMode::Replace),
        12 => Op::Rename(one, two, RenameMode::NoReplace),
        13 => Op::Rename(one, two, RenameMode::Exchange),
        14 => Op::Chmod(one, [0o600, 0o640, 0o644][dice.roll(3) as usize]),
        _ => Op::Copy(one, two),
    }
}

/// What a path holds: a directory, or a file with mode and content.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Node {
    Dir,
    File(u32, String),
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Model(BTreeMap<String, Node>);

type Answer = Result<(), ErrorKind>;

impl Model {
    fn of(scratch: &Scratch) -> Self {
        let nodes = scratch.tree().into_iter().map(|(path, facts)| {
            let mut words = facts.splitn(3, ' ');
            let node = match words.next() {
                Some("dir") => Node::Dir,
                _ => {
                    let mode = u32::from_str_radix(words.next().unwrap(), 8).unwrap();
                    Node::File(mode, words.next().unwrap_or_default().to_owned())
                }
            };
            (format!("/{path}"), node)
        });
        Self(nodes.collect())
    }

    fn parent(&self, path: &str) -> Answer {
        let mut at = String::new();
        let names: Vec<&str> = path.split('/').skip(1).collect();
        for name in &names[..names.len() - 1] {
            at = format!("{at}/{name}");
            match self.0.get(&at) {
                None => return Err(ErrorKind::NotFound),
                Some(Node::File(..)) => return Err(ErrorKind::NotADirectory),
                Some(Node::Dir) => {}
            }
        }
        Ok(())
    }

    fn below(&self, path: &str) -> Vec<String> {
        let prefix = format!("{path}/");
        let below = self.0.keys().filter(|key| key.starts_with(&prefix));
        below.cloned().collect()
    }

    fn content(&self, path: &str) -> Result<(u32, String), ErrorKind> {
        self.parent(path)?;
        match self.0.get(path) {
            None => Err(ErrorKind::NotFound),
            Some(Node::Dir) => Err(ErrorKind::IsADirectory),
            Some(Node::File(mode, text)) => Ok((*mode, text.clone())),
        }
    }

    fn put(&mut self, path: &str, mode: u32, text: &str) -> Answer {
        self.parent(path)?;
        match self.0.get_mut(path) {
            Some(Node::Dir) => Err(ErrorKind::IsADirectory),
            Some(Node::File(_, content)) => {
                *content = text.to_owned();
                Ok(())
            }
            None => {
                let node = Node::File(mode, text.to_owned());
                self.0.insert(path.to_owned(), node);
                Ok(())
            }
        }
    }

    fn take(&mut self, path: &str) -> BTreeMap<String, Node> {
        let mut keys = self.below(path);
        keys.push(path.to_owned());
        let cut = |key: &String| key[path.len()..].to_owned();
        keys.iter()
            .map(|key| (cut(key), self.0.remove(key).unwrap()))
            .collect()
    }

    fn give(&mut self, path: &str, nodes: BTreeMap<String, Node>) {
        let put = |(rest, node)| (format!("{path}{rest}"), node);
        self.0.extend(nodes.into_iter().map(put));
    }

    fn apply(&mut self, op: &Op) -> Answer {
        match op {
            Op::Write(path, text) => self.put(path, new_mode(), text),
            Op::WriteNew(path, text) => {
                self.parent(path)?;
                if self.0.contains_key(path) {
                    return Err(ErrorKind::Exists);
                }
                self.put(path, new_mode(), text)
            }
            Op::Append(path, text) => {
                let old = match self.content(path) {
                    Err(ErrorKind::NotFound) => String::new(),
                    old => old?.1,
                };
                self.put(path, new_mode(), &format!("{old}{text}"))
            }
            Op::Mkdir(path) => {
                self.parent(path)?;
                if self.0.contains_key(path) {
                    return Err(ErrorKind::Exists);
                }
                self.0.insert(path.clone(), Node::Dir);
                Ok(())
            }
            Op::RemoveFile(path) => {
                self.content(path)?;
                self.0.remove(path);
                Ok(())
            }
            Op::RemoveDir(path) => {
                self.parent(path)?;
                match self.0.get(path) {
                    None => Err(ErrorKind::NotFound),
                    Some(Node::File(..)) => Err(ErrorKind::NotADirectory),
                    Some(Node::Dir) if !self.below(path).is_empty() => Err(ErrorKind::NotEmpty),
                    Some(Node::Dir) => {
                        self.0.remove(path);
                        Ok(())
                    }
                }
            }
            Op::RemoveTree(path) => {
                self.parent(path)?;
                if !self.0.contains_key(path) {
                    return Err(ErrorKind::NotFound);
                }
                self.take(path);
                Ok(())
            }
            Op::Rename(from, to, mode) => self.rename(from, to, *mode),
            Op::Chmod(path, mode) => {
                self.parent(path)?;
                match self.0.get_mut(path) {
                    None => Err(ErrorKind::NotFound),
                    Some(Node::File(old, _)) => {
                        *old = *mode;
                        Ok(())
                    }
                    // Directories keep theirs, so that the test can look into them.
                    Some(Node::Dir) => Err(ErrorKind::IsADirectory),
                }
            }
            Op::Copy(from, to) => {
                let (mode, text) = self.content(from)?;
                self.put(to, mode, &text)
            }
        }
    }

    fn rename(&mut self, from: &str, to: &str, mode: RenameMode) -> Answer {
        self.parent(from)?;
        self.parent(to)?;
        let Some(source) = self.0.get(from).cloned() else {
            return Err(ErrorKind::NotFound);
        };
        let target = self.0.get(to).cloned();
        if mode == RenameMode::Exchange && target.is_none() {
            return Err(ErrorKind::NotFound);
        }
        if from == to {
            return match mode {
                RenameMode::NoReplace => Err(ErrorKind::Exists),
                _ => Ok(()),
            };
        }
        let inside = |outer: &str, inner: &str| inner.starts_with(&format!("{outer}/"));
        if mode == RenameMode::Exchange {
            if inside(from, to) || inside(to, from) {
                return Err(ErrorKind::Invalid);
            }
            let (one, other) = (self.take(from), self.take(to));
            self.give(to, one);
            self.give(from, other);
            return Ok(());
        }
        if inside(from, to) {
            return Err(ErrorKind::Invalid);
        }
        match (&source, &target) {
            (_, None) => {}
            _ if mode == RenameMode::NoReplace => return Err(ErrorKind::Exists),
            (Node::Dir, Some(Node::File(..))) => return Err(ErrorKind::NotADirectory),
            (Node::File(..), Some(Node::Dir)) => return Err(ErrorKind::IsADirectory),
            (Node::Dir, Some(Node::Dir)) if !self.below(to).is_empty() => {
                return Err(ErrorKind::NotEmpty);
            }
            _ => {
                self.0.remove(to);
            }
        }
        let moved = self.take(from);
        self.give(to, moved);
        Ok(())
    }

    /// In the form of `tree_in`.
    fn tree(&self) -> BTreeMap<String, String> {
        let line = |(path, node): (&String, &Node)| {
            let facts = match node {
                Node::Dir => "dir".to_owned(),
                Node::File(mode, text) => format!("file {mode:o} {text}"),
            };
            (path[1..].to_owned(), facts)
        };
        self.0.iter().map(line).collect()
    }
}

/// The mode of new files here.
fn new_mode() -> u32 {
    static MODE: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *MODE.get_or_init(|| {
        let scratch = Scratch::new();
        scratch.file("probe", "");
        let facts = &scratch.tree()["probe"];
        u32::from_str_radix(facts.split(' ').nth(1).unwrap(), 8).unwrap()
    })
}

/// Trees without the modes of directories.
fn plain(tree: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let plain = |(path, facts): (String, String)| match facts.starts_with("dir") {
        true => (path, "dir".to_owned()),
        false => (path, facts),
    };
    tree.into_iter().map(plain).collect()
}

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
fn run(mode: Mode, seed: u64, count: usize) -> usize {
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
            session = scratch.catalogue().open("s").unwrap();
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
        let done: usize = (1..=seeds).map(|seed| run(mode, seed * 7919, 60)).sum();
        let asked = usize::try_from(seeds).unwrap() * 60;
        assert!(done * 5 > asked, "{mode}: only {done} of {asked} were done");
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
            session.commit(&options, &mut |_, _| {}).unwrap();
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
        .open("s")
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
            let session = scratch.catalogue().open("s").unwrap();
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
