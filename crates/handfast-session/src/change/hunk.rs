//! Changed lines, in groups that can be committed one by one.

use sha2::{Digest, Sha256};
use similar::{Algorithm, DiffOp, DiffTag};

use super::distance;

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// What a line of a hunk is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tag {
    /// It stays.
    Context,
    /// It goes.
    Removed,
    /// It comes.
    Added,
}

impl Tag {
    /// How it is written in front of a line.
    #[must_use]
    pub const fn sign(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// A line, with the end that it has.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Line {
    /// What it is.
    pub tag: Tag,
    /// Its bytes. Only the last line of a file may lack an end.
    pub bytes: Vec<u8>,
}

/// Changed lines that lie together.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Hunk {
    /// A digest of the path, of both contents and of the lines that it is about: a hunk of something
    /// that changed since has another.
    pub id: String,
    /// The first line on the old side, counted from 0, and how many there are.
    pub old: (usize, usize),
    /// The same on the new side.
    pub new: (usize, usize),
    /// The lines.
    pub lines: Vec<Line>,
}

impl Hunk {
    /// The line with the ranges that stands above a hunk in a unified diff.
    #[must_use]
    pub fn header(&self) -> String {
        format!("@@ -{} +{} @@", range(self.old), range(self.new))
    }
}

fn range((start, count): (usize, usize)) -> String {
    match count {
        // An empty range has the number of the line before it.
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        _ => format!("{},{count}", start + 1),
    }
}

/// The lines of content, each with its end.
pub(super) fn lines_of(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

/// What a hunk's ID is made of besides its lines.
pub(super) struct Subject<'a> {
    pub(super) path: &'a [u8],
    pub(super) before: &'a str,
    pub(super) after: &'a str,
}

/// The hunks that make one content of the other.
pub(super) fn between(before: &[u8], after: &[u8], subject: &Subject<'_>) -> Vec<Hunk> {
    let (old, new) = (lines_of(before), lines_of(after));
    let ops = match distance::is_bounded(&old, &new) {
        true => similar::capture_diff_slices(Algorithm::Myers, &old, &new),
        false => distance::one_replacement(&old, &new),
    };
    let groups = similar::group_diff_ops(ops, CONTEXT);
    groups
        .iter()
        .filter(|group| group.iter().any(|op| op.tag() != DiffTag::Equal))
        .map(|group| hunk(group, &old, &new, subject))
        .collect()
}

fn hunk(group: &[DiffOp], old: &[&[u8]], new: &[&[u8]], subject: &Subject<'_>) -> Hunk {
    let mut lines = Vec::new();
    let mut push = |tag, slice: &[&[u8]]| {
        lines.extend(slice.iter().map(|bytes| Line {
            tag,
            bytes: bytes.to_vec(),
        }));
    };
    for op in group {
        match op.tag() {
            DiffTag::Equal => push(Tag::Context, &old[op.old_range()]),
            _ => {
                push(Tag::Removed, &old[op.old_range()]);
                push(Tag::Added, &new[op.new_range()]);
            }
        }
    }
    let span = |range: &dyn Fn(&DiffOp) -> std::ops::Range<usize>| {
        let start = group.first().map_or(0, |op| range(op).start);
        let end = group.last().map_or(0, |op| range(op).end);
        (start, end - start)
    };
    let (old, new) = (span(&|op| op.old_range()), span(&|op| op.new_range()));
    Hunk {
        id: id(subject, old, new),
        old,
        new,
        lines,
    }
}

fn id(subject: &Subject<'_>, old: (usize, usize), new: (usize, usize)) -> String {
    let mut digest = Sha256::new();
    for part in [
        subject.path,
        subject.before.as_bytes(),
        subject.after.as_bytes(),
    ] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    for number in [old.0, old.1, new.0, new.1] {
        digest.update((number as u64).to_le_bytes());
    }
    hex(&digest.finalize()[..10])
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The old content with some of its hunks applied.
pub(crate) fn apply(before: &[u8], hunks: &[&Hunk]) -> Vec<u8> {
    let old = lines_of(before);
    let mut made = Vec::new();
    let mut at = 0;
    for hunk in hunks {
        let kept = old[at..hunk.old.0].iter();
        made.extend(kept.flat_map(|line| line.iter().copied()));
        for line in hunk.lines.iter().filter(|line| line.tag != Tag::Removed) {
            made.extend_from_slice(&line.bytes);
        }
        at = hunk.old.0 + hunk.old.1;
    }
    made.extend(old[at..].iter().flat_map(|line| line.iter().copied()));
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: Subject<'_> = Subject {
        path: b"f",
        before: "a",
        after: "b",
    };

    #[test]
    fn hunks_hold_every_byte() {
        let many: Vec<u8> = (0..40)
            .flat_map(|n| format!("line {n}\n").into_bytes())
            .collect();
        let mut other = many.clone();
        other.splice(0..5, *b"LINE");
        other.extend_from_slice(b"no end");
        for (one, two) in [
            (&many[..], &other[..]),
            (b"", b"a\nb"),
            (b"a\nb", b""),
            (b"a", b"a\n"),
            (b"a\r\n\0\xff\n", b"a\n\0\xfe\n"),
        ] {
            let hunks = between(one, two, &SUBJECT);
            let all: Vec<&Hunk> = hunks.iter().collect();
            assert_eq!(apply(one, &all), two);
            assert_eq!(apply(one, &[]), one);
        }
        let hunks = between(&many, &other, &SUBJECT);
        assert_eq!(hunks.len(), 2);
        assert_ne!(hunks[0].id, hunks[1].id);
        let first = apply(&many, &[&hunks[0]]);
        assert!(first.starts_with(b"LINE") && first.ends_with(b"line 39\n"));
        assert_eq!(hunks[0].header(), "@@ -1,4 +1,4 @@");
    }
}
