//! Bytes as text that can be turned back.
//!
//! Bytes that are not UTF-8 become characters of a private plane, one each, and come back as they
//! were. A file that holds such characters itself is not taken.

/// The first character that stands for a byte: U+10FE00 and up, one for every value.
const BASE: u32 = 0x10_FE00;

/// The content as text; `None` if it holds the characters that stand for bytes.
pub(crate) fn to_text(bytes: Vec<u8>) -> Option<String> {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Some(text),
        Err(error) => error.into_bytes(),
    };
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        if chunk.valid().chars().any(|c| byte_of(c).is_some()) {
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
    Some(text)
}

/// The bytes that a text stands for.
pub(crate) fn to_bytes(text: &str) -> Vec<u8> {
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
        ] {
            let text = to_text(bytes.clone()).unwrap();
            assert_eq!(to_bytes(&text), bytes);
        }
    }

    #[test]
    fn characters_of_the_private_plane_are_not_confused_with_bytes() {
        let mut bytes = "\u{10FE41}".as_bytes().to_vec();
        bytes.push(0xff);
        assert_eq!(to_text(bytes), None);
    }
}
