//! Taking a commit back: the changes that lead back are committed, and what the commit had brought is
//! a change of the session again.

use std::collections::{BTreeMap, BTreeSet};

use handfast::{Durability, Effect, ErrorKind, Version};

use super::inverse::{CommittedChanges, Impossible, inverse};
use super::keep::Movable;
use super::kept::UndoRecord;
use super::merge::{Stash, changes_of, merge, put_back, renew};
use crate::error::Error;
use crate::gate::Locked;
use crate::log::Log;
use crate::overlay::commit::{Choice, CommitReport, Conflict, Reserve, Rolled};
use crate::overlay::items::{ChangedName, What, items};
use crate::overlay::store::{NewMode, Source, fresh_id, object_path};
use crate::overlay::tree::{
    Change, ContentLocation, FileNode, NodeEntry, Now, Tree, Was, base_path,
};
use crate::overlay::{JOURNAL, Overlay, State, record};
use crate::place::Guard;

/// The version of a file whose version is not known: no file has it.
const UNKNOWN: &str = "v1.0.0.0.0.0-0.0-0";

impl Overlay {
    /// Takes a commit back, which must be the last one, or only looks whether that would meet a
    /// conflict. A conflict means that nothing was changed.
    ///
    /// # Errors
    /// `NotFound` if it is not the last one; `Unsupported` if it cannot be taken back; `Quota`;
    /// what the disk says.
    pub(crate) fn undo(
        &self,
        commit: u64,
        guard: &Guard<'_>,
        only_looks: bool,
    ) -> Result<CommitReport, Error> {
        let locked = self.begin()?;
        let (taking, kept, back) = self.last_of(&locked, commit)?;
        let tree = locked.state().tree.clone();
        let (mut merged, stash, conflicts) = merge(&tree, &back)?;
        self.renew_indexes(&mut merged, &back)?;
        if !conflicts.is_empty() {
            return Ok(CommitReport::refused(conflicts));
        }
        let paths: BTreeSet<Vec<u8>> = items(&back).into_iter().map(|item| item.path).collect();
        let mut chosen = items(&merged);
        chosen.retain(|item| paths.contains(&item.path));
        let conflicts = self.refusals(&chosen, guard)?;
        if !conflicts.is_empty() || only_looks {
            return Ok(CommitReport::refused(conflicts));
        }
        let mut made: BTreeSet<u64> = back.objects().into_iter().collect();
        // The base's own files are the only ones there are, and stay whatever happens.
        let own: BTreeSet<u64> = kept.iter().flat_map(UndoRecord::own_objects).collect();
        let ready = self.prepare_undo(&kept, &mut made, &mut merged, &paths, stash, taking);
        let (choice, reserve) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                self.drop_objects(made.difference(&own).copied())?;
                return Err(error);
            }
        };
        // One file, put in place at once: the changes and the word that they are under way. If it is
        // not certain that it is not in place, what it names stays.
        let mut records = record::of_tree(&merged);
        let bytes = choice.write();
        records.push(record::write(&[Change::Committing { choice: bytes }]));
        if let Err(error) = Log::replace(&self.home, JOURNAL, &records) {
            if error.effect() == Effect::None {
                self.drop_objects(made.difference(&own).copied())?;
            }
            return Err(error);
        }
        *locked.state() = State::open(&self.home)?;
        self.roll_forward(&locked, choice, reserve, false, &mut |_, _| {})
    }

    /// The records of the last commit, as one: what they keep, and the changes that lead back.
    fn last_of(
        &self,
        locked: &Locked<'_, State>,
        commit: u64,
    ) -> Result<(Vec<u64>, Vec<UndoRecord>, Tree), Error> {
        let marks = locked.state().tree.undo.clone();
        let newest = marks.last().map(|mark| mark.commit);
        if newest != Some(commit) {
            return Err(Error::refused(
                ErrorKind::NotFound,
                "this is not the last commit of the session any more; look again",
            ));
        }
        let (mut taking, mut all, mut back) = (Vec::new(), Vec::new(), Tree::new());
        for mark in marks.iter().filter(|mark| mark.commit == commit) {
            let (kept, changes) = self.read_kept(mark.record)?;
            if let Some(why) = &kept.why_not {
                return Err(Error::refused(
                    ErrorKind::Unsupported,
                    format!("the last commit cannot be taken back: {why}"),
                ));
            }
            for change in changes_of(&changes) {
                back.apply(change)?;
            }
            taking.push(mark.record);
            all.push(kept);
        }
        Ok((taking, all, back))
    }

    /// The index of a git directory is nobody's work: git writes it whenever it looks.
    fn renew_indexes(&self, merged: &mut Tree, back: &Tree) -> Result<(), Error> {
        let git = self.git_paths();
        for item in items(back).iter().filter(|item| git.is_index(&item.path)) {
            if let (Was::File(_), Some(home)) = (&item.was, &item.home)
                && let Ok(version) = self.base_version(&base_path(home)?)
                && let Some(NodeEntry { now, .. }) = merged.entry(&item.path).cloned()
            {
                let (path, was) = (item.path.clone(), Was::File(version));
                let entry = NodeEntry { was, now };
                merged.apply(Change::Put { path, entry })?;
            }
        }
        Ok(())
    }

    /// What others changed since, and what the caller may not change.
    fn refusals(&self, chosen: &[ChangedName], guard: &Guard<'_>) -> Result<Vec<Conflict>, Error> {
        let mut conflicts = self.verify(chosen)?;
        for item in chosen {
            // The rules had their say when it was committed; what goes back was the base's.
            if let Err(error) = guard.check_scope(&base_path(&item.path)?) {
                conflicts.push(Conflict {
                    path: item.path.clone(),
                    why: error.detail(),
                });
            }
        }
        Ok(conflicts)
    }

    /// Everything that the journal will name. `made` are the objects that go if it fails.
    fn prepare_undo(
        &self,
        kept: &[UndoRecord],
        made: &mut BTreeSet<u64>,
        merged: &mut Tree,
        paths: &BTreeSet<Vec<u8>>,
        stash: Stash,
        taking: Vec<u64>,
    ) -> Result<(Choice, Option<Reserve>), Error> {
        for kept in kept {
            self.unpack(kept, made)?;
        }
        self.copy_up_moved(merged, paths, made)?;
        let mut chosen = items(merged);
        chosen.retain(|item| paths.contains(&item.path));
        let mut displaced = self.keep_displaced(&chosen, &Movable::of(merged))?;
        displaced.stash = stash;
        made.extend(displaced.pack.into_iter().chain(displaced.own_objects()));
        let undo = fresh_id()?;
        self.write_kept(undo, &displaced, None)?;
        let dirs = self.judged_dirs(&chosen)?;
        chosen.retain(|item| !displaced.moving.contains_key(&item.path));
        let reserve = self.reserve(&chosen)?;
        let choice = Choice {
            staging: fresh_id()?,
            overwrite: false,
            paths: paths.clone(),
            early_done: false,
            failed: BTreeSet::new(),
            undo: Some(undo),
            taking,
            digests: BTreeMap::new(),
            dirs,
        };
        Ok((choice, reserve))
    }

    /// A file that comes back over another is written over it, so that readers see the one or the
    /// other.
    fn copy_up_moved(
        &self,
        tree: &mut Tree,
        paths: &BTreeSet<Vec<u8>>,
        made: &mut BTreeSet<u64>,
    ) -> Result<(), Error> {
        for path in paths {
            let Some(NodeEntry {
                was: was @ Was::File(_),
                now:
                    Now::File(FileNode {
                        content: ContentLocation::Base,
                        origin: Some((from, version)),
                    }),
            }) = tree.entry(path).cloned()
            else {
                continue;
            };
            let source = self.base.open(&base_path(&from)?)?;
            let mode = NewMode::Exact(source.metadata().mode & 0o777);
            let content = source.into_std();
            let content = Source::of_file(&content)?;
            let (id, _) = self.put_object(content, mode, None, Durability::None)?;
            made.insert(id);
            let content = ContentLocation::Object {
                id,
                sealed: false,
                linked: None,
            };
            let origin = Some((from, version));
            let now = Now::File(FileNode { content, origin });
            let path = path.clone();
            let entry = NodeEntry { was, now };
            tree.apply(Change::Put { path, entry })?;
        }
        Ok(())
    }

    /// Ends a commit or an undo: `next` is what the journal will say. The records that are dropped
    /// once it says so, and why a commit cannot be taken back.
    pub(in crate::overlay) fn settle_undo(
        &self,
        choice: &Choice,
        chosen: &[ChangedName],
        rolled: &Rolled,
        next: &mut Tree,
    ) -> Result<(Vec<u64>, Option<String>), Error> {
        let Some(id) = choice.undo else {
            return Ok((Vec::new(), None));
        };
        let (mut kept, _) = self.read_kept(id)?;
        let mut versions = rolled.versions.clone();
        for item in chosen {
            if let What::MoveFile { version, .. } = &item.what {
                versions.extend(self.moved_version(&item.path, version)?);
            }
        }
        let items: Vec<&ChangedName> = chosen
            .iter()
            .filter(|item| rolled.done.contains(&item.path))
            .collect();
        if !choice.taking.is_empty() {
            for item in &items {
                let unknown = || UNKNOWN.to_owned();
                versions.entry(item.path.clone()).or_insert_with(unknown);
            }
            self.return_changes(
                choice,
                chosen,
                &CommittedChanges {
                    items,
                    kept: &kept,
                    versions: &versions,
                },
                next,
            )?;
            next.undo
                .retain(|mark| !choice.taking.contains(&mark.record));
            let mut dropped = choice.taking.clone();
            dropped.push(id);
            return Ok((dropped, None));
        }
        if items.is_empty() {
            return Ok((vec![id], None));
        }
        self.finish_record(id, &mut kept, items, &versions)?;
        let dropped = Self::remember(&mut next.undo, &kept, id);
        Ok((dropped, kept.why_not))
    }

    /// Writes the record of a commit that is done.
    fn finish_record(
        &self,
        id: u64,
        kept: &mut UndoRecord,
        items: Vec<&ChangedName>,
        versions: &BTreeMap<Vec<u8>, String>,
    ) -> Result<(), Error> {
        let mut back = None;
        if kept.why_not.is_none() {
            let done = CommittedChanges {
                items,
                kept,
                versions,
            };
            match inverse(&done) {
                Ok(tree) => back = Some(tree),
                // What is kept goes with the record: a process that ends this commit may need it.
                Err(Impossible::Because(why)) => kept.why_not = Some(why),
                Err(Impossible::Failed(error)) => return Err(error),
            }
        }
        self.write_kept(id, kept, back.as_ref())
    }

    /// Ends the commit of some lines of a file, whose version is known. What the journal is told of
    /// the last commits, and the records that are dropped then.
    pub(in crate::overlay) fn settle_part_record(
        &self,
        id: u64,
        item: &ChangedName,
        version: &str,
        mut known: Vec<crate::overlay::tree::UndoMark>,
    ) -> Result<(Change, Vec<u64>), Error> {
        let (mut kept, _) = self.read_kept(id)?;
        let versions = BTreeMap::from([(item.path.clone(), version.to_owned())]);
        self.finish_record(id, &mut kept, vec![item], &versions)?;
        let dropped = Self::remember(&mut known, &kept, id);
        Ok((Change::Undo { records: known }, dropped))
    }

    /// The version of a file that was moved, if it is the one.
    fn moved_version(&self, path: &[u8], before: &str) -> Result<Option<(Vec<u8>, String)>, Error> {
        let at = base_path(path)?;
        let seen: Version = before.parse()?;
        let (Ok(status), Ok(version)) = (self.base.symlink_metadata(&at), self.base_version(&at))
        else {
            return Ok(None);
        };
        Ok(seen
            .is_of_renamed(&status)
            .then(|| (path.to_vec(), version)))
    }

    /// Makes what an undo displaced changes of the session again.
    fn return_changes(
        &self,
        choice: &Choice,
        chosen: &[ChangedName],
        done: &CommittedChanges<'_>,
        next: &mut Tree,
    ) -> Result<(), Error> {
        let forward = match inverse(done) {
            Ok(forward) => forward,
            Err(Impossible::Failed(error)) => return Err(error),
            Err(Impossible::Because(why)) => return Err(Error::refused(ErrorKind::Stale, why)),
        };
        let stash = &done.kept.stash;
        let mut wanted = BTreeSet::new();
        forward.each(&mut |path, entry| {
            if let Now::File(FileNode {
                content: ContentLocation::Object { id, .. },
                ..
            }) = &entry.now
                && !stash.iter().any(|(known, _)| known == path)
            {
                wanted.insert(*id);
            }
        });
        let mut again = Vec::new();
        let taken: BTreeSet<&[u8]> = done.items.iter().map(|item| item.path.as_slice()).collect();
        for item in chosen {
            if !taken.contains(item.path.as_slice()) {
                self.leave(item, done, next, &mut again)?;
            }
        }
        for (_, now) in &again {
            if let Now::File(FileNode {
                content: ContentLocation::Object { id, .. },
                ..
            }) = now
            {
                wanted.insert(*id);
            }
        }
        self.unpack(done.kept, &wanted)?;
        for change in changes_of(&forward) {
            next.apply(change)?;
        }
        put_back(next, &again)?;
        put_back(next, stash)?;
        self.renew_records(choice, done, next)
    }

    /// What could not be taken back is as it was: the base shows through, and what of it is gone from
    /// the base already is a change of the session.
    fn leave(
        &self,
        item: &ChangedName,
        done: &CommittedChanges<'_>,
        next: &mut Tree,
        again: &mut Stash,
    ) -> Result<(), Error> {
        let is_missing = |path: &[u8]| -> Result<bool, Error> {
            match self.base.symlink_metadata(&base_path(path)?) {
                Ok(_) => Ok(false),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
                Err(error) => Err(error),
            }
        };
        if let What::MoveDir { from, .. } | What::MoveFile { from, .. } = &item.what {
            let now = next.entry(&item.path).map(|entry| entry.now.clone());
            let origin = match &now {
                Some(Now::File(FileNode { origin, .. })) => origin.as_ref().map(|(path, _)| path),
                Some(Now::Dir(dir)) => dir.origin.as_ref(),
                _ => None,
            };
            if origin.is_some_and(|origin| origin != from) {
                // It is between two places: the session shows it from there, where it was.
                again.extend(now.map(|now| (from.clone(), now)));
            }
            let left = next.entry(from);
            if left.is_some_and(|left| matches!((&left.was, &left.now), (Was::Moved(_), Now::Gone)))
            {
                next.apply(Change::Drop { path: from.clone() })?;
            }
        }
        if next.entry(&item.path).is_some() {
            let path = item.path.clone();
            match item.what {
                What::DirMode { .. } => next.clear_mode(&path),
                _ => next.apply(Change::Drop { path })?,
            }
        }
        for (at, was, now) in super::inverse::restored(item, done)? {
            let own = done.kept.stash.iter().find(|(path, _)| *path == at);
            match (is_missing(&at)?, own) {
                // A file that is not in the store was not displaced: others removed it.
                (true, _) if !self.is_kept(done.kept, &at)? => {}
                (true, _) => again.push((at, now)),
                (false, Some((_, now))) => {
                    let now = now.clone();
                    let entry = NodeEntry { was, now };
                    next.apply(Change::Put { path: at, entry })?;
                }
                (false, None) => {}
            }
        }
        Ok(())
    }

    /// Whether the content of a file that was to be displaced is kept.
    fn is_kept(&self, kept: &UndoRecord, at: &[u8]) -> Result<bool, Error> {
        let Some(id) = kept.own_object(at) else {
            return Ok(true);
        };
        match self.store.symlink_metadata(&object_path(id)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The records of earlier commits know versions of files that are there again now, as new files.
    fn renew_records(
        &self,
        choice: &Choice,
        done: &CommittedChanges<'_>,
        next: &Tree,
    ) -> Result<(), Error> {
        let mut renewed: BTreeMap<String, &String> = BTreeMap::new();
        for id in &choice.taking {
            for (path, old) in self.read_kept(*id)?.0.versions {
                if let Some(new) = done.versions.get(&path) {
                    renewed.insert(without_digest(&old).to_owned(), new);
                }
            }
        }
        let new_one = |text: &str| renewed.get(without_digest(text)).map(|new| (*new).clone());
        for mark in next
            .undo
            .iter()
            .filter(|mark| !choice.taking.contains(&mark.record))
        {
            let (kept, mut back) = self.read_kept(mark.record)?;
            if kept.why_not.is_none() && renew(&mut back, &new_one) {
                self.write_kept(mark.record, &kept, Some(&back))?;
            }
        }
        Ok(())
    }
}

/// The text of a version up to its digest: it depends on the file's age whether it has one.
fn without_digest(version: &str) -> &str {
    match version.match_indices('.').nth(6) {
        Some((end, _)) => &version[..end],
        None => version,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_with_a_digest_and_one_without_are_one() {
        let here = handfast::Root::open_ambient(std::env::temp_dir()).unwrap();
        let dir = here.temp_dir(&handfast::RelPath::root()).unwrap();
        let path = base_path(b"f").unwrap();
        dir.root().write(&path, "x").unwrap();
        let version = dir.root().version_with_digest(&path).unwrap().to_string();
        assert_eq!(version.matches('.').count(), 7, "{version}");
        let short = without_digest(&version);
        assert!(version.starts_with(short) && short.parse::<Version>().is_ok());
        assert_eq!(without_digest(short), short);
        assert!(UNKNOWN.parse::<Version>().is_ok());
    }
}
