//! JSON in the order it was put together, and one form for what is not UTF-8.
//!
//! A name, a path or content that is UTF-8 is the value of its key. What is not is the value of the key
//! with `_b64` appended, in standard base64 with padding; never both.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};

/// A JSON value.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Integer(u64),
    Text(String),
    List(Vec<Json>),
    Object(JsonObject),
}

/// A JSON object whose keys keep their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct JsonObject(Vec<(Cow<'static, str>, Json)>);

impl JsonObject {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The object with one more key.
    #[must_use]
    pub(crate) fn with(mut self, key: &'static str, value: impl Into<Json>) -> Self {
        self.0.push((Cow::Borrowed(key), value.into()));
        self
    }

    /// The object with bytes under a key, or as base64 under the key with `_b64` appended.
    #[must_use]
    pub(crate) fn with_bytes(mut self, key: &'static str, bytes: &[u8]) -> Self {
        let field = match str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(key), Json::from(text)),
            Err(_) => (
                Cow::Owned(format!("{key}_b64")),
                Json::Text(STANDARD.encode(bytes)),
            ),
        };
        self.0.push(field);
        self
    }

    /// The object with all keys of another.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<JsonObject> for Json {
    fn from(value: JsonObject) -> Self {
        Self::Object(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Self>> FromIterator<T> for Json {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_json(self, f)
    }
}

impl fmt::Display for JsonObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_json(self, f)
    }
}

impl Serialize for JsonObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

fn write_json(value: &impl Serialize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&serde_json::to_string(value).map_err(|_| fmt::Error)?)
}

#[cfg(test)]
mod tests {
    use super::{Json, JsonObject};

    #[test]
    fn keys_keep_their_order_and_strings_are_escaped() {
        let object = JsonObject::new()
            .with("z", true)
            .with("a", Json::from_iter([1_u64, 2]))
            .with("n", None::<u64>)
            .with("s", "a\"\n\u{1b}")
            .with("o", JsonObject::new().with("k", 0_u32));
        assert_eq!(
            object.to_string(),
            r#"{"z":true,"a":[1,2],"n":null,"s":"a\"\n\u001b","o":{"k":0}}"#
        );
    }

    #[test]
    fn what_is_not_utf8_has_one_form() {
        let object = JsonObject::new()
            .with_bytes("name", "é".as_bytes())
            .with_bytes("path", b"a\xff");
        assert_eq!(object.to_string(), r#"{"name":"é","path_b64":"Yf8="}"#);
    }
}
