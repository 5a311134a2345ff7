//! Changes as bytes of a journal's record.

use std::collections::BTreeMap;

use super::tree::{Change, Content, DirNode, Entry, FileNode, Now, Tree, UndoMark, Was};
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
            Now::Dir(dir) => Entry {
                was: entry.was.clone(),
                now: Now::Dir(DirNode {
                    id: dir.id,
                    origin: dir.origin.clone(),
                    mode: dir.mode,
                    old_mode: dir.old_mode,
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
        Change::Part { path, digest, undo } => {
            out.byte(if undo.is_some() { 12 } else { 10 });
            out.text(path);
            out.text(digest.as_bytes());
            if let Some(undo) = undo {
                out.number(*undo);
            }
        }
        Change::Undo { records } => {
            out.byte(11);
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
        11 => {
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

fn write_entry(out: &mut Writer, entry: &Entry) {
    write_was(out, &entry.was);
    match &entry.now {
        Now::Gone => out.byte(0),
        Now::Dir(dir) => {
            out.byte(1);
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
                Content::Base => out.byte(0),
                Content::Object { id, sealed } => {
                    out.byte(if sealed { 2 } else { 1 });
                    out.number(id);
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

fn read_entry(input: &mut Reader<'_>, depth: usize) -> Result<Entry, Error> {
    if depth > MAX_DEPTH {
        return Err(unknown());
    }
    let was = read_was(input, depth)?;
    let now = match input.byte()? {
        0 => Now::Gone,
        1 => {
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
                children,
            })
        }
        2 => {
            let content = match input.byte()? {
                0 => Content::Base,
                kind @ (1 | 2) => Content::Object {
                    id: input.number()?,
                    sealed: kind == 2,
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
    Ok(Entry { was, now })
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
mod tests {
    use super::*;

    #[test]
    fn changes_survive_the_round_trip() {
        let file = |content| Entry {
            was: Was::File("v1.x".into()),
            now: Now::File(FileNode {
                content,
                origin: Some((b"a/b".to_vec(), "v1.y".into())),
            }),
        };
        let changes = vec![
            Change::Put {
                path: b"a/\xff".to_vec(),
                entry: file(Content::Object {
                    id: 7,
                    sealed: true,
                }),
            },
            Change::Move {
                from: b"x".to_vec(),
                to: b"y".to_vec(),
                was: Was::Dir(BTreeMap::from([(b"n".to_vec(), Was::Link(b"t".to_vec()))])),
                left: Some(Entry {
                    was: Was::Moved(Box::new(Was::Kept)),
                    now: Now::Gone,
                }),
            },
            Change::Put {
                path: b"d".to_vec(),
                entry: Entry {
                    was: Was::Kept,
                    now: Now::Dir(DirNode {
                        id: 3,
                        origin: None,
                        mode: Some(0o700),
                        old_mode: Some(0),
                        children: BTreeMap::from([(b"c".to_vec(), file(Content::Base))]),
                    }),
                },
            },
            Change::Seal { but: vec![1, 2] },
            Change::DirMode {
                path: b"m".to_vec(),
                mode: 0o755,
                old: Some(0o1750),
            },
            Change::DirMode {
                path: b"m".to_vec(),
                mode: 0o755,
                old: None,
            },
            Change::Exchange {
                one: b"1".to_vec(),
                other: b"2".to_vec(),
                was_one: Was::Absent,
                was_other: Was::Kept,
            },
            Change::Part {
                path: b"p".to_vec(),
                digest: "00ff".into(),
                undo: None,
            },
            Change::Part {
                path: b"p".to_vec(),
                digest: "00ff".into(),
                undo: Some(8),
            },
            Change::Undo {
                records: vec![UndoMark {
                    record: 3,
                    commit: 9,
                    pack: 0,
                    bytes: 7,
                }],
            },
            Change::Settled,
        ];
        assert_eq!(read(&write(&changes)).unwrap(), changes);
    }

    #[test]
    fn a_cut_record_is_an_error_and_never_a_panic() {
        let bytes = write(&[Change::Drop {
            path: b"abc".to_vec(),
        }]);
        for end in 1..bytes.len() {
            assert!(read(&bytes[..end]).is_err());
        }
        assert!(read(&[200]).is_err());
    }

    #[test]
    fn a_tree_comes_in_records_no_longer_than_they_must_be() {
        // Directories of the base that were removed with all that was in them.
        let was = |number: usize| {
            let names = (0..number).map(|n| (format!("{n:05}").into_bytes(), Was::Kept));
            Was::Dir(names.collect())
        };
        let mut tree = Tree::new();
        for number in 0..600 {
            let entry = Entry {
                was: was(if number == 300 { 20_000 } else { 200 }),
                now: Now::Gone,
            };
            let path = format!("{number:03}").into_bytes();
            tree.apply(Change::Put { path, entry }).unwrap();
        }
        let records = of_tree(&tree);
        let longest = records.iter().map(Vec::len).max().unwrap();
        let mut alone = Writer::default();
        write_was(&mut alone, &was(20_000));
        assert!(longest < alone.bytes.len() + 100, "{longest}");
        let mut back = Tree::new();
        for record in &records {
            for change in read(record).unwrap() {
                back.apply(change).unwrap();
            }
        }
        assert_eq!(back, tree);
    }
}
