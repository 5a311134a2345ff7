//! From bytes to a message.

use serde_json::Value;

use super::id::{Id, Scanner};

/// The codes of JSON-RPC, and those of MCP.
pub(crate) mod code {
    pub(crate) const PARSE: i32 = -32700;
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    pub(crate) const UNKNOWN_METHOD: i32 = -32601;
    pub(crate) const INVALID_PARAMS: i32 = -32602;
    pub(crate) const INTERNAL: i32 = -32603;
    pub(crate) const RESOURCE_NOT_FOUND: i32 = -32002;
    pub(crate) const HEADER_MISMATCH: i32 = -32020;
    pub(crate) const UNSUPPORTED_VERSION: i32 = -32022;
}

/// A request that wants an answer.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) id: Id,
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// One message.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Request(Request),
    /// Wants no answer.
    Notification {
        method: String,
    },
    /// Nobody waits for the answer to a request any more.
    Cancelled(Id),
    /// The client's answer to a request of ours.
    Response {
        id: Id,
        result: Value,
    },
}

/// Why something is not a message, or not one that can be answered as asked.
#[derive(Clone, Debug)]
pub(crate) struct BadMessage {
    pub(crate) id: Id,
    pub(crate) code: i32,
    pub(crate) text: String,
    pub(crate) data: Option<Value>,
}

impl BadMessage {
    pub(crate) fn new(id: Id, code: i32, text: impl Into<String>) -> Self {
        Self {
            id,
            code,
            text: text.into(),
            data: None,
        }
    }
}

/// Reads one message.
pub(crate) fn parse(bytes: &[u8]) -> Result<Message, BadMessage> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        // The column tells where; the text itself may be anything.
        let text = format!("Parse error: not JSON at column {}", error.column());
        BadMessage::new(Scanner::of(bytes), code::PARSE, text)
    })?;
    let invalid = |id: Id, why: &str| {
        let text = format!("Invalid Request: {why}");
        Err(BadMessage::new(id, code::INVALID_REQUEST, text))
    };
    let Value::Object(mut message) = value else {
        return invalid(Id::null(), "one object is expected; batches are not taken");
    };
    let id = message.remove("id");
    let known = id.as_ref().and_then(|id| Id::of(id, bytes));
    let known = known.unwrap_or_else(Id::null);
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid(known, "`jsonrpc` must be \"2.0\"");
    }
    let method = match message.remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return invalid(known, "`method` must be a text"),
        None => {
            let result = message.remove("result").unwrap_or(Value::Null);
            return match known {
                id if id.is_null() => invalid(id, "there is no `method`"),
                id if message.contains_key("error") || !result.is_null() => {
                    Ok(Message::Response { id, result })
                }
                id => invalid(id, "there is no `method`"),
            };
        }
    };
    let params = message
        .remove("params")
        .unwrap_or_else(|| Value::Object(Default::default()));
    if id.is_none()
        && method == "notifications/cancelled"
        && let Some(id) = params.get("requestId")
        && let Some(id) = Id::cancelled_by(id, bytes)
    {
        return Ok(Message::Cancelled(id));
    }
    match (id, known) {
        (None, _) => Ok(Message::Notification { method }),
        (Some(_), id) if id.is_null() => invalid(id, "`id` must be a text or a number"),
        (Some(_), id) if !params.is_object() => invalid(id, "`params` must be an object"),
        (Some(_), id) => Ok(Message::Request(Request { id, method, params })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_cancelled_by_its_id_as_it_was_written() {
        for id in ["7", "\"a\"", "123456789012345678901234567890"] {
            let cancel = |id: &str| {
                format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                )
            };
            let asked = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let Ok(Message::Request(request)) = parse(asked.as_bytes()) else {
                panic!("{asked}");
            };
            let Ok(Message::Cancelled(cancelled)) = parse(cancel(id).as_bytes()) else {
                panic!("{id}");
            };
            assert_eq!(request.id, cancelled);
            let nothing = parse(cancel("null").as_bytes());
            assert!(matches!(nothing, Ok(Message::Notification { .. })));
        }
    }

    fn fault(text: &str) -> (Value, i32) {
        let fault = parse(text.as_bytes()).unwrap_err();
        (
            serde_json::from_str(fault.id.as_json()).unwrap(),
            fault.code,
        )
    }

    #[test]
    fn what_is_no_message_is_refused_with_the_id_if_there_is_one() {
        assert_eq!(fault("{"), (Value::Null, code::PARSE));
        assert_eq!(fault("\u{7f}"), (Value::Null, code::PARSE));
        assert_eq!(fault("[]"), (Value::Null, code::INVALID_REQUEST));
        assert_eq!(fault(r#"{"id":1,"method":"ping"}"#).0, Value::from(1));
        assert_eq!(
            fault(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#).0,
            Value::Null
        );
        assert_eq!(
            fault(r#"{"jsonrpc":"2.0","id":"a","method":1}"#).0,
            Value::from("a")
        );
        assert_eq!(fault(r#"{"jsonrpc":"2.0","id":"a"}"#).0, Value::from("a"));
        assert_eq!(
            fault(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[]}"#).0,
            Value::from(1)
        );
        let lone = r#"{"jsonrpc":"2.0","id":9,"method":"\ud800"}"#;
        assert_eq!(fault(lone), (Value::from(9), code::PARSE));
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(fault(&deep).1, code::PARSE);
    }

    #[test]
    fn the_three_kinds() {
        let kind = |text: &str| parse(text.as_bytes()).unwrap();
        assert!(matches!(
            kind(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
            Message::Request(Request {
                params: Value::Object(_),
                ..
            })
        ));
        assert!(matches!(
            kind(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            Message::Notification { .. }
        ));
        assert!(matches!(
            kind(r#"{"jsonrpc":"2.0","id":"r","error":{"code":1,"message":""}}"#),
            Message::Response { .. }
        ));
    }
}
