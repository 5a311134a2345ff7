//! How far two texts are apart, before they are compared line by line.
//!
//! The comparison takes time in proportion to the length times the distance. The program that makes the change
//! chooses both: a file of a megabyte with little in common with the old one would stop the review for
//! hours. Long texts that are far apart are shown as one replacement: everything between the lines
//! that both begin and end with. That is decided by the texts alone, so that hunks keep their IDs.

use std::collections::HashMap;

use similar::DiffOp;

/// Texts with so many lines together, beside what they begin and end with, are always compared.
const SHORT: usize = 8_000;
/// Longer ones are compared if so many removed and added lines make one of the other.
const MAX_DISTANCE: usize = 4_000;

/// Whether comparing two texts takes bounded work.
pub(super) fn is_bounded(old: &[&[u8]], new: &[&[u8]]) -> bool {
    let (start, end) = common(old, new);
    let (old, new) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    old.len() + new.len() <= SHORT || is_near(&numbered(old, new))
}

/// Everything between the common beginning and the common end, replaced as a whole.
pub(super) fn one_replacement(old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
    let (start, end) = common(old, new);
    let (old_len, new_len) = (old.len() - start - end, new.len() - start - end);
    let equal = |old_index, new_index, len| {
        (len > 0).then_some(DiffOp::Equal {
            old_index,
            new_index,
            len,
        })
    };
    let replaced = DiffOp::Replace {
        old_index: start,
        old_len,
        new_index: start,
        new_len,
    };
    let before = equal(0, 0, start);
    let after = equal(start + old_len, start + new_len, end);
    before.into_iter().chain([replaced]).chain(after).collect()
}

/// How many lines both begin with, and how many other ones both end with.
fn common(old: &[&[u8]], new: &[&[u8]]) -> (usize, usize) {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..], &new[start..]);
    let ends = old.iter().rev().zip(new.iter().rev());
    (start, ends.take_while(|(a, b)| a == b).count())
}

/// Lines as numbers, which are compared at once.
fn numbered(old: &[&[u8]], new: &[&[u8]]) -> (Vec<usize>, Vec<usize>) {
    let mut known: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut number = |line: &&[u8]| {
        let next = known.len();
        *known.entry(line.to_vec()).or_insert(next)
    };
    let old = old.iter().map(&mut number).collect();
    let new = new.iter().map(&mut number).collect();
    (old, new)
}

/// Whether one becomes the other by at most [`MAX_DISTANCE`] removed and added lines: for each number
/// of them, how far each diagonal gets (Myers 1986).
fn is_near((old, new): &(Vec<usize>, Vec<usize>)) -> bool {
    if old.len().abs_diff(new.len()) > MAX_DISTANCE {
        return false;
    }
    // Diagonals from -MAX_DISTANCE - 1 to MAX_DISTANCE + 1.
    let middle = MAX_DISTANCE + 1;
    let mut reached = vec![0_usize; 2 * middle + 1];
    for distance in 0..=MAX_DISTANCE {
        for diagonal in (middle - distance..=middle + distance).step_by(2) {
            let is_down = diagonal == middle - distance
                || (diagonal != middle + distance && reached[diagonal - 1] < reached[diagonal + 1]);
            let mut at = match (distance, is_down) {
                (0, _) => 0,
                (_, true) => reached[diagonal + 1],
                (_, false) => reached[diagonal - 1] + 1,
            };
            // The place in the new text is the one in the old text less the diagonal.
            while at < old.len()
                && (at + middle)
                    .checked_sub(diagonal)
                    .is_some_and(|other| new.get(other) == Some(&old[at]))
            {
                at += 1;
            }
            reached[diagonal] = at;
            if at >= old.len() && at + middle >= new.len() + diagonal {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of short lines that look alike, the same for the same seed.
    fn noise(lines: usize, mut seed: u64) -> Vec<Vec<u8>> {
        let mut letter = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b'a' + u8::try_from(seed >> 61).unwrap()
        };
        (0..lines).map(|_| vec![letter(), b'\n']).collect()
    }

    fn slices(lines: &[Vec<u8>]) -> Vec<&[u8]> {
        lines.iter().map(Vec::as_slice).collect()
    }

    #[test]
    fn long_texts_that_are_far_apart_are_not_compared_line_by_line() {
        let (old, new) = (noise(500_000, 1), noise(500_000, 2));
        let (old, new) = (slices(&old), slices(&new));
        assert!(!is_bounded(&old, &new));
        let ops = one_replacement(&old, &new);
        let all: usize = ops.iter().map(|op| op.old_range().len()).sum();
        assert_eq!(all, old.len());
        let all: usize = ops.iter().map(|op| op.new_range().len()).sum();
        assert_eq!(all, new.len());
    }

    #[test]
    fn long_texts_with_few_changes_and_short_ones_are_compared() {
        let old = noise(200_000, 3);
        let mut new = old.clone();
        for at in (0..190_000).step_by(1_000) {
            new[at] = b"changed\n".to_vec();
            new.insert(at + 500, b"inserted\n".to_vec());
            new.remove(at + 900);
        }
        assert!(is_bounded(&slices(&old), &slices(&new)));
        assert!(is_bounded(&slices(&new), &slices(&old)));
        let (one, other) = (noise(4_000, 4), noise(4_000, 5));
        assert!(is_bounded(&slices(&one), &slices(&other)));
        assert!(is_bounded(&[], &slices(&one)));
    }
}
