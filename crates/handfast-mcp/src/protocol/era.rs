//! Which era a request belongs to: with a handshake, or stateless.

use serde_json::{Value, json};

use super::id::Id;
use super::message::{BadMessage, Request, code};

/// The revision without a handshake.
pub(crate) const STATELESS: &str = "2026-07-28";

/// The revisions with one, newest first.
pub(crate) const HANDSHAKE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// How a request is to be answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Era {
    /// As the connection says.
    Handshake,
    /// Everything is in the request: also who asks, if they say so.
    Stateless { client: Option<String> },
}

/// All revisions, for those who ask.
pub(crate) fn supported() -> Vec<&'static str> {
    let mut all = vec![STATELESS];
    all.extend(HANDSHAKE);
    all
}

/// The era of a request, by its `_meta`.
pub(crate) fn of(request: &Request) -> Result<Era, BadMessage> {
    let meta = request.params.get("_meta");
    let version = meta.and_then(|meta| meta.get(VERSION_KEY));
    let Some(version) = version else {
        return Ok(Era::Handshake);
    };
    let invalid = |why: &str| BadMessage::new(request.id.clone(), code::INVALID_PARAMS, why);
    let Value::String(version) = version else {
        return Err(invalid(
            "Invalid params: the protocol version in `_meta` must be a text",
        ));
    };
    if version != STATELESS {
        // A client of the first era may repeat its version in every request.
        if HANDSHAKE.contains(&version.as_str()) {
            return Ok(Era::Handshake);
        }
        return Err(unsupported_fault(&request.id, version));
    }
    match meta.and_then(|meta| meta.get(CAPABILITIES_KEY)) {
        Some(Value::Object(_)) => {}
        _ => {
            return Err(invalid(&format!(
                "Invalid params: `_meta` lacks `{CAPABILITIES_KEY}`"
            )));
        }
    }
    let client = meta.and_then(|meta| meta.get(CLIENT_KEY));
    Ok(Era::Stateless {
        client: client.and_then(name_of),
    })
}

/// What is wrong with the `_meta` of a request, whatever it asks for.
pub(crate) fn bad_meta(request: &Request) -> Option<BadMessage> {
    of(request).err()
}

/// What is wrong with a version that is none of ours.
pub(crate) fn unsupported(id: &Id, version: &str) -> Option<BadMessage> {
    let known = supported().contains(&version);
    (!known).then(|| unsupported_fault(id, version))
}

fn unsupported_fault(id: &Id, version: &str) -> BadMessage {
    let text = "Unsupported protocol version";
    let mut fault = BadMessage::new(id.clone(), code::UNSUPPORTED_VERSION, text);
    fault.data = Some(json!({"supported": supported(), "requested": version}));
    fault
}

/// How much of a client's name is taken, and of its version, in characters. It is kept with everything that the client
/// has read or was refused, so a long name would fill the memory.
const LONGEST_NAME: usize = 100;

/// Name and version of a client, as it states them.
pub(crate) fn name_of(info: &Value) -> Option<String> {
    let text = |key: &str| -> Option<String> {
        let text = info.get(key).and_then(Value::as_str)?;
        Some(text.chars().take(LONGEST_NAME).collect())
    };
    let name = text("name")?;
    Some(match text("version") {
        Some(version) => format!("{name} {version}"),
        None => name,
    })
}

impl Era {
    /// A result as this era has it.
    pub(crate) fn result(&self, mut result: Value) -> Vec<u8> {
        if let Some(kind) = self.result_type() {
            result["resultType"] = json!(kind);
        }
        result.to_string().into_bytes()
    }

    /// A result that may be kept for a while, by this client only.
    pub(crate) fn list(&self, name: &str, value: Value, keep_ms: u64) -> Vec<u8> {
        let mut result = json!({});
        result[name] = value;
        if let Self::Stateless { .. } = self {
            result["ttlMs"] = json!(keep_ms);
            result["cacheScope"] = json!("private");
        }
        self.result(result)
    }

    /// What results of this era begin with.
    pub(crate) fn result_type(&self) -> Option<&'static str> {
        match self {
            Self::Handshake => None,
            Self::Stateless { .. } => Some("complete"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut() {
        let info = json!({"name": "n".repeat(1 << 20), "version": "\u{e4}".repeat(1 << 20)});
        let name = name_of(&info).unwrap();
        assert_eq!(name.chars().count(), 2 * LONGEST_NAME + 1);
        let info = json!({"name": "web", "version": "1"});
        assert_eq!(name_of(&info).unwrap(), "web 1");
        assert_eq!(name_of(&json!({"version": "1"})), None);
    }
}
