//! Numbers that do not fit a JSON number everywhere, and names that are no text.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

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

/// Text as it is in the message, copied only if it has escapes: serde borrows a `Cow` by
/// itself, but not one in an `Option`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Text<'a>(Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl From<Text<'_>> for String {
    fn from(text: Text<'_>) -> Self {
        text.0.into_owned()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Reader)
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
    fn text_is_copied_only_if_it_must_be() {
        let plain: Text<'_> = serde_json::from_str("\"a/b\"").unwrap();
        assert!(matches!(plain.0, Cow::Borrowed("a/b")));
        let escaped: Option<Text<'_>> = serde_json::from_str("\"a\\u002fb\"").unwrap();
        assert_eq!(escaped.as_deref(), Some("a/b"));
        assert!(serde_json::from_str::<Text<'_>>("7").is_err());
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
