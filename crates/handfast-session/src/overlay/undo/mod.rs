//! Taking commits back.
//!
//! Before a commit changes the base, what it is about to displace is copied into the session's store
//! ([`keep`]). When it is done, the changes that would lead back are known ([`inverse`]) and are kept
//! with it ([`kept`]). To take it back is to commit those changes, by the same two steps, with the same
//! comparison of every name, and finished by the same journal if the process dies ([`take`]). What the
//! commit had brought is a change of the session again, so nothing is lost and the session shows what
//! it showed.

mod inverse;
mod keep;
mod kept;
mod merge;
mod take;

use super::Overlay;
use super::diff::DiffKind;
use super::items::{What, items};
use super::tree::{Tree, UndoMark, Was};
use crate::error::Error;
pub(super) use keep::{Movable, UndoId};
pub(super) use kept::UndoRecord;

/// So many commits can be taken back.
pub(crate) const MAX_COMMITS: usize = 20;
/// The contents that all of them displaced are kept up to this size.
pub(crate) const MAX_BYTES: u64 = 256 << 20;

/// What is known of a commit before it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past<'a> {
    /// Which commit: when it is made, in nanoseconds.
    pub(crate) commit: u64,
    pub(crate) message: Option<&'a str>,
    /// Why it will not be possible to take it back.
    pub(crate) why_not: Option<&'a str>,
}

/// A commit that was made: the part of it that lies in one overlay.
#[derive(Clone, Debug)]
pub(crate) struct PastRecord {
    pub(crate) commit: u64,
    pub(crate) message: Option<String>,
    pub(crate) why_not: Option<String>,
    /// How many bytes are kept for it.
    pub(crate) bytes: u64,
    /// What taking it back does to the base, below the mount.
    pub(crate) changes: Vec<(Vec<u8>, DiffKind)>,
}

impl Overlay {
    /// When the last commit was made that can be taken back; zero if there is none.
    pub(crate) fn last_commit(&self) -> Result<u64, Error> {
        self.with_tree(|tree| tree.undo.last().map_or(0, |mark| mark.commit))
    }

    /// The last commits, oldest first.
    pub(crate) fn past(&self) -> Result<Vec<PastRecord>, Error> {
        let mut found = Vec::new();
        for mark in self.with_tree(|tree| tree.undo.clone())? {
            let (kept, back) = self.read_kept(mark.record)?;
            found.push(PastRecord {
                commit: kept.commit,
                message: kept.message,
                why_not: kept.why_not,
                bytes: kept.bytes,
                changes: changes(&back),
            });
        }
        Ok(found)
    }

    /// Adds a record to a list, and takes off what is too old or too much. What was taken off.
    fn remember(records: &mut Vec<UndoMark>, kept: &UndoRecord, record: u64) -> Vec<u64> {
        records.push(kept.mark(record));
        let mut dropped = Vec::new();
        loop {
            let mut commits: Vec<u64> = records.iter().map(|mark| mark.commit).collect();
            commits.dedup();
            let bytes: u64 = records.iter().map(|mark| mark.bytes).sum();
            if commits.len() <= MAX_COMMITS && bytes <= MAX_BYTES {
                return dropped;
            }
            let Some(oldest) = commits.first().copied() else {
                return dropped;
            };
            records.retain(|mark| {
                let stays = mark.commit != oldest;
                if !stays {
                    dropped.push(mark.record);
                }
                stays
            });
        }
    }
}

/// What an overlay's changes do to the base, for people.
fn changes(back: &Tree) -> Vec<(Vec<u8>, DiffKind)> {
    let mut found: Vec<(Vec<u8>, DiffKind)> = items(back)
        .into_iter()
        .map(|item| {
            let kind = match (&item.what, &item.was) {
                (What::Delete, _) => DiffKind::Deleted,
                (What::MoveDir { .. } | What::MoveFile { .. }, _) => DiffKind::Renamed,
                (What::DirMode { .. }, _) => DiffKind::Mode,
                (_, Was::Absent) => DiffKind::Added,
                _ => DiffKind::Changed,
            };
            (item.path, kind)
        })
        .collect();
    found.sort();
    found
}
