//! The order of names that `list_directory_with_sizes` promises: as people sort, not as bytes.
//!
//! Letters first by themselves, then by accents, then small before capital; punctuation before
//! digits before letters. It follows the root collation for ASCII and for letters with accents;
//! other scripts are ordered by their code points.

use std::cmp::Ordering;

use unicode_normalization::UnicodeNormalization;

/// ASCII punctuation in the order of the root collation.
const PUNCTUATION: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// Compares two names.
pub(crate) fn compare(one: &str, other: &str) -> Ordering {
    let (first, second) = (Key::of(one), Key::of(other));
    first
        .primary
        .cmp(&second.primary)
        .then_with(|| first.accents.cmp(&second.accents))
        .then_with(|| first.capitals.cmp(&second.capitals))
}

struct Key {
    primary: Vec<(u8, u32)>,
    accents: Vec<(usize, u32)>,
    capitals: Vec<bool>,
}

impl Key {
    fn of(name: &str) -> Self {
        let mut key = Self {
            primary: Vec::new(),
            accents: Vec::new(),
            capitals: Vec::new(),
        };
        for c in name.nfd() {
            if unicode_normalization::char::is_combining_mark(c) {
                key.accents.push((key.primary.len(), u32::from(c)));
                continue;
            }
            let weight = match c {
                c if c.is_control() => continue,
                c if c.is_whitespace() => (0, u32::from(c)),
                c if c.is_ascii_punctuation() => (1, PUNCTUATION.find(c).map_or(0, |at| at as u32)),
                c if c.is_ascii_digit() => (2, u32::from(c)),
                c => (3, c.to_lowercase().next().map_or(u32::from(c), u32::from)),
            };
            key.primary.push(weight);
            key.capitals.push(c.is_uppercase());
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn names_stand_as_people_sort_them() {
        let sorted = [
            "_a", "-a", ".a", "10", "9", "a", "A", "á", "ab", "aB", "Ab", "B", "b10", "b9", "C",
            "ß", "Ω",
        ];
        let mut names = sorted;
        names.reverse();
        names.sort_by(|one, other| compare(one, other));
        assert_eq!(names, sorted);
    }
}
