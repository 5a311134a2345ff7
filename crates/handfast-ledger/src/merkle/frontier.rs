//! The growing edge of a tree: all that is needed to append and to know the root.

use super::Hash;

/// The roots of the complete subtrees, largest first: one for every bit of the size.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Frontier {
    size: u64,
    peaks: Vec<Hash>,
}

impl Frontier {
    /// A tree without leaves.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The edge of a tree of this size, if there is one peak for every bit.
    #[must_use]
    pub fn from_peaks(size: u64, peaks: Vec<Hash>) -> Option<Self> {
        let fits = u64::from(size.count_ones()) == peaks.len() as u64;
        fits.then_some(Self { size, peaks })
    }

    /// How many leaves there are.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The roots of the complete subtrees, largest first.
    #[must_use]
    pub fn peaks(&self) -> &[Hash] {
        &self.peaks
    }

    /// Appends the hash of a leaf.
    pub fn append(&mut self, leaf: Hash) {
        let mut hash = leaf;
        let mut rest = self.size;
        while rest & 1 == 1 {
            let Some(left) = self.peaks.pop() else { break };
            hash = Hash::node(&left, &hash);
            rest >>= 1;
        }
        self.peaks.push(hash);
        self.size += 1;
    }

    /// The root.
    #[must_use]
    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev();
        let Some(last) = peaks.next() else {
            return Hash::of_nothing();
        };
        peaks.fold(*last, |right, left| Hash::node(left, &right))
    }
}
