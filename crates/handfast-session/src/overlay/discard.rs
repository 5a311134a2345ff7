//! Dropping some of the changes.

use super::items::{ChangedName, What};
use super::tree::{Change, Now, Tree, Was};
use crate::error::Error;

/// The tree without the changes at and below some paths. A rename is one change: naming either
/// end drops it, and what was changed inside of a moved directory goes with it.
pub(super) fn without(tree: &Tree, all: &[ChangedName], paths: &[Vec<u8>]) -> Result<Tree, Error> {
    let is_meant = |path: &[u8]| paths.iter().any(|above| covers(above, path));
    let mut next = tree.clone();
    // Deepest first, so that directories on the way are still there.
    let mut meant: Vec<&ChangedName> = all
        .iter()
        .filter(|item| is_meant(&item.path) || source(item).is_some_and(&is_meant))
        .collect();
    meant.sort_by_key(|item| std::cmp::Reverse(item.path.len()));
    for item in meant {
        if let Some(from) = source(item)
            && let Some((place, covering)) = next.covering(from)
        {
            // What was moved is back in its place, unless something else stands there now.
            if matches!(covering.now, Now::Gone) {
                next.apply(Change::Drop { path: place })?;
            } else if let Was::Moved(was) = covering.was {
                let now = covering.now;
                let entry = super::tree::NodeEntry { was: *was, now };
                next.apply(Change::Put { path: place, entry })?;
            }
        }
        if next.entry(&item.path).is_none() {
            continue;
        }
        match &item.what {
            What::DirMode { .. } => next.clear_mode(&item.path),
            _ => next.apply(Change::Drop {
                path: item.path.clone(),
            })?,
        }
    }
    Ok(next)
}

fn covers(above: &[u8], path: &[u8]) -> bool {
    above.is_empty()
        || path
            .strip_prefix(above)
            .is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
}

fn source(item: &ChangedName) -> Option<&[u8]> {
    match &item.what {
        What::MoveDir { from, .. } | What::MoveFile { from, .. } => Some(from),
        What::File { moved, .. } => moved.as_ref().map(|(from, _)| from.as_slice()),
        _ => None,
    }
}
