//! Which changes a commit is about, and how far it has come: kept in the journal.

use std::collections::{BTreeMap, BTreeSet};

use handfast::{Identity, Timestamp};

use super::Conflict;
use super::git::git_dir;
use crate::codec::{Reader, Writer};
use crate::error::Error;
use crate::overlay::items::{ChangedName, What};
use crate::overlay::record::read_string;
use crate::overlay::tree::Was;

/// What the journal says about a commit under way.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::overlay) struct Choice {
    /// Names the directory for what is between two places.
    pub(in crate::overlay) staging: u64,
    pub(in crate::overlay) overwrite: bool,
    pub(in crate::overlay) paths: BTreeSet<Vec<u8>>,
    /// Everything that is done in the base's old places is done.
    pub(in crate::overlay) early_done: bool,
    /// What failed there, and is left alone.
    pub(in crate::overlay) failed: BTreeSet<Vec<u8>>,
    /// The record that keeps what the base had.
    pub(in crate::overlay) undo: Option<u64>,
    /// It takes these commits back, by the numbers of their records.
    pub(in crate::overlay) taking: Vec<u64>,
    /// The digests of contents that were shown: nothing else is written.
    pub(in crate::overlay) digests: BTreeMap<Vec<u8>, String>,
    /// The directories of the base that are moved or get another mode, by the path of the change.
    pub(in crate::overlay) dirs: JudgedDirs,
}

/// Which directory of the base a change was judged for.
pub(in crate::overlay) type JudgedDirs = BTreeMap<Vec<u8>, Identity>;

impl Choice {
    pub(in crate::overlay) fn write(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.number(self.staging);
        out.byte(u8::from(self.overwrite));
        out.byte(u8::from(self.early_done));
        for paths in [&self.paths, &self.failed] {
            out.number(paths.len() as u64);
            for path in paths {
                out.text(path);
            }
        }
        out.number(self.undo.unwrap_or(0));
        out.number(self.taking.len() as u64);
        for record in &self.taking {
            out.number(*record);
        }
        out.number(self.digests.len() as u64);
        for (path, digest) in &self.digests {
            out.text(path);
            out.text(digest.as_bytes());
        }
        out.number(self.dirs.len() as u64);
        for (path, dir) in &self.dirs {
            out.text(path);
            out.number(dir.device);
            out.number(dir.inode);
            out.byte(u8::from(dir.born.is_some()));
            let born = dir.born.unwrap_or_default();
            out.number(born.seconds.cast_unsigned());
            out.number(born.nanoseconds.into());
        }
        out.bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new(bytes);
        let staging = input.number()?;
        let overwrite = input.byte()? == 1;
        let early_done = input.byte()? == 1;
        let mut lists = [BTreeSet::new(), BTreeSet::new()];
        for list in &mut lists {
            let count = input.number()?;
            for _ in 0..count {
                list.insert(input.text()?.to_vec());
            }
        }
        let [paths, failed] = lists;
        let (mut undo, mut taking, mut digests) = (None, Vec::new(), BTreeMap::new());
        let mut dirs = JudgedDirs::new();
        // A commit that was begun before there was an undo says nothing about it.
        if !input.is_empty() {
            undo = Some(input.number()?).filter(|record| *record != 0);
            let count = input.number()?;
            for _ in 0..count {
                taking.push(input.number()?);
            }
            for _ in 0..input.number()? {
                let path = input.text()?.to_vec();
                digests.insert(path, read_string(&mut input)?);
            }
        }
        // One that was begun by an older version says nothing about directories.
        if !input.is_empty() {
            for _ in 0..input.number()? {
                let path = input.text()?.to_vec();
                dirs.insert(path, read_identity(&mut input)?);
            }
        }
        Ok(Self {
            staging,
            overwrite,
            paths,
            early_done,
            failed,
            undo,
            taking,
            digests,
            dirs,
        })
    }
}

fn read_identity(input: &mut Reader<'_>) -> Result<Identity, Error> {
    let (device, inode) = (input.number()?, input.number()?);
    let has_born = input.byte()? == 1;
    let born = Timestamp {
        seconds: input.number()?.cast_signed(),
        nanoseconds: u32::try_from(input.number()?).unwrap_or_default(),
    };
    Ok(Identity {
        device,
        inode,
        mount: None,
        born: has_born.then_some(born),
    })
}

pub(super) fn covers(above: &[u8], path: &[u8]) -> bool {
    above.is_empty()
        || path
            .strip_prefix(above)
            .is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
}

/// The items at or below the wanted paths; what was moved from there; the new or moved directories in
/// which they stand; and the rest of a git directory.
pub(super) fn select(all: &[ChangedName], wanted: &[Vec<u8>]) -> BTreeSet<Vec<u8>> {
    if wanted.is_empty() {
        return all.iter().map(|item| item.path.clone()).collect();
    }
    let is_wanted = |path: &[u8]| wanted.iter().any(|above| covers(above, path));
    let relations = Relations::new(all);
    let mut is_chosen: Vec<bool> = all
        .iter()
        .map(|item| is_wanted(&item.path) || source(item).is_some_and(is_wanted))
        .collect();
    let mut pending: Vec<usize> = (0..all.len()).filter(|index| is_chosen[*index]).collect();
    while let Some(index) = pending.pop() {
        let unit = relations.unit_of(&all[index]).iter().copied();
        for other in relations.needed_by(&all[index]).into_iter().chain(unit) {
            if !is_chosen[other] {
                is_chosen[other] = true;
                pending.push(other);
            }
        }
    }
    let chosen = all.iter().zip(is_chosen).filter(|(_, chosen)| *chosen);
    chosen.map(|(item, _)| item.path.clone()).collect()
}

/// Which changes cannot be made without which others.
pub(super) struct Relations<'a> {
    /// New and moved directories, by path: what stands in them needs them.
    holders: BTreeMap<&'a [u8], usize>,
    /// What takes its name from somewhere else, by where that is: it has to leave its place first.
    sources: BTreeMap<&'a [u8], usize>,
    /// What lies in each git directory.
    units: BTreeMap<&'a [u8], Vec<usize>>,
}

impl<'a> Relations<'a> {
    pub(super) fn new(all: &'a [ChangedName]) -> Self {
        let mut relations = Self {
            holders: BTreeMap::new(),
            sources: BTreeMap::new(),
            units: BTreeMap::new(),
        };
        for (index, item) in all.iter().enumerate() {
            if matches!(item.what, What::NewDir { .. } | What::MoveDir { .. }) {
                relations.holders.insert(&item.path, index);
            }
            if let Some(from) = source(item) {
                relations.sources.insert(from, index);
            }
            if let Some(dir) = git_dir(&item.path) {
                relations.units.entry(dir).or_default().push(index);
            }
        }
        relations
    }

    /// The changes without which one cannot be made: the directories in which it stands, and what has
    /// to leave its place first.
    pub(super) fn needed_by(&self, item: &ChangedName) -> Vec<usize> {
        let slashes = item
            .path
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'/');
        let mut needed: Vec<usize> = slashes
            .filter_map(|(end, _)| self.holders.get(&item.path[..end]).copied())
            .collect();
        let Some(home) = item.home.as_deref() else {
            return needed;
        };
        match item.covered {
            Was::Moved(_) => needed.extend(self.sources.get(home)),
            Was::Dir(_) => {
                let below = self.sources.range(home..);
                // What lies beside it may come between, as in `a`, `a.b`, `a/b`.
                let near = below.take_while(|(from, _)| from.starts_with(home));
                let inside = near.filter(|(from, _)| covers(home, from));
                needed.extend(inside.map(|(_, index)| *index));
            }
            _ => {}
        }
        needed
    }

    /// The changes of the git directory in which one lies.
    fn unit_of(&self, item: &ChangedName) -> &[usize] {
        let unit = git_dir(&item.path).and_then(|dir| self.units.get(dir));
        unit.map_or(&[], Vec::as_slice)
    }
}

pub(super) fn source(item: &ChangedName) -> Option<&[u8]> {
    match &item.what {
        What::MoveDir { from, .. } | What::MoveFile { from, .. } => Some(from),
        What::File { moved, .. } => moved.as_ref().map(|(from, _)| from.as_slice()),
        _ => None,
    }
}

/// The items without those in conflict, and without what stands in directories that are.
pub(super) fn without(
    items: Vec<ChangedName>,
    refused: &BTreeSet<Vec<u8>>,
    conflicts: &mut Vec<Conflict>,
) -> Vec<ChangedName> {
    let mut blocked: Vec<Vec<u8>> = Vec::new();
    let mut left = Vec::new();
    for item in items {
        let above = blocked.iter().any(|dir| covers(dir, &item.path));
        if above && !refused.contains(&item.path) {
            conflicts.push(Conflict {
                path: item.path,
                why: "its directory is in conflict".to_owned(),
            });
        } else if refused.contains(&item.path) {
            if matches!(item.what, What::NewDir { .. } | What::MoveDir { .. }) {
                blocked.push(item.path);
            }
        } else {
            left.push(item);
        }
    }
    left
}
