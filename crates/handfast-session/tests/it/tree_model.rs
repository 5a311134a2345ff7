//! The model: random operations, and what they come to on a tree in memory.

use std::collections::BTreeMap;

use handfast::{ErrorKind, RenameMode};

use crate::support::Scratch;

/// A small generator of our own, so that a run can be told by one number.
#[derive(Clone)]
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % sides
    }

    /// Few names and little depth, so that operations meet.
    pub fn path(&mut self) -> String {
        let depth = [1, 1, 2, 2, 3][self.roll(5) as usize];
        (0..depth)
            .map(|_| ["/a", "/b", "/c"][self.roll(3) as usize])
            .collect()
    }
}

#[derive(Clone, Debug)]
pub enum Op {
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

pub fn op(dice: &mut Dice, number: usize) -> Op {
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
pub enum Node {
    Dir,
    File(u32, String),
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Model(pub BTreeMap<String, Node>);

pub type Answer = Result<(), ErrorKind>;

impl Model {
    pub fn of(scratch: &Scratch) -> Self {
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

    pub fn parent(&self, path: &str) -> Answer {
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

    pub fn below(&self, path: &str) -> Vec<String> {
        let prefix = format!("{path}/");
        let below = self.0.keys().filter(|key| key.starts_with(&prefix));
        below.cloned().collect()
    }

    pub fn content(&self, path: &str) -> Result<(u32, String), ErrorKind> {
        self.parent(path)?;
        match self.0.get(path) {
            None => Err(ErrorKind::NotFound),
            Some(Node::Dir) => Err(ErrorKind::IsADirectory),
            Some(Node::File(mode, text)) => Ok((*mode, text.clone())),
        }
    }

    pub fn put(&mut self, path: &str, mode: u32, text: &str) -> Answer {
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

    pub fn take(&mut self, path: &str) -> BTreeMap<String, Node> {
        let mut keys = self.below(path);
        keys.push(path.to_owned());
        let cut = |key: &String| key[path.len()..].to_owned();
        keys.iter()
            .map(|key| (cut(key), self.0.remove(key).unwrap()))
            .collect()
    }

    pub fn give(&mut self, path: &str, nodes: BTreeMap<String, Node>) {
        let put = |(rest, node)| (format!("{path}{rest}"), node);
        self.0.extend(nodes.into_iter().map(put));
    }

    pub fn apply(&mut self, op: &Op) -> Answer {
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

    pub fn rename(&mut self, from: &str, to: &str, mode: RenameMode) -> Answer {
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
    pub fn tree(&self) -> BTreeMap<String, String> {
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
pub fn new_mode() -> u32 {
    static MODE: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *MODE.get_or_init(|| {
        let scratch = Scratch::new();
        scratch.file("probe", "");
        let facts = &scratch.tree()["probe"];
        u32::from_str_radix(facts.split(' ').nth(1).unwrap(), 8).unwrap()
    })
}
