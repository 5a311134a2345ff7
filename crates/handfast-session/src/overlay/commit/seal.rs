//! What was shown, so that nothing else is committed.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::hold::hold_back;
use super::{Conflict, choice};
use crate::change::hex;
use crate::error::Error;
use crate::overlay::Overlay;
use crate::overlay::items::{ChangedName, What, items};
use crate::overlay::store::object_path;
use crate::overlay::tree::{Tree, Was};
use crate::place::Guard;

/// What a commit would be about.
pub(crate) struct Chosen {
    pub(crate) paths: Vec<Vec<u8>>,
    /// A digest of what it would do.
    pub(crate) seal: String,
    /// What would stay in the overlay until it is named.
    pub(crate) held: Vec<Conflict>,
}

/// A change that can be committed.
pub(crate) struct Choosable {
    /// Below the mount.
    pub(crate) path: Vec<u8>,
    pub(crate) is_dir: bool,
    /// Whether it takes its name from somewhere else.
    pub(crate) moves: bool,
}

impl Overlay {
    /// What a commit of some paths would be about.
    pub(crate) fn chosen(
        &self,
        paths: &[Vec<u8>],
        left_out: &BTreeSet<Vec<u8>>,
        guard: &Guard<'_>,
    ) -> Result<Chosen, Error> {
        let tree = self.with_tree(Tree::clone)?;
        let mut chosen = selected(&tree, paths);
        chosen.retain(|item| !left_out.contains(&item.path));
        let (chosen, held) = hold_back(chosen, paths, guard)?;
        let seal = self.seal(&chosen)?;
        let paths = chosen.into_iter().map(|item| item.path).collect();
        Ok(Chosen { paths, seal, held })
    }

    /// The changes that a commit of some paths would be about.
    pub(crate) fn choosable(&self, paths: &[Vec<u8>]) -> Result<Vec<Choosable>, Error> {
        let chosen = self.with_tree(|tree| selected(tree, paths))?;
        let found = chosen.into_iter().map(|item| Choosable {
            is_dir: match &item.what {
                What::Delete => matches!(item.was, Was::Dir(_) | Was::Kept),
                what => what.kind() == Some(handfast::FileKind::Dir),
            },
            moves: choice::source(&item).is_some(),
            path: item.path,
        });
        Ok(found.collect())
    }

    /// A digest of what some items would do to the base. What is written in place changes it too.
    pub(super) fn seal(&self, chosen: &[ChangedName]) -> Result<String, Error> {
        let mut digest = Sha256::new();
        for item in chosen {
            digest.update(format!("{item:?}\n"));
            if let What::File { object, .. } = item.what {
                let status = self.store.symlink_metadata(&object_path(object));
                let status = status.map_err(crate::overlay::store::lost)?;
                let facts = (status.len, status.mode, status.modified, status.changed);
                digest.update(format!("{facts:?}\n"));
            }
        }
        Ok(hex(&digest.finalize()))
    }

    /// Whether a path lies in something that changed as a whole.
    pub(crate) fn goes_with_another(&self, path: &[u8]) -> Result<bool, Error> {
        let all = self.with_tree(items)?;
        Ok(all.iter().any(|item| choice::covers(&item.path, path)))
    }

    /// Whether anything was changed at or below a path, or came from there.
    pub(crate) fn touches(&self, path: &[u8]) -> Result<bool, Error> {
        let all = self.with_tree(items)?;
        Ok(all.iter().any(|item| {
            choice::covers(path, &item.path)
                || choice::source(item).is_some_and(|from| choice::covers(path, from))
        }))
    }
}

/// The items that a commit of some paths is about.
pub(super) fn selected(tree: &Tree, paths: &[Vec<u8>]) -> Vec<ChangedName> {
    let all = items(tree);
    let chosen = choice::select(&all, paths);
    let items = all.into_iter();
    items.filter(|item| chosen.contains(&item.path)).collect()
}
