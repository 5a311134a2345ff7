//! Answers as bytes.

use serde_json::{Value, json};

use super::message::Fault;

/// A result that is JSON already.
pub(crate) fn result(id: &Value, result: &[u8]) -> Vec<u8> {
    let mut reply = Vec::with_capacity(result.len() + 64);
    reply.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    reply.extend_from_slice(id.to_string().as_bytes());
    reply.extend_from_slice(br#","result":"#);
    reply.extend_from_slice(result);
    reply.push(b'}');
    reply
}

/// An error.
pub(crate) fn error(fault: &Fault) -> Vec<u8> {
    let mut error = json!({"code": fault.code, "message": fault.text});
    if let (Some(data), Some(map)) = (&fault.data, error.as_object_mut()) {
        map.insert("data".to_owned(), data.clone());
    }
    json!({"jsonrpc": "2.0", "id": fault.id, "error": error})
        .to_string()
        .into_bytes()
}
