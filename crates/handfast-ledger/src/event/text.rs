//! 64-bit numbers as strings, and bytes as text or base64.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A 64-bit number, as a string of decimal digits.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub struct U64(pub u64);

impl Serialize for U64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut digits = [0; 20];
        let digits = decimal(self.0, &mut digits);
        serializer.serialize_str(str::from_utf8(digits).unwrap_or("0"))
    }
}

/// Decimal digits without an allocation: there are a dozen in every event.
pub(super) fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    while number >= 100 {
        at -= 2;
        let pair = (number % 100) as u8;
        (digits[at], digits[at + 1]) = (b'0' + pair / 10, b'0' + pair % 10);
        number /= 100;
    }
    if number >= 10 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    at -= 1;
    digits[at] = b'0' + number as u8;
    &digits[at..]
}

impl<'de> Deserialize<'de> for U64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let plain = text == "0" || !text.starts_with(['0', '+']);
        text.parse()
            .ok()
            .filter(|_| plain)
            .map(Self)
            .ok_or_else(|| D::Error::custom("not a decimal number of 64 bits"))
    }
}

/// Bytes that become `x` or `x_b64`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Bytes<'a> {
    /// The bytes as text, where they are text.
    pub text: Option<Cow<'a, str>>,
    /// The bytes in base64, where they are not.
    pub base64: Option<Cow<'a, str>>,
}

impl<'a> Bytes<'a> {
    /// Chooses the form.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        match str::from_utf8(bytes) {
            Ok(text) if !text.contains(char::is_control) => Self {
                text: Some(Cow::Borrowed(text)),
                base64: None,
            },
            _ => Self {
                text: None,
                base64: Some(Cow::Owned(STANDARD.encode(bytes))),
            },
        }
    }
}

/// The bytes of a pair of fields, if it is a pair that [`Bytes::new`] makes.
pub(crate) fn bytes_of(
    text: Option<&Cow<'_, str>>,
    base64: Option<&Cow<'_, str>>,
) -> Option<Vec<u8>> {
    match (text, base64) {
        (Some(text), None) => Some(text.as_bytes().to_vec()),
        (None, Some(base64)) => STANDARD.decode(base64.as_bytes()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_all_their_bits_and_have_one_form() {
        for number in [0, 7, 10, 99, 100, 101, 999, 1000, 1 << 53, u64::MAX] {
            let json = serde_json::to_string(&U64(number)).unwrap();
            assert_eq!(json, format!("\"{number}\""));
            assert_eq!(serde_json::from_str::<U64>(&json).unwrap(), U64(number));
        }
        for bad in [
            "1",
            "\"01\"",
            "\"+1\"",
            "\"-1\"",
            "\"18446744073709551616\"",
            "\"\"",
        ] {
            assert!(serde_json::from_str::<U64>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bytes_come_back_whatever_they_are() {
        let all: Vec<u8> = (0..=255).collect();
        for bytes in [
            &b"plain"[..],
            b"",
            "\u{202e}caf\u{e9}".as_bytes(),
            b"a\nb",
            b"\x1b[2J",
            b"\xff",
            &all,
        ] {
            let field = Bytes::new(bytes);
            let back = bytes_of(field.text.as_ref(), field.base64.as_ref());
            assert_eq!(back.as_deref(), Some(bytes));
            assert!(
                field
                    .text
                    .is_none_or(|text| !text.contains(char::is_control))
            );
        }
    }
}
