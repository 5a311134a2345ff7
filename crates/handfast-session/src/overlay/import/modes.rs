//! Modes that programs gave to what they made, where an import had to change them to look at it.
//!
//! A mode is noted before it is changed. If the import is killed, the next one goes by the note.

use std::collections::BTreeMap;

use handfast::{Dir, Durability, ErrorKind, Metadata, RelPath, Root, WriteOptions};

use super::Left;
use crate::error::Error;

/// Nobody has noted more than this.
const MAX_NOTES: u64 = 256 << 20;

pub(in crate::overlay) struct Modes {
    home: Root,
    at: RelPath,
    /// By the number of the object: nobody but us changes them, so a number stays with its object.
    noted: BTreeMap<u64, u32>,
}

impl Modes {
    /// What earlier imports have noted.
    pub(in crate::overlay) fn open(home: &Root, at: RelPath) -> Result<Self, Error> {
        let text = match home.read_to_limit(&at, MAX_NOTES) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            home: home.clone(),
            at,
            noted: parse(&String::from_utf8_lossy(&text)),
        })
    }

    /// The mode that a program gave to an object of the upper layer. The object is made one of which we have
    /// the permissions `needed`.
    pub(super) fn open_up(
        &mut self,
        upper: &Dir,
        at: &RelPath,
        status: &Metadata,
        needed: u32,
    ) -> Result<u32, Left> {
        let number = status.identity.inode;
        let found = status.mode & 0o777;
        let mode = self.noted.get(&number).copied().unwrap_or(found);
        if found & needed != needed {
            if self.noted.insert(number, mode).is_none() {
                let options = WriteOptions::new().mode(0o600).durability(Durability::File);
                self.home
                    .append_with(&self.at, note(number, mode).as_bytes(), options)?;
            }
            upper.chmod(at, found | needed)?;
        }
        Ok(mode)
    }
}

/// A line of its own, also after one that was cut off.
fn note(number: u64, mode: u32) -> String {
    format!("\n{number} {mode:o} .\n")
}

/// What was cut off was followed by no change.
fn parse(text: &str) -> BTreeMap<u64, u32> {
    let one = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let &[number, mode, "."] = fields.as_slice() else {
            return None;
        };
        Some((number.parse().ok()?, u32::from_str_radix(mode, 8).ok()?))
    };
    text.lines().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_that_was_cut_off_counts_for_nothing() {
        let whole = note(12, 0o700);
        for cut in 0..whole.len() - 1 {
            let text = format!("{}{}{}", note(11, 0), &whole[..cut], note(13, 0o40));
            assert_eq!(parse(&text), BTreeMap::from([(11, 0), (13, 0o40)]), "{cut}");
        }
        assert_eq!(parse(&whole), BTreeMap::from([(12, 0o700)]));
    }
}
