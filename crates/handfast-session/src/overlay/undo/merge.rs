//! Where the session itself has changed something since a commit, its changes stay, over the base as
//! it is after the commit was taken back.

use crate::error::Error;
use crate::overlay::commit::Conflict;
use crate::overlay::tree::{Change, DirNode, FileNode, NodeEntry, Now, Tree, Was, split};

/// What stays of the session's own changes: a path, and what it shows.
pub(super) type Stash = Vec<(Vec<u8>, Now)>;

/// The changes that make a tree, for adding them to another one: directories on the way are left to
/// that one.
pub(super) fn changes_of(tree: &Tree) -> Vec<Change> {
    let mut changes = Vec::new();
    if let Some(mode) = tree.root.mode {
        let (path, old) = (Vec::new(), tree.root.old_mode);
        changes.push(Change::DirMode { path, mode, old });
    }
    tree.each(&mut |path, entry| {
        let path = path.to_vec();
        match (&entry.was, &entry.now) {
            (Was::Kept, Now::Dir(dir)) => {
                changes.extend(dir.mode.map(|mode| Change::DirMode {
                    path,
                    mode,
                    old: dir.old_mode,
                }));
            }
            (was, Now::Dir(dir)) => {
                let was = was.clone();
                let now = Now::Dir(DirNode {
                    children: std::collections::BTreeMap::new(),
                    ..dir.clone()
                });
                let entry = NodeEntry { was, now };
                changes.push(Change::Put { path, entry });
            }
            _ => changes.push(Change::Put {
                path,
                entry: entry.clone(),
            }),
        }
    });
    changes
}

/// Adds the changes that take a commit back to a session's own, whose changes of the same names are
/// put aside. Names that the session moved since are in conflict.
pub(super) fn merge(tree: &Tree, back: &Tree) -> Result<(Tree, Stash, Vec<Conflict>), Error> {
    let (mut merged, mut stash, mut conflicts) = (tree.clone(), Stash::new(), Vec::new());
    for change in changes_of(back) {
        let path = match &change {
            Change::Put { path, .. } | Change::DirMode { path, .. } => path.clone(),
            _ => continue,
        };
        let is_put = matches!(change, Change::Put { .. });
        let refused = stands_elsewhere(tree, &path).or_else(|| match (tree.entry(&path), is_put) {
            (Some(entry), true) => put_aside(&path, entry, &mut stash),
            (Some(entry), false) => match &entry.now {
                Now::Dir(dir) if dir.mode.is_none() => None,
                _ => Some(CHANGED),
            },
            (None, _) => None,
        });
        if let Some(why) = refused {
            let why = why.to_owned();
            conflicts.push(Conflict { path, why });
            continue;
        }
        merged.apply(change)?;
    }
    Ok((merged, stash, conflicts))
}

const MOVED: &str = "the session moved it since; commit or discard that first";
const CHANGED: &str = "the session changed its mode since; commit or discard that first";

/// Whether the session moved or replaced a directory on the way to a path.
fn stands_elsewhere(tree: &Tree, path: &[u8]) -> Option<&'static str> {
    let mut dir = split(path).0;
    while !dir.is_empty() {
        if tree.entry(dir).is_some_and(|entry| entry.was != Was::Kept) {
            return Some(MOVED);
        }
        dir = split(dir).0;
    }
    None
}

/// Puts what the session shows at and below a name aside.
fn put_aside(path: &[u8], entry: &NodeEntry, stash: &mut Stash) -> Option<&'static str> {
    let mut pending = vec![(path.to_vec(), entry)];
    while let Some((path, entry)) = pending.pop() {
        let is_own = match &entry.now {
            Now::Gone | Now::Link { .. } => true,
            Now::File(FileNode { origin, .. }) => origin.is_none(),
            Now::Dir(dir) => {
                let inside = dir.children.iter();
                pending.extend(
                    inside.map(|(name, entry)| (crate::overlay::tree::join(&path, name), entry)),
                );
                match entry.was {
                    Was::Kept => dir.mode.is_none(),
                    // The session's own, with whatever mode it was made.
                    _ => dir.origin.is_none(),
                }
            }
        };
        if !is_own || matches!(entry.was, Was::Moved(_)) {
            return Some(MOVED);
        }
        if entry.was == Was::Kept {
            continue;
        }
        let now = match &entry.now {
            Now::Dir(dir) => Now::Dir(DirNode {
                children: std::collections::BTreeMap::new(),
                ..dir.clone()
            }),
            now => now.clone(),
        };
        stash.push((path, now));
    }
    None
}

/// Puts what was put aside back, over whatever the base has there now.
pub(super) fn put_back(tree: &mut Tree, stash: &Stash) -> Result<(), Error> {
    let mut stash: Vec<_> = stash.iter().collect();
    stash.sort_by_key(|(path, _)| path.iter().filter(|byte| **byte == b'/').count());
    for (path, now) in stash {
        let path = path.clone();
        let was = tree
            .entry(&path)
            .map_or(Was::Absent, |entry| entry.was.clone());
        let now = now.clone();
        tree.apply(match (&was, &now) {
            (Was::Absent, Now::Gone) => Change::Drop { path },
            _ => Change::Put {
                path,
                entry: NodeEntry { was, now },
            },
        })?;
    }
    Ok(())
}

/// Gives versions of the base that an undo made to a tree that knew those before.
pub(super) fn renew(tree: &mut Tree, renewed: &dyn Fn(&str) -> Option<String>) -> bool {
    let mut any = false;
    let mut pending = vec![&mut tree.root];
    while let Some(dir) = pending.pop() {
        for entry in dir.children.values_mut() {
            any |= renew_was(&mut entry.was, renewed);
            match &mut entry.now {
                Now::Dir(next) => pending.push(next),
                Now::File(FileNode {
                    origin: Some((_, version)),
                    ..
                }) => any |= renew_text(version, renewed),
                _ => {}
            }
        }
    }
    any
}

fn renew_was(was: &mut Was, renewed: &dyn Fn(&str) -> Option<String>) -> bool {
    match was {
        Was::File(version) => renew_text(version, renewed),
        Was::Moved(inner) => renew_was(inner, renewed),
        Was::Dir(entries) => entries
            .values_mut()
            .fold(false, |any, was| renew_was(was, renewed) | any),
        _ => false,
    }
}

fn renew_text(version: &mut String, renewed: &dyn Fn(&str) -> Option<String>) -> bool {
    match renewed(version) {
        Some(new) => {
            *version = new;
            true
        }
        None => false,
    }
}
