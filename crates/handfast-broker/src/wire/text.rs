//! Numbers that do not fit a JSON number everywhere, and names that are no text.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A 64-bit number: a string on the wire, since many readers keep 53 bits only. A plain number is
/// understood too.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Ord, PartialOrd)]
pub(crate) struct Big(pub(crate) u64);

impl Serialize for Big {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Big {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Big;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, as a string")
            }

            fn visit_u64<E>(self, number: u64) -> Result<Big, E> {
                Ok(Big(number))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Big, E> {
                let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                let number = plain.then(|| text.parse().ok()).flatten();
                number.map(Big).ok_or_else(|| E::custom("not a number"))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// A path or name: text under its key, or base64 under the key with `_b64`; never both.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct PathField {
    pub(crate) text: Option<String>,
    pub(crate) base64: Option<String>,
}

/// How bytes stand in a message.
pub(crate) fn path_field(bytes: &[u8]) -> PathField {
    match std::str::from_utf8(bytes) {
        Ok(text) => PathField {
            text: Some(text.to_owned()),
            base64: None,
        },
        Err(_) => PathField {
            text: None,
            base64: Some(STANDARD.encode(bytes)),
        },
    }
}

impl PathField {
    /// The bytes.
    pub(crate) fn bytes(
        text: Option<String>,
        base64: Option<String>,
    ) -> Result<Vec<u8>, &'static str> {
        match (text, base64) {
            (Some(text), None) => Ok(text.into_bytes()),
            (None, Some(base64)) => STANDARD.decode(base64).map_err(|_| "not base64"),
            (None, None) => Err("it is missing"),
            (Some(_), Some(_)) => Err("it stands there twice"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_survive() {
        let text = serde_json::to_string(&Big(u64::MAX)).unwrap();
        assert_eq!(text, "\"18446744073709551615\"");
        assert_eq!(serde_json::from_str::<Big>(&text).unwrap(), Big(u64::MAX));
        assert_eq!(serde_json::from_str::<Big>("7").unwrap(), Big(7));
        for bad in [
            "\"\"",
            "\"-1\"",
            "\"1x\"",
            "-1",
            "1.5",
            "\"+1\"",
            "\"99999999999999999999\"",
        ] {
            assert!(serde_json::from_str::<Big>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bytes_have_one_form() {
        assert_eq!(path_field("é".as_bytes()).text.as_deref(), Some("é"));
        let odd = path_field(b"a\xff");
        assert_eq!(PathField::bytes(odd.text, odd.base64).unwrap(), b"a\xff");
        assert!(PathField::bytes(Some("a".into()), Some("YQ==".into())).is_err());
        assert!(PathField::bytes(None, None).is_err());
    }
}
