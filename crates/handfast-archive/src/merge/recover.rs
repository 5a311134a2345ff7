//! Merges whose process died are finished, or undone.

use std::fs::File;

use handfast::{
    Effect, Error, ErrorKind, Files as _, Name, NameRef, OpenOptions, Recovered, RecoveryOutcome,
    RelPath, Root,
};
use rustix::fs::{FlockOperation, flock};

use super::{DONE, JOURNAL, Journal, MAX_JOURNAL, MERGE, Merge, MergedObject, clean, end, own};

/// Cleans up after writers that died, as [`Root::recover`] does, and finishes merges that died half-way. A
/// merge that cannot be finished, because another process changed the directory since, is undone.
///
/// # Errors
/// As [`Root::recover`].
///
/// # Security
/// Only a merge directory of the caller's own, closed to others, and lying where its journal says is
/// believed. Its steps stay between it and the directory it lies in.
pub fn recover(root: &Root, path: &RelPath) -> Result<Vec<Recovered>, Error> {
    let mut found = root.recover(path)?;
    for leftover in &mut found {
        let is_kept = matches!(leftover.outcome, RecoveryOutcome::Kept(_));
        let Ok(below) = RelPath::parse(&leftover.path) else {
            continue;
        };
        if is_kept && is_merge(&below) {
            leftover.outcome = match settle(root, &path.join(&below)) {
                Ok(outcome) => outcome,
                // One that resists does not end the search.
                Err(error) => RecoveryOutcome::Kept(error.kind().sentence()),
            };
        }
    }
    Ok(found)
}

fn is_merge(path: &RelPath) -> bool {
    let number = path
        .name()
        .and_then(|name| name.as_bytes().strip_prefix(MERGE.as_bytes()));
    number.is_some_and(|it| it.len() == 16 && it.iter().all(u8::is_ascii_hexdigit))
}

fn settle(root: &Root, path: &RelPath) -> Result<RecoveryOutcome, Error> {
    let target = root.open_dir(&path.parent().unwrap_or_else(RelPath::root))?;
    let Some(name) = path.name().map(NameRef::to_name) else {
        return Ok(RecoveryOutcome::Kept("it has no name"));
    };
    let dir = target.open_dir(&RelPath::from(&name))?;
    let status = dir.opened_metadata();
    if status.uid != rustix::process::geteuid().as_raw() || status.mode & 0o077 != 0 {
        return Ok(RecoveryOutcome::Kept("others may have written to it"));
    }
    let unfinished = journal(&dir, JOURNAL)?;
    let (held, bytes) = match unfinished {
        Some(found) => found,
        None => match journal(&dir, DONE)? {
            Some(found) => found,
            None => return empty(&target, &name),
        },
    };
    if flock(&held, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(RecoveryOutcome::InUse);
    }
    let Some(journal) = Journal::parse(&bytes) else {
        return Ok(RecoveryOutcome::Kept("its journal is damaged"));
    };
    if journal.target != MergedObject::of(&target.identity()) {
        return Ok(RecoveryOutcome::Kept("its journal names another directory"));
    }
    // The merge ended, or was undone, but for what is left of its own directory.
    if dir.symlink_metadata(&RelPath::from(&own(DONE)?)).is_ok() {
        clean(&target, &dir, &name)?;
        return Ok(RecoveryOutcome::Removed);
    }
    let merge = Merge::begin(&*target, target.top()?, &name, &dir.identity())?;
    let outcome = match merge.run(&journal.actions) {
        Ok(()) => RecoveryOutcome::Finished,
        Err(error) if error.effect() == Effect::None => RecoveryOutcome::PutBack,
        Err(_) => {
            return Ok(RecoveryOutcome::Kept(
                "another process changed the directory; files that were displaced lie here",
            ));
        }
    };
    end(&dir)?;
    clean(&target, &dir, &name)?;
    Ok(outcome)
}

/// A journal under one of its names, open and read.
fn journal(dir: &Root, name: &str) -> Result<Option<(File, Vec<u8>)>, Error> {
    let path = RelPath::from(&own(name)?);
    match dir.open_with(&path, OpenOptions::new()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        opened => {
            let bytes = dir.read_to_limit(&path, MAX_JOURNAL)?;
            Ok(Some((opened?.into_std(), bytes)))
        }
    }
}

/// Without a journal nothing proves that the directory is ours. An empty one can go all the same.
fn empty(target: &Root, name: &Name) -> Result<RecoveryOutcome, Error> {
    match target.remove_dir(&RelPath::from(name)) {
        Ok(()) => Ok(RecoveryOutcome::Removed),
        Err(error) if error.kind() == ErrorKind::NotEmpty => {
            Ok(RecoveryOutcome::Kept("it holds no journal of a merge"))
        }
        Err(error) => Err(error),
    }
}
