//! Answers as bytes.

use serde_json::json;

use super::id::Id;
use super::message::Fault;

/// A result that is JSON already.
pub(crate) fn result(id: &Id, result: &[u8]) -> Vec<u8> {
    let mut reply = Vec::with_capacity(result.len() + 64);
    reply.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    reply.extend_from_slice(id.as_json().as_bytes());
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
    let id = fault.id.as_json();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}
