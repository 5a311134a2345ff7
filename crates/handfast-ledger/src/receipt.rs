//! A receipt: the proof that one event is in a log, in the form `c2sp.org/tlog-proof@v1`.
//!
//! The event travels in the `extra` line. That line is not authenticated by the format; it need
//! not be, since the event is hashed and must lead to the signed root.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::Error;
use crate::merkle::{Hash, verify_inclusion};
use crate::note::{Checkpoint, SignedNote, VerifierKey};

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";

/// One event and the way from it to a signed root.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Proof {
    /// The event, byte for byte.
    pub event: Vec<u8>,
    /// Its place in the log.
    pub index: u64,
    /// Siblings from the leaf upwards.
    pub path: Vec<Hash>,
    /// The checkpoint it leads to.
    pub checkpoint: SignedNote,
}

impl Proof {
    /// The text of the receipt.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "{FIRST_LINE}\nextra {}\nindex {}\n",
            STANDARD.encode(&self.event),
            self.index
        );
        for hash in &self.path {
            text.push_str(&hash.to_base64());
            text.push('\n');
        }
        text.push('\n');
        text.push_str(&self.checkpoint.to_text());
        text
    }

    /// Reads a receipt. An event that travels beside it may be given; otherwise it is in `extra`.
    ///
    /// # Errors
    /// `Invalid` if it is none, or there is no event.
    pub fn parse(text: &str, beside: Option<&[u8]>) -> Result<Self, Error> {
        let bad = |why: &str| Error::invalid(format!("not a receipt: {why}"));
        let (head, checkpoint) = text
            .split_once("\n\n")
            .ok_or_else(|| bad("no blank line"))?;
        let mut lines = head.split('\n').peekable();
        if lines.next() != Some(FIRST_LINE) {
            return Err(bad("the first line is another"));
        }
        let extra = lines.next_if(|line| line.starts_with("extra "));
        let event = match (beside, extra) {
            (Some(event), _) => event.to_vec(),
            (None, Some(line)) => STANDARD
                .decode(&line["extra ".len()..])
                .map_err(|_| bad("the event is not base64"))?,
            (None, None) => return Err(bad("the event is not in it; it has to be given")),
        };
        let index = lines
            .next()
            .and_then(|line| line.strip_prefix("index "))
            .filter(|digits| *digits == "0" || !digits.starts_with(['0', '+']))
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| bad("no index"))?;
        let path: Vec<_> = lines
            .map(|line| Hash::from_base64(line).ok_or_else(|| bad("a line is no hash")))
            .collect::<Result<_, _>>()?;
        if path.len() > 63 {
            return Err(bad("too many hashes"));
        }
        Ok(Self {
            event,
            index,
            path,
            checkpoint: SignedNote::parse(checkpoint.as_bytes())?,
        })
    }

    /// Checks signature and path. The checkpoint and the key that signed it.
    ///
    /// # Errors
    /// `Invalid` if no given key signed the checkpoint, or the event does not lead to its root.
    pub fn verify<'k>(
        &self,
        keys: &'k [VerifierKey],
    ) -> Result<(Checkpoint, &'k VerifierKey), Error> {
        let key = self.checkpoint.verify(keys)?;
        let checkpoint = Checkpoint::parse(&self.checkpoint.text)?;
        if checkpoint.origin != key.name() {
            return Err(Error::invalid("the key is of another log"));
        }
        let holds = verify_inclusion(
            Hash::leaf(&self.event),
            self.index,
            checkpoint.size,
            &self.path,
            checkpoint.root,
        );
        if !holds {
            return Err(Error::invalid(
                "the event does not lead to the root of the checkpoint",
            ));
        }
        Ok((checkpoint, key))
    }
}
