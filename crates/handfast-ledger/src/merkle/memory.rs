//! All complete subtrees of a tree, in memory.

use super::{Hash, Subtrees};
use crate::error::Error;

/// A whole tree, 64 bytes a leaf.
#[derive(Clone, Debug, Default)]
pub struct MemoryTree {
    levels: Vec<Vec<Hash>>,
}

impl MemoryTree {
    /// A tree without leaves.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many leaves there are.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.levels.first().map_or(0, |leaves| leaves.len() as u64)
    }

    /// Appends the hash of a leaf.
    pub fn append(&mut self, leaf: Hash) {
        let mut hash = leaf;
        let mut level = 0;
        loop {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            let row = &mut self.levels[level];
            row.push(hash);
            if row.len() % 2 == 1 {
                return;
            }
            hash = Hash::node(&row[row.len() - 2], &row[row.len() - 1]);
            level += 1;
        }
    }

    /// The hashes of one level, as far as their subtrees are complete.
    #[must_use]
    pub fn level(&self, level: usize) -> &[Hash] {
        self.levels.get(level).map_or(&[], Vec::as_slice)
    }
}

impl Subtrees for MemoryTree {
    fn subtree(&self, level: u32, index: u64) -> Result<Hash, Error> {
        let row = self.level(level as usize);
        usize::try_from(index)
            .ok()
            .and_then(|index| row.get(index))
            .copied()
            .ok_or_else(|| Error::invalid("the tree is not that large"))
    }
}
