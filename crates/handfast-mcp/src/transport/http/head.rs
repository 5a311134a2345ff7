//! The head of a request.

use std::io::Read;

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::HttpReply;
use crate::protocol::{self, BadMessage, Request, code};

/// A longer head is no head.
pub(super) const MAX_HEAD: usize = 16 * 1024;

/// What a request says before its body.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) method: String,
    /// Without what follows a `?`.
    pub(super) path: String,
    pub(super) host: Option<String>,
    pub(super) origin: Option<String>,
    pub(super) authorization: Option<String>,
    pub(super) session: Option<String>,
    pub(super) version: Option<String>,
    pub(super) mcp_method: Option<String>,
    pub(super) mcp_name: Option<String>,
    pub(super) is_json: bool,
    /// The client takes a stream of events for an answer.
    pub(super) takes_streams: bool,
    pub(super) has_length: bool,
    /// The body comes in chunks.
    pub(super) is_chunked: bool,
    pub(super) length: usize,
    pub(super) expects_continue: bool,
    pub(super) closes: bool,
}

impl Head {
    /// Reads the next head; what follows it stays in the buffer. `None` if the client is done.
    pub(super) fn read(
        stream: &mut impl Read,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Self>, HttpReply> {
        let bad = || HttpReply::plain(400, "Bad Request");
        loop {
            let mut headers = [httparse::EMPTY_HEADER; 64];
            let mut request = httparse::Request::new(&mut headers);
            match request.parse(buffer).map_err(|_| bad())? {
                httparse::Status::Complete(length) => {
                    let head = Self::of(&request).ok_or_else(bad)?;
                    buffer.drain(..length);
                    return Ok(Some(head));
                }
                httparse::Status::Partial if buffer.len() > MAX_HEAD => {
                    return Err(HttpReply::plain(431, "Request Header Fields Too Large"));
                }
                httparse::Status::Partial => {}
            }
            let mut chunk = [0; 4096];
            match stream.read(&mut chunk) {
                Ok(0) | Err(_) => return Ok(None),
                Ok(got) => buffer.extend_from_slice(&chunk[..got]),
            }
        }
    }

    /// `None` if it contradicts itself.
    fn of(request: &httparse::Request<'_, '_>) -> Option<Self> {
        let path = request.path?.split('?').next()?.to_owned();
        let mut head = Self {
            method: request.method?.to_owned(),
            path,
            closes: request.version == Some(0),
            ..Self::default()
        };
        for header in request.headers.iter() {
            let value = std::str::from_utf8(header.value).ok()?.trim();
            let once = |field: &mut Option<String>| match field {
                // Twice, and nobody knows which is meant.
                Some(_) => None,
                None => {
                    *field = Some(value.to_owned());
                    Some(())
                }
            };
            match header.name.to_ascii_lowercase().as_str() {
                "host" => once(&mut head.host)?,
                "origin" => once(&mut head.origin)?,
                "authorization" => once(&mut head.authorization)?,
                "mcp-session-id" => once(&mut head.session)?,
                "mcp-protocol-version" => once(&mut head.version)?,
                "mcp-method" => once(&mut head.mcp_method)?,
                "mcp-name" => once(&mut head.mcp_name)?,
                "content-type" => {
                    let kind = value.split(';').next().unwrap_or_default().trim();
                    head.is_json = kind.eq_ignore_ascii_case("application/json");
                }
                "accept" => {
                    let mut kinds = value.split(',').filter_map(|kind| kind.split(';').next());
                    head.takes_streams |=
                        kinds.any(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"));
                }
                "content-length" if head.has_length => return None,
                "content-length" => {
                    // Digits only: a sign or a blank is how requests are smuggled.
                    let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
                    head.length = digits.then(|| value.parse().ok()).flatten()?;
                    head.has_length = true;
                }
                // Anything more than chunks is not ours, and twice is how requests are smuggled.
                "transfer-encoding"
                    if !head.is_chunked && value.eq_ignore_ascii_case("chunked") =>
                {
                    head.is_chunked = true;
                }
                "transfer-encoding" => return None,
                "expect" => head.expects_continue = value.eq_ignore_ascii_case("100-continue"),
                "connection" => head.closes |= value.eq_ignore_ascii_case("close"),
                _ => {}
            }
        }
        // Two lengths, and nobody knows which is meant.
        (!(head.is_chunked && head.has_length)).then_some(head)
    }

    /// Whether the head speaks of the era without a handshake.
    pub(super) fn is_stateless(&self) -> bool {
        self.version.as_deref() == Some("2026-07-28")
    }

    /// What is wrong with the version that the head names.
    pub(super) fn bad_version(&self, request: &Request) -> Option<BadMessage> {
        let version = self.version.as_deref()?;
        protocol::unsupported(&request.id, version)
    }

    /// Where head and body of a stateless request contradict each other.
    pub(super) fn mismatch(&self, request: &Request) -> Option<BadMessage> {
        let meta = request.params.get("_meta");
        let version = meta.and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion"));
        let version = version.and_then(Value::as_str);
        let fault = |what: &str| {
            let text = format!("Header mismatch: {what}");
            Some(BadMessage::new(
                request.id.clone(),
                code::HEADER_MISMATCH,
                text,
            ))
        };
        if !self.is_stateless() && version != Some("2026-07-28") {
            return None;
        }
        if version.is_none() {
            let text = "Invalid params: `_meta` lacks `io.modelcontextprotocol/protocolVersion`";
            return Some(BadMessage::new(
                request.id.clone(),
                code::INVALID_PARAMS,
                text,
            ));
        }
        if self.version.as_deref() != version {
            return fault("MCP-Protocol-Version is not the one in `_meta`");
        }
        if self.mcp_method.as_deref() != Some(&request.method) {
            return fault("Mcp-Method is not the method");
        }
        let named_by = match request.method.as_str() {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            _ => return None,
        };
        let name = request.params.get(named_by).and_then(Value::as_str);
        let told = self.mcp_name.as_deref().map(header_text);
        if told.as_deref() != name {
            return fault(&format!("Mcp-Name is not the `{named_by}`"));
        }
        None
    }
}

/// The text of a header: as it is, or in base64 where it is no plain ASCII.
fn header_text(value: &str) -> Cow<'_, str> {
    let coded = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    coded
        .and_then(|coded| STANDARD.decode(coded).ok())
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .map_or(Cow::Borrowed(value), Cow::Owned)
}
