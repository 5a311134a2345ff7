//! Answers as bytes.

use serde_json::{Value, json};

use super::id::Id;
use super::message::{BadMessage, Request};

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
pub(crate) fn error(fault: &BadMessage) -> Vec<u8> {
    let mut error = json!({"code": fault.code, "message": fault.text});
    if let (Some(data), Some(map)) = (&fault.data, error.as_object_mut()) {
        map.insert("data".to_owned(), data.clone());
    }
    let id = fault.id.as_json();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}

/// What the client calls the progress of a request, if it wants to know.
pub(crate) fn progress_token(request: &Request) -> Option<&Value> {
    let token = request.params.get("_meta")?.get("progressToken")?;
    Some(token).filter(|token| token.is_string() || token.is_number())
}

/// How much of a request is done.
pub(crate) fn progress(token: &Value, done: usize) -> Vec<u8> {
    let message = format!("{done} entries");
    notification(
        "notifications/progress",
        &json!({"progressToken": token, "progress": done, "message": message}),
    )
}

/// That a resource has changed.
pub(crate) fn updated(uri: &str) -> Vec<u8> {
    notification("notifications/resources/updated", &json!({"uri": uri}))
}

fn notification(method: &str, params: &Value) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
        .to_string()
        .into_bytes()
}
