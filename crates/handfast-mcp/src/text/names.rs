//! Names as text, and back.
//!
//! Bytes that are not UTF-8, and control characters, are written `\xHH`. So a name never begins a
//! line of its own in a listing, and an agent can give back what it was shown.

use std::borrow::Cow;

use handfast_session::VirtualPath;

/// A path in the session as text.
pub(crate) fn path(path: &VirtualPath) -> String {
    format!("/{}", shown(path.as_rel().as_bytes()))
}

/// A name as text.
pub(crate) fn shown(name: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(name)
        && !text.chars().any(char::is_control)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(name.len() + 8);
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    push_byte(&mut text, byte);
                }
            } else {
                text.push(c);
            }
        }
        for byte in chunk.invalid() {
            push_byte(&mut text, *byte);
        }
    }
    Cow::Owned(text)
}

fn push_byte(text: &mut String, byte: u8) {
    text.push_str(&format!("\\x{byte:02x}"));
}

/// The bytes that a text with `\xHH` stands for; `None` if there is nothing to put back.
pub(crate) fn meant(text: &str) -> Option<Vec<u8>> {
    if !text.contains("\\x") {
        return None;
    }
    let bytes = text.as_bytes();
    let mut found = Vec::with_capacity(bytes.len());
    let mut any = false;
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes
            .get(at..at + 4)
            .filter(|four| four.starts_with(b"\\x"))
            .and_then(|four| std::str::from_utf8(&four[2..]).ok())
            .filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
            .filter(|byte| !matches!(byte, 0 | b'/'));
        match code {
            Some(byte) => {
                found.push(byte);
                any = true;
                at += 4;
            }
            None => {
                found.push(bytes[at]);
                at += 1;
            }
        }
    }
    any.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_given_back() {
        for name in [
            b"caf\xe9.txt".as_slice(),
            b"a\n[FILE] b",
            b"\xff\xfe",
            "x\u{85}y".as_bytes(),
        ] {
            let text = shown(name);
            assert!(!text.chars().any(char::is_control), "{text}");
            assert_eq!(meant(&text).as_deref(), Some(name), "{text}");
        }
        assert_eq!(shown("naïve".as_bytes()), "naïve");
        assert_eq!(meant("plain"), None);
    }

    #[test]
    fn nothing_becomes_a_separator() {
        assert_eq!(meant("a\\x2fb\\x00c"), None);
        assert_eq!(meant("\\x+1\\xg0\\x"), None);
    }
}
