//! What a merge is about to do, written down before the first step.
//!
//! ```text
//! handfast-merge 1 TARGET
//! add NEW - LENGTH PATH
//! exchange NEW OLD LENGTH PATH
//! mode NEW OCTAL LENGTH PATH
//! end COUNT
//! ```
//!
//! Objects are `INODE:BIRTH` in hexadecimal. Paths are bytes, so their lengths are stored.

use handfast::RelPath;

use super::action::{Action, Deed, MergedObject};

/// The first word, with the version of the format.
const MAGIC: &str = "handfast-merge 1";

/// The steps of a merge into one directory.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Journal {
    /// The directory that is merged into.
    pub(crate) target: MergedObject,
    pub(crate) actions: Vec<Action>,
}

impl Journal {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{MAGIC} {}\n", written(&self.target)).into_bytes();
        for action in &self.actions {
            let (word, more) = match action.deed {
                Deed::Add => ("add", "-".to_owned()),
                Deed::Exchange(old) => ("exchange", written(&old)),
                Deed::Mode(mode) => ("mode", format!("{mode:o}")),
            };
            let path = action.path.as_bytes();
            let head = format!("{word} {} {more} {} ", written(&action.new), path.len());
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(path);
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(format!("end {}\n", self.actions.len()).as_bytes());
        bytes
    }

    /// Reads a journal that is whole; anything else is `None`.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let first = until(&mut rest, b'\n')?;
        let target = read(first.strip_prefix(MAGIC)?.strip_prefix(' ')?)?;
        let mut actions = Vec::new();
        loop {
            let word = until(&mut rest, b' ')?;
            if word == "end" {
                let count: usize = until(&mut rest, b'\n')?.parse().ok()?;
                let is_whole = count == actions.len() && rest.is_empty();
                return is_whole.then_some(Self { target, actions });
            }
            let new = read(until(&mut rest, b' ')?)?;
            let more = until(&mut rest, b' ')?;
            let deed = match word {
                "add" if more == "-" => Deed::Add,
                "exchange" => Deed::Exchange(read(more)?),
                "mode" => {
                    let mode = u32::from_str_radix(more, 8).ok()?;
                    Deed::Mode(mode & 0o777)
                }
                _ => return None,
            };
            let len: usize = until(&mut rest, b' ')?.parse().ok()?;
            let (path, after) = rest.split_at_checked(len)?;
            rest = after.strip_prefix(b"\n")?;
            let path = RelPath::parse(path).ok().filter(|path| !path.is_root())?;
            actions.push(Action { deed, path, new });
        }
    }
}

fn written(object: &MergedObject) -> String {
    format!("{:x}:{:x}", object.inode, object.born)
}

fn read(text: &str) -> Option<MergedObject> {
    let (inode, born) = text.split_once(':')?;
    Some(MergedObject {
        inode: u64::from_str_radix(inode, 16).ok()?,
        born: u128::from_str_radix(born, 16).ok()?.cast_signed(),
    })
}

/// The text before a byte; what is behind it is left.
fn until<'a>(rest: &mut &'a [u8], end: u8) -> Option<&'a str> {
    let at = rest.iter().position(|byte| *byte == end)?;
    let text = std::str::from_utf8(&rest[..at]).ok()?;
    *rest = &rest[at + 1..];
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journals_survive_the_round_trip_and_are_whole_or_nothing() {
        let object = |inode, born| MergedObject { inode, born };
        let action = |deed, path: &[u8]| Action {
            deed,
            path: RelPath::parse(path).unwrap(),
            new: object(7, 1_700_000_000_000_000_000),
        };
        let journal = Journal {
            target: object(2, 0),
            actions: vec![
                action(Deed::Add, b"a b/c\nend 1\n"),
                action(Deed::Exchange(object(9, -5)), b"d/\xff"),
                action(Deed::Mode(0o555), b"a b"),
            ],
        };
        let bytes = journal.to_bytes();
        assert_eq!(Journal::parse(&bytes), Some(journal));
        for len in 0..bytes.len() {
            assert_eq!(Journal::parse(&bytes[..len]), None, "{len}");
        }
        for bad in [
            &b"handfast-merge 1 2:0\nadd 7:1 - 4 ../x\nend 1\n"[..],
            b"handfast-merge 1 2:0\nadd 7:1 - 2 /x\nend 1\n",
            b"handfast-merge 1 2:0\nadd 7:1 - 1 .\nend 1\n",
            b"handfast-merge 1 2:0\nadd 7:1 - 99999999999999999999 x\nend 1\n",
            b"handfast-merge 1 2:0\nend 0\nmore",
        ] {
            assert_eq!(Journal::parse(bad), None);
        }
    }
}
