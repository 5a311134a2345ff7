//! The id of a request, as its client wrote it.
//!
//! It is kept as text: a number with more digits than a machine has comes back unchanged. A message
//! that cannot be read, or is too long to be, may still have an id that can be found.

use serde_json::Value;

/// A longer id is no id.
const MOST: usize = 1024;

/// An id: JSON, a text or a number, or `null` where there is none.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Id(String);

impl Id {
    /// Of a message without one.
    pub(crate) fn null() -> Self {
        Self("null".to_owned())
    }

    /// As JSON.
    pub(crate) fn as_json(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0 == "null"
    }

    /// The id of a message that was read; `bytes` are all of it.
    pub(crate) fn of(value: &Value, bytes: &[u8]) -> Option<Self> {
        Self::read(value, bytes, Scanner::default())
    }

    /// The id of the request that a message cancels; `bytes` are all of the message.
    pub(crate) fn cancelled_by(value: &Value, bytes: &[u8]) -> Option<Self> {
        Self::read(value, bytes, Scanner::of_key(b"requestId", 2))
    }

    fn read(value: &Value, bytes: &[u8], mut scanner: Scanner) -> Option<Self> {
        match value {
            Value::String(_) => Some(Self(value.to_string())),
            Value::Number(number) if number.is_i64() || number.is_u64() => {
                Some(Self(number.to_string()))
            }
            // What was read of it may be less than what was written.
            Value::Number(_) => {
                scanner.feed(bytes);
                Some(scanner.finish()).filter(|id| !id.is_null())
            }
            _ => None,
        }
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self(Value::from(text).to_string())
    }
}

/// Finds the id in a message that is no JSON, or that is never held as a whole: the value of the
/// key `id` of the outermost object, or of another key further down.
#[derive(Debug)]
pub(crate) struct Scanner {
    /// The key, and how deep it is.
    key: &'static [u8],
    level: usize,
    depth: usize,
    /// Within a text, and after a backslash in it.
    text: Option<bool>,
    /// The text that is being read, or was read last, at the level of the key.
    last: Vec<u8>,
    /// After the colon of `id`: what follows is its value.
    is_value: bool,
    value: Vec<u8>,
    done: bool,
}

impl Default for Scanner {
    fn default() -> Self {
        Self::of_key(b"id", 1)
    }
}

impl Scanner {
    fn of_key(key: &'static [u8], level: usize) -> Self {
        Self {
            key,
            level,
            depth: 0,
            text: None,
            last: Vec::new(),
            is_value: false,
            value: Vec::new(),
            done: false,
        }
    }

    /// The id of a message.
    pub(crate) fn of(message: &[u8]) -> Id {
        let mut scanner = Self::default();
        scanner.feed(message);
        scanner.finish()
    }

    /// Takes the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.done {
                return;
            }
            self.take(*byte);
        }
    }

    fn take(&mut self, byte: u8) {
        if self.is_value {
            return self.take_value(byte);
        }
        match (self.text, byte) {
            (Some(true), _) => {
                self.text = Some(false);
                self.keep(byte);
            }
            (Some(false), b'\\') => {
                self.text = Some(true);
                self.keep(byte);
            }
            (Some(false), b'"') => self.text = None,
            (Some(false), _) => self.keep(byte),
            (None, b'"') => {
                self.text = Some(false);
                if self.depth == self.level {
                    self.last.clear();
                }
            }
            (None, b'{' | b'[') => self.depth += 1,
            (None, b'}' | b']') => self.depth = self.depth.saturating_sub(1),
            (None, b':') if self.depth == self.level && self.last == self.key => {
                self.is_value = true;
            }
            (None, b',') if self.depth == self.level => self.last.clear(),
            (None, _) => {}
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == self.level && self.last.len() <= self.key.len() {
            self.last.push(byte);
        }
    }

    fn take_value(&mut self, byte: u8) {
        let is_text = self.value.first() == Some(&b'"');
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' if self.value.is_empty() => {}
            b',' | b'}' | b' ' | b'\t' | b'\r' | b'\n' if !is_text => self.done = true,
            b'"' if is_text && self.text != Some(true) => {
                self.value.push(byte);
                self.done = true;
            }
            _ => {
                self.text = Some(is_text && byte == b'\\' && self.text != Some(true));
                self.value.push(byte);
                self.done = self.value.len() > MOST;
            }
        }
    }

    /// What was found.
    pub(crate) fn finish(self) -> Id {
        let text = String::from_utf8(self.value).unwrap_or_default();
        let known: Result<Value, _> = serde_json::from_str(&text);
        match known {
            Ok(Value::String(_) | Value::Number(_)) if self.done => Id(text),
            _ => Id::null(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_with_a_huge_number_can_be_cancelled_by_it() {
        let huge = "123456789012345678901234567890";
        let message =
            format!(r#"{{"requestId":1,"params":{{"x":{{"requestId":2}},"requestId":{huge}}}}}"#);
        let value: Value = serde_json::from_str(&message).unwrap();
        let id = Id::cancelled_by(&value["params"]["requestId"], message.as_bytes());
        assert_eq!(id.unwrap().as_json(), huge);
        for (value, id) in [(json!(7), "7"), (json!("a"), "\"a\"")] {
            assert_eq!(Id::cancelled_by(&value, b"").unwrap().as_json(), id);
        }
        assert_eq!(Id::cancelled_by(&json!(1e300), b"{}"), None);
    }

    #[test]
    fn the_id_is_found_and_nothing_else_is_taken_for_it() {
        for (message, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"\ud800"}"#, "7"),
            (r#"{"id" : "a\"b" , "x": "#, r#""a\"b""#),
            (r#"{"params":{"id":1,"x":["id",{"id":2}]},"id":-3}"#, "-3"),
            (
                r#"{"id":123456789012345678901234567890}"#,
                "123456789012345678901234567890",
            ),
            (
                "{\"id\":\r\n\t12345678901234567890123\n}",
                "12345678901234567890123",
            ),
            (r#"{"method":"id","params":{}}"#, "null"),
            (r#"{"a":"\"id\":5"}"#, "null"),
            (r#"{"a":"id"{"b":3},"c":4}"#, "null"),
            (r#"{"id":{"id":4}}"#, "null"),
            (r#"{"id":nonsense}"#, "null"),
            (r#"{"id":5"#, "null"),
            ("", "null"),
        ] {
            assert_eq!(Scanner::of(message.as_bytes()).as_json(), id, "{message}");
            let mut piecewise = Scanner::default();
            for byte in message.bytes() {
                piecewise.feed(&[byte]);
            }
            assert_eq!(piecewise.finish().as_json(), id, "{message}");
        }
    }
}
