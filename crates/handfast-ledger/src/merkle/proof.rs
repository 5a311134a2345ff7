//! Proofs that an entry is in a tree, and that one tree continues another.

use super::Hash;
use crate::error::Error;

/// Where hashes of complete subtrees come from.
pub trait Subtrees {
    /// The root of the `index`-th subtree of `2^level` leaves.
    ///
    /// # Errors
    /// If it is not complete, or cannot be read.
    fn subtree(&self, level: u32, index: u64) -> Result<Hash, Error>;
}

/// The largest power of two below `size`, which must be at least 2.
fn split(size: u64) -> u64 {
    1 << (63 - (size - 1).leading_zeros())
}

/// The root of the leaves from `low` to before `high`; `low` must be where a split falls.
fn range(tree: &impl Subtrees, low: u64, high: u64) -> Result<Hash, Error> {
    let size = high - low;
    if size.is_power_of_two() {
        let level = size.trailing_zeros();
        return tree.subtree(level, low >> level);
    }
    let middle = low + split(size);
    let (left, right) = (range(tree, low, middle)?, range(tree, middle, high)?);
    Ok(Hash::node(&left, &right))
}

/// The root of the first `size` leaves.
///
/// # Errors
/// If the tree is smaller.
pub fn root(tree: &impl Subtrees, size: u64) -> Result<Hash, Error> {
    if size == 0 {
        return Ok(Hash::of_nothing());
    }
    range(tree, 0, size)
}

/// The proof that leaf `index` is in the tree of `size` leaves: siblings from the leaf upwards.
///
/// # Errors
/// `Invalid` if the leaf is not in that tree; what the tree says if it is smaller.
pub fn inclusion(tree: &impl Subtrees, index: u64, size: u64) -> Result<Vec<Hash>, Error> {
    if index >= size {
        return Err(Error::invalid(format!(
            "event {index} is not among the first {size}"
        )));
    }
    let (mut low, mut high) = (0, size);
    let mut path = Vec::new();
    while high - low > 1 {
        let middle = low + split(high - low);
        if index < middle {
            path.push(range(tree, middle, high)?);
            high = middle;
        } else {
            path.push(range(tree, low, middle)?);
            low = middle;
        }
    }
    path.reverse();
    Ok(path)
}

/// Whether a proof shows that this leaf is at this index of the tree with this root.
#[must_use]
pub fn verify_inclusion(leaf: Hash, index: u64, size: u64, path: &[Hash], root: Hash) -> bool {
    if index >= size {
        return false;
    }
    // `position` and `last` walk up together; where they meet, the right edge has been reached.
    let (mut position, mut last, mut hash) = (index, size - 1, leaf);
    for sibling in path {
        if last == 0 {
            return false;
        }
        if position & 1 == 1 || position == last {
            hash = Hash::node(sibling, &hash);
            while position & 1 == 0 && position != 0 {
                position >>= 1;
                last >>= 1;
            }
        } else {
            hash = Hash::node(&hash, sibling);
        }
        position >>= 1;
        last >>= 1;
    }
    last == 0 && hash == root
}

/// The proof that the tree of `old` leaves is the beginning of the tree of `new` leaves.
///
/// # Errors
/// `Invalid` unless `0 < old <= new`; what the tree says if it is smaller.
pub fn consistency(tree: &impl Subtrees, old: u64, new: u64) -> Result<Vec<Hash>, Error> {
    if old == 0 || old > new {
        return Err(Error::invalid(format!(
            "{old} events are not the beginning of {new}"
        )));
    }
    let (mut low, mut high) = (0, new);
    let mut path = Vec::new();
    // Whether the old tree is a whole subtree of which the other side knows the root already.
    let mut known = true;
    while old != high {
        let middle = low + split(high - low);
        if old <= middle {
            path.push(range(tree, middle, high)?);
            high = middle;
        } else {
            path.push(range(tree, low, middle)?);
            low = middle;
            known = false;
        }
    }
    if !known {
        path.push(range(tree, low, high)?);
    }
    path.reverse();
    Ok(path)
}

/// Whether a proof shows that the tree with the old root is the beginning of the new one.
#[must_use]
pub fn verify_consistency(
    old: u64,
    old_root: Hash,
    new: u64,
    new_root: Hash,
    path: &[Hash],
) -> bool {
    if old == 0 || old > new {
        return false;
    }
    if old == new {
        return path.is_empty() && old_root == new_root;
    }
    let mut path = path.iter();
    // A complete old tree is its own first hash.
    let first = if old.is_power_of_two() {
        Some(&old_root)
    } else {
        path.next()
    };
    let Some(first) = first else { return false };
    let (mut position, mut last) = (old - 1, new - 1);
    while position & 1 == 1 {
        position >>= 1;
        last >>= 1;
    }
    let (mut as_old, mut as_new) = (*first, *first);
    for sibling in path {
        if last == 0 {
            return false;
        }
        if position & 1 == 1 || position == last {
            as_old = Hash::node(sibling, &as_old);
            as_new = Hash::node(sibling, &as_new);
            while position & 1 == 0 && position != 0 {
                position >>= 1;
                last >>= 1;
            }
        } else {
            as_new = Hash::node(&as_new, sibling);
        }
        position >>= 1;
        last >>= 1;
    }
    last == 0 && as_old == old_root && as_new == new_root
}

#[cfg(test)]
mod tests {
    use super::super::{Frontier, MemoryTree};
    use super::*;

    /// The definition of RFC 6962, word for word, as an oracle.
    fn slow(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => Hash::of_nothing(),
            [leaf] => *leaf,
            _ => {
                let middle = usize::try_from(split(leaves.len() as u64)).unwrap();
                Hash::node(&slow(&leaves[..middle]), &slow(&leaves[middle..]))
            }
        }
    }

    fn leaves(count: u64) -> Vec<Hash> {
        (0..count)
            .map(|number| Hash::leaf(&number.to_be_bytes()))
            .collect()
    }

    fn tree(leaves: &[Hash]) -> MemoryTree {
        let mut tree = MemoryTree::new();
        for leaf in leaves {
            tree.append(*leaf);
        }
        tree
    }

    #[test]
    fn known_hashes() {
        let hex = |hash: Hash| -> String { hash.0.iter().map(|b| format!("{b:02x}")).collect() };
        assert_eq!(
            hex(Hash::of_nothing()),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(
            hex(Hash::leaf(b"")),
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
        );
    }

    #[test]
    fn frontier_memory_and_definition_agree() {
        let all = leaves(130);
        let mut frontier = Frontier::new();
        let memory = tree(&all);
        for size in 0..=all.len() {
            let expected = slow(&all[..size]);
            assert_eq!(frontier.root(), expected, "{size}");
            assert_eq!(root(&memory, size as u64).unwrap(), expected, "{size}");
            if let Some(leaf) = all.get(size) {
                frontier.append(*leaf);
            }
        }
    }

    #[test]
    fn every_inclusion_proof_holds_and_every_change_breaks_it() {
        let all = leaves(70);
        let memory = tree(&all);
        for size in 1..=70 {
            let root = root(&memory, size).unwrap();
            for index in 0..size {
                let path = inclusion(&memory, index, size).unwrap();
                let leaf = all[usize::try_from(index).unwrap()];
                assert!(verify_inclusion(leaf, index, size, &path, root));
                assert!(!verify_inclusion(
                    Hash::leaf(b"x"),
                    index,
                    size,
                    &path,
                    root
                ));
                assert!(!verify_inclusion(leaf, index + 1, size, &path, root));
                if size > 1 {
                    assert!(!verify_inclusion(leaf, index, size, &path[1..], root));
                }
                let longer = [&path[..], &[root]].concat();
                assert!(!verify_inclusion(leaf, index, size, &longer, root));
                for position in 0..path.len() {
                    let mut broken = path.clone();
                    broken[position].0[7] ^= 1;
                    assert!(!verify_inclusion(leaf, index, size, &broken, root));
                }
            }
        }
        assert!(inclusion(&memory, 5, 5).is_err());
        assert!(inclusion(&memory, 0, 71).is_err());
    }

    #[test]
    fn every_consistency_proof_holds_and_every_change_breaks_it() {
        let all = leaves(70);
        let memory = tree(&all);
        for new in 1..=70 {
            let new_root = root(&memory, new).unwrap();
            for old in 1..=new {
                let old_root = root(&memory, old).unwrap();
                let path = consistency(&memory, old, new).unwrap();
                assert!(verify_consistency(old, old_root, new, new_root, &path));
                let other = Hash::leaf(b"other");
                assert!(!verify_consistency(old, other, new, new_root, &path));
                assert!(!verify_consistency(old, old_root, new, other, &path));
                for position in 0..path.len() {
                    let mut broken = path.clone();
                    broken[position].0[7] ^= 1;
                    assert!(!verify_consistency(old, old_root, new, new_root, &broken));
                }
                let longer = [&path[..], &[other]].concat();
                assert!(!verify_consistency(old, old_root, new, new_root, &longer));
            }
        }
        assert!(consistency(&memory, 0, 5).is_err());
        assert!(consistency(&memory, 6, 5).is_err());
    }
}
