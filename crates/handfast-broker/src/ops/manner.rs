//! How content is written, as a client asks for it.

use handfast::{Durability, WriteOptions};
use serde::Deserialize;

use crate::fault::Fault;

/// The bits of a mode, in octal.
pub(super) fn mode_bits(name: &str, text: &str) -> Result<u32, Fault> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o777 && text.len() <= 4)
        .ok_or_else(|| Fault::parameter(name, "permission bits in octal, up to 777"))
}

/// Options of a write; what is not said is as usual.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Manner<'a> {
    pub(super) file_mode: Option<&'a str>,
    pub(super) created_mode: Option<&'a str>,
    pub(super) durability: Option<&'a str>,
}

impl Manner<'_> {
    /// The options, with what is usual where nothing is said; nothing if nothing is said at all.
    pub(super) fn options(&self, usual: Durability) -> Result<Option<WriteOptions>, Fault> {
        let mut options = WriteOptions::new().durability(match self.durability {
            None => usual,
            Some("none") => Durability::None,
            Some("file") => Durability::File,
            Some("full") => Durability::Full,
            Some(_) => return Err(Fault::parameter("durability", "none, file or full")),
        });
        if let Some(text) = self.file_mode {
            options = options.mode(mode_bits("file_mode", text)?);
        }
        if let Some(text) = self.created_mode {
            options = options.created_mode(mode_bits("created_mode", text)?);
        }
        let said = self.file_mode.or(self.created_mode).or(self.durability);
        Ok(said.map(|_| options))
    }
}
