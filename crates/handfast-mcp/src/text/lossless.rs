//! Bytes as text that can be turned back.
//!
//! Bytes that are not UTF-8 become characters of a private plane, one each, and come back as they
//! were. A file that has such bytes and such characters is not taken. In a file that is UTF-8 no
//! character stands for a byte: all of them are what they are.

/// The first character that stands for a byte: U+10FE00 and up, one for every value.
const BASE: u32 = 0x10_FE00;

/// The content of a file as text.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Lossless {
    text: String,
    /// Some characters stand for bytes.
    has_bytes: bool,
}

impl Lossless {
    /// The content as text; `None` if characters would be confused with bytes.
    pub(crate) fn of(bytes: Vec<u8>) -> Option<Self> {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => {
                return Some(Self {
                    text,
                    has_bytes: false,
                });
            }
            Err(error) => error.into_bytes(),
        };
        let mut text = String::with_capacity(bytes.len() + 16);
        for chunk in bytes.utf8_chunks() {
            if has_private(chunk.valid()) {
                return None;
            }
            text.push_str(chunk.valid());
            text.extend(
                chunk
                    .invalid()
                    .iter()
                    .filter_map(|byte| char::from_u32(BASE + u32::from(*byte))),
            );
        }
        Some(Self {
            text,
            has_bytes: true,
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a passage can be put into it and stays what it is.
    pub(crate) fn takes(&self, passage: &str) -> bool {
        !(self.has_bytes && has_private(passage))
    }

    /// The bytes of a text that was made from this one.
    pub(crate) fn bytes_of(&self, text: &str) -> Vec<u8> {
        if !self.has_bytes {
            return text.as_bytes().to_vec();
        }
        let mut bytes = Vec::with_capacity(text.len());
        let mut buffer = [0; 4];
        for c in text.chars() {
            match byte_of(c) {
                Some(byte) => bytes.push(byte),
                None => bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes()),
            }
        }
        bytes
    }
}

fn has_private(text: &str) -> bool {
    text.chars().any(|c| byte_of(c).is_some())
}

fn byte_of(c: char) -> Option<u8> {
    u32::from(c)
        .checked_sub(BASE)
        .and_then(|byte| u8::try_from(byte).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_the_round_trip() {
        for bytes in [
            b"plain".to_vec(),
            b"caf\xe9\nna\xc3\xafve\xff".to_vec(),
            (0..=255).collect(),
            // Private characters in a file that is all text.
            "\u{10FE41}\u{10FEFF}".as_bytes().to_vec(),
        ] {
            let text = Lossless::of(bytes.clone()).unwrap();
            assert_eq!(text.bytes_of(text.as_str()), bytes);
        }
    }

    #[test]
    fn characters_of_the_private_plane_are_not_confused_with_bytes() {
        let mut bytes = "\u{10FE41}".as_bytes().to_vec();
        bytes.push(0xff);
        assert_eq!(Lossless::of(bytes), None);
        // Nor are those of a passage that is put in.
        assert!(!Lossless::of(b"\xff".to_vec()).unwrap().takes("\u{10FE41}"));
        assert!(Lossless::of(b"text".to_vec()).unwrap().takes("\u{10FE41}"));
    }
}
