//! What a log commits to: its origin, its size, its root.

use super::signed::SignedNote;
use super::signer::{SignError, Signer};
use crate::error::Error;
use crate::merkle::Hash;

/// The text of a checkpoint: three lines.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checkpoint {
    /// Which log.
    pub origin: String,
    /// How many entries.
    pub size: u64,
    /// The root over them.
    pub root: Hash,
}

impl Checkpoint {
    /// Reads the text of a checkpoint. Extension lines are not accepted: this log writes none.
    ///
    /// # Errors
    /// `Invalid` if it is anything else.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = |why: &str| Error::invalid(format!("not a checkpoint: {why}"));
        let mut lines = text.split('\n');
        let (Some(origin), Some(size), Some(root), Some(""), None) = (
            lines.next(),
            lines.next(),
            lines.next(),
            lines.next(),
            lines.next(),
        ) else {
            return Err(bad("it has three lines"));
        };
        let plain = size == "0" || !size.starts_with(['0', '+']);
        let number = size.parse().ok().filter(|_| plain);
        Ok(Self {
            origin: match origin {
                "" => return Err(bad("no origin")),
                origin => origin.to_owned(),
            },
            size: number.ok_or_else(|| bad("the size is not a number"))?,
            root: Hash::from_base64(root).ok_or_else(|| bad("the root is not a hash"))?,
        })
    }

    /// The three lines.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!(
            "{}\n{}\n{}\n",
            self.origin,
            self.size,
            self.root.to_base64()
        )
    }

    /// Signs it.
    ///
    /// # Errors
    /// What the signer says.
    pub fn sign(&self, signer: &dyn Signer) -> Result<SignedNote, SignError> {
        SignedNote::sign(self.to_text(), signer)
    }

    /// Reads a signed checkpoint; the signatures are not looked at.
    ///
    /// # Errors
    /// `Invalid` if it is not one.
    pub fn of_note(bytes: &[u8]) -> Result<(Self, SignedNote), Error> {
        let note = SignedNote::parse(bytes)?;
        Ok((Self::parse(&note.text)?, note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_one_form_is_read() {
        let checkpoint = Checkpoint {
            origin: "a/b".to_owned(),
            size: 10,
            root: Hash::of_nothing(),
        };
        let text = checkpoint.to_text();
        assert_eq!(Checkpoint::parse(&text).unwrap(), checkpoint);
        for bad in [
            text.replace("10", "010"),
            text.replace("10", "+10"),
            text.replace("10", "-1"),
            text.replace("10", "99999999999999999999"),
            text.replace("a/b", ""),
            format!("{text}more\n"),
            text.trim_end().to_owned(),
            String::new(),
        ] {
            assert!(Checkpoint::parse(&bad).is_err(), "{bad:?}");
        }
    }
}
