//! Changes as bytes of a journal's record.

use std::collections::BTreeMap;

use super::dir_times::{DirTimes, Moment};
use super::tree::{
    Change, ContentLocation, DirNode, FileNode, NodeEntry, Now, Tree, UndoMark, Was,
};
use crate::codec::{Reader, Writer, unknown};
use crate::error::Error;

/// How deep entries of a record may nest.
const MAX_DEPTH: usize = 1024;

pub(crate) fn write(changes: &[Change]) -> Vec<u8> {
    let mut out = Writer::default();
    for change in changes {
        write_change(&mut out, change);
    }
    out.bytes
}

pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Change>, Error> {
    let mut input = Reader::new(bytes);
    let mut changes = Vec::new();
    while !input.is_empty() {
        changes.push(read_change(&mut input)?);
    }
    Ok(changes)
}

/// The records that make a tree from nothing.
pub(crate) fn of_tree(tree: &Tree) -> Vec<Vec<u8>> {
    let mut records = Records::default();
    tree.each(&mut |path, entry| {
        // Children come as changes of their own, so that no record grows with the tree.
        let entry = match &entry.now {
            Now::Dir(dir) => NodeEntry {
                was: entry.was.clone(),
                now: Now::Dir(DirNode {
                    id: dir.id,
                    origin: dir.origin.clone(),
                    mode: dir.mode,
                    old_mode: dir.old_mode,
                    times: dir.times,
                    touched: dir.touched,
                    children: BTreeMap::new(),
                }),
            },
            _ => entry.clone(),
        };
        records.push(&Change::Put {
            path: path.to_vec(),
            entry,
        });
    });
    if let Some(mode) = tree.root.mode {
        let path = Vec::new();
        let old = tree.root.old_mode;
        records.push(&Change::DirMode { path, mode, old });
    }
    if let Some(times) = tree.root.times {
        let path = Vec::new();
        records.push(&Change::DirTimes { path, times });
    }
    if !tree.undo.is_empty() {
        let known = tree.undo.clone();
        records.push(&Change::Undo { records: known });
    }
    records.finish()
}

/// Changes put together into records, none of which is much longer than the longest change.
#[derive(Default)]
struct Records {
    done: Vec<Vec<u8>>,
    filling: Vec<u8>,
}

impl Records {
    const PORTION: usize = 64 << 10;

    fn push(&mut self, change: &Change) {
        let mut out = Writer::default();
        write_change(&mut out, change);
        if self.filling.len() + out.bytes.len() > Self::PORTION && !self.filling.is_empty() {
            self.done.push(std::mem::take(&mut self.filling));
        }
        self.filling.extend_from_slice(&out.bytes);
    }

    fn finish(mut self) -> Vec<Vec<u8>> {
        if !self.filling.is_empty() {
            self.done.push(self.filling);
        }
        self.done
    }
}

fn write_change(out: &mut Writer, change: &Change) {
    match change {
        Change::Put { path, entry } => {
            out.byte(1);
            out.text(path);
            write_entry(out, entry);
        }
        Change::Drop { path } => {
            out.byte(2);
            out.text(path);
        }
        Change::Move {
            from,
            to,
            was,
            left,
        } => {
            out.byte(3);
            out.text(from);
            out.text(to);
            write_was(out, was);
            out.option(left.as_ref(), write_entry);
        }
        Change::Exchange {
            one,
            other,
            was_one,
            was_other,
        } => {
            out.byte(4);
            out.text(one);
            out.text(other);
            write_was(out, was_one);
            write_was(out, was_other);
        }
        Change::DirMode { path, mode, old } => {
            out.byte(5);
            out.text(path);
            out.number(modes(*mode, *old));
        }
        Change::Origin { path, origin } => {
            out.byte(6);
            out.text(path);
            out.text(origin);
        }
        Change::Seal { but } => {
            out.byte(7);
            out.number(but.len() as u64);
            for id in but {
                out.number(*id);
            }
        }
        Change::Committing { choice } => {
            out.byte(8);
            out.text(choice);
        }
        Change::Settled => out.byte(9),
        Change::DirTimes { path, times } => {
            out.byte(11);
            out.text(path);
            times.write(out);
        }
        Change::Part { path, digest, undo } => {
            out.byte(if undo.is_some() { 12 } else { 10 });
            out.text(path);
            out.text(digest.as_bytes());
            if let Some(undo) = undo {
                out.number(*undo);
            }
        }
        Change::Undo { records } => {
            out.byte(13);
            out.number(records.len() as u64);
            for mark in records {
                for number in [mark.record, mark.commit, mark.pack, mark.bytes] {
                    out.number(number);
                }
            }
        }
    }
}

fn read_change(input: &mut Reader<'_>) -> Result<Change, Error> {
    Ok(match input.byte()? {
        1 => Change::Put {
            path: input.text()?.to_vec(),
            entry: read_entry(input, 0)?,
        },
        2 => Change::Drop {
            path: input.text()?.to_vec(),
        },
        3 => Change::Move {
            from: input.text()?.to_vec(),
            to: input.text()?.to_vec(),
            was: read_was(input, 0)?,
            left: input.option(|input| read_entry(input, 0))?,
        },
        4 => Change::Exchange {
            one: input.text()?.to_vec(),
            other: input.text()?.to_vec(),
            was_one: read_was(input, 0)?,
            was_other: read_was(input, 0)?,
        },
        5 => {
            let path = input.text()?.to_vec();
            let (mode, old) = modes_in(input.number()?);
            Change::DirMode { path, mode, old }
        }
        6 => Change::Origin {
            path: input.text()?.to_vec(),
            origin: input.text()?.to_vec(),
        },
        7 => {
            let count = input.number()?;
            let mut but = Vec::new();
            for _ in 0..count {
                but.push(input.number()?);
            }
            Change::Seal { but }
        }
        8 => Change::Committing {
            choice: input.text()?.to_vec(),
        },
        9 => Change::Settled,
        kind @ (10 | 12) => Change::Part {
            path: input.text()?.to_vec(),
            digest: read_string(input)?,
            undo: match kind {
                12 => Some(input.number()?),
                _ => None,
            },
        },
        11 => Change::DirTimes {
            path: input.text()?.to_vec(),
            times: DirTimes::read(input)?,
        },
        13 => {
            let count = input.number()?;
            let mut records = Vec::new();
            for _ in 0..count {
                records.push(UndoMark {
                    record: input.number()?,
                    commit: input.number()?,
                    pack: input.number()?,
                    bytes: input.number()?,
                });
            }
            Change::Undo { records }
        }
        _ => return Err(unknown()),
    })
}

/// What the kind of a file's content has more, if it was linked.
const LINKED: u8 = 2;

/// A directory whose times were set.
const DIR_WITH_TIMES: u8 = 4;

/// A mode, and in the upper half the one before, plus one: journals had the mode alone once.
fn modes(mode: u32, old: Option<u32>) -> u64 {
    let old = old.map_or(0, |old| u64::from(old & 0o7777) + 1);
    u64::from(mode) | (old << 32)
}

fn modes_in(both: u64) -> (u32, Option<u32>) {
    let [old, mode] = [both >> 32, both & u64::from(u32::MAX)]
        .map(|half| u32::try_from(half).unwrap_or(u32::MAX));
    (mode, old.checked_sub(1))
}

fn write_entry(out: &mut Writer, entry: &NodeEntry) {
    write_was(out, &entry.was);
    match &entry.now {
        Now::Gone => out.byte(0),
        Now::Dir(dir) => {
            match dir.times {
                Some(times) => {
                    out.byte(DIR_WITH_TIMES);
                    times.write(out);
                }
                None => out.byte(1),
            }
            out.number(dir.id);
            out.option(dir.origin.as_ref(), |out, origin| out.text(origin));
            out.option(dir.mode, |out, mode| {
                out.number(modes(mode, dir.old_mode));
            });
            out.number(dir.children.len() as u64);
            for (name, child) in &dir.children {
                out.text(name);
                write_entry(out, child);
            }
        }
        Now::File(file) => {
            out.byte(2);
            match file.content {
                ContentLocation::Base => out.byte(0),
                ContentLocation::Object { id, sealed, linked } => {
                    let kind = if sealed { 2 } else { 1 };
                    out.byte(kind + if linked.is_some() { LINKED } else { 0 });
                    out.number(id);
                    if let Some(name) = linked {
                        out.number(name);
                    }
                }
            }
            out.option(file.origin.as_ref(), |out, (path, version)| {
                out.text(path);
                out.text(version.as_bytes());
            });
        }
        Now::Link { id, target } => {
            out.byte(3);
            out.number(*id);
            out.text(target);
        }
    }
}

fn read_entry(input: &mut Reader<'_>, depth: usize) -> Result<NodeEntry, Error> {
    if depth > MAX_DEPTH {
        return Err(unknown());
    }
    let was = read_was(input, depth)?;
    let now = match input.byte()? {
        0 => Now::Gone,
        kind @ (1 | DIR_WITH_TIMES) => {
            let times = match kind {
                DIR_WITH_TIMES => Some(DirTimes::read(input)?),
                _ => None,
            };
            let id = input.number()?;
            let origin = input.option(|input| Ok(input.text()?.to_vec()))?;
            let (mode, old_mode) = match input.option(Reader::number)? {
                Some(both) => {
                    let (mode, old) = modes_in(both);
                    (Some(mode), old)
                }
                None => (None, None),
            };
            let count = input.number()?;
            let mut children = BTreeMap::new();
            for _ in 0..count {
                let name = input.text()?.to_vec();
                children.insert(name, read_entry(input, depth + 1)?);
            }
            Now::Dir(DirNode {
                id,
                origin,
                mode,
                old_mode,
                times,
                touched: Moment::default(),
                children,
            })
        }
        2 => {
            let content = match input.byte()? {
                0 => ContentLocation::Base,
                kind @ 1..=4 => ContentLocation::Object {
                    id: input.number()?,
                    sealed: kind % LINKED == 0,
                    linked: match kind > LINKED {
                        true => Some(input.number()?),
                        false => None,
                    },
                },
                _ => return Err(unknown()),
            };
            let origin = input.option(|input| {
                let path = input.text()?.to_vec();
                Ok((path, read_string(input)?))
            })?;
            Now::File(FileNode { content, origin })
        }
        3 => Now::Link {
            id: input.number()?,
            target: input.text()?.to_vec(),
        },
        _ => return Err(unknown()),
    };
    Ok(NodeEntry { was, now })
}

fn write_was(out: &mut Writer, was: &Was) {
    match was {
        Was::Absent => out.byte(0),
        Was::File(version) => {
            out.byte(1);
            out.text(version.as_bytes());
        }
        Was::Link(target) => {
            out.byte(2);
            out.text(target);
        }
        Was::Dir(entries) => {
            out.byte(3);
            out.number(entries.len() as u64);
            for (name, was) in entries {
                out.text(name);
                write_was(out, was);
            }
        }
        Was::Moved(was) => {
            out.byte(4);
            write_was(out, was);
        }
        Was::Kept => out.byte(5),
    }
}

fn read_was(input: &mut Reader<'_>, depth: usize) -> Result<Was, Error> {
    if depth > MAX_DEPTH {
        return Err(unknown());
    }
    Ok(match input.byte()? {
        0 => Was::Absent,
        1 => Was::File(read_string(input)?),
        2 => Was::Link(input.text()?.to_vec()),
        3 => {
            let count = input.number()?;
            let mut entries = BTreeMap::new();
            for _ in 0..count {
                let name = input.text()?.to_vec();
                entries.insert(name, read_was(input, depth + 1)?);
            }
            Was::Dir(entries)
        }
        4 => Was::Moved(Box::new(read_was(input, depth + 1)?)),
        5 => Was::Kept,
        _ => return Err(unknown()),
    })
}

pub(super) fn read_string(input: &mut Reader<'_>) -> Result<String, Error> {
    String::from_utf8(input.text()?.to_vec()).map_err(|_| unknown())
}

#[cfg(test)]
mod tests;
