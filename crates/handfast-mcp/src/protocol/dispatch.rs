//! Which method was asked for, and the answer.

use serde_json::{Value, json};

use super::era::{self, Era};
use super::message::{Fault, Request, code};
use super::reply;
use crate::answer;
use crate::call::{self, Asking, Called, Watcher};
use crate::server::Server;
use crate::view::View;

/// One client, as far as the connection knows it.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Name and version, as it stated them.
    pub(crate) client: String,
    /// Whether it can be asked for its roots.
    pub(crate) has_roots: bool,
    /// What it may reach.
    pub(crate) view: View,
    /// Whose token it showed, where there are tokens for several callers.
    pub(crate) caller: Option<String>,
}

impl Peer {
    pub(crate) fn new(server: &Server) -> Self {
        Self {
            client: "unnamed client".to_owned(),
            has_roots: false,
            view: server.view().clone(),
            caller: None,
        }
    }
}

/// Our own request, for a client's roots.
pub(crate) fn ask_roots(id: &str) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": id, "method": "roots/list"})
        .to_string()
        .into_bytes()
}

/// Answers a request.
pub(crate) fn answer(
    server: &Server,
    peer: &mut Peer,
    request: &Request,
    watcher: &dyn Watcher,
) -> Result<Vec<u8>, Fault> {
    let era = era::of(request)?;
    let result = match (request.method.as_str(), &era) {
        ("initialize", Era::Handshake) => initialize(server, peer, &request.params),
        ("ping", Era::Handshake) => b"{}".to_vec(),
        ("server/discover", _) => discover(server),
        ("tools/list", _) => tools(server, &era),
        ("tools/call", _) => call(server, peer, request, &era, watcher)?,
        _ => {
            let id = request.id.clone();
            return Err(Fault::new(id, code::UNKNOWN_METHOD, "Method not found"));
        }
    };
    Ok(reply::result(&request.id, &result))
}

fn capabilities() -> Value {
    // The list never changes while the server runs.
    json!({"tools": {}})
}

fn server_info() -> Value {
    json!({"name": "handfast-mcp", "version": env!("CARGO_PKG_VERSION")})
}

fn initialize(server: &Server, peer: &mut Peer, params: &Value) -> Vec<u8> {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let version = era::HANDSHAKE
        .into_iter()
        .find(|known| Some(*known) == asked)
        .unwrap_or(era::HANDSHAKE[0]);
    if let Some(name) = params.get("clientInfo").and_then(era::name_of) {
        peer.client = name;
    }
    let capabilities_of_client = params.get("capabilities");
    peer.has_roots = capabilities_of_client
        .and_then(|have| have.get("roots"))
        .is_some_and(Value::is_object);
    json!({
        "protocolVersion": version,
        "capabilities": capabilities(),
        "serverInfo": server_info(),
        "instructions": server.instructions(),
    })
    .to_string()
    .into_bytes()
}

fn discover(server: &Server) -> Vec<u8> {
    json!({
        "resultType": "complete",
        "supportedVersions": era::supported(),
        "capabilities": capabilities(),
        "instructions": server.instructions(),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": server_info()},
    })
    .to_string()
    .into_bytes()
}

fn tools(server: &Server, era: &Era) -> Vec<u8> {
    let mut text = match era {
        Era::Handshake => r#"{"tools":"#.to_owned(),
        // The list is the same for as long as the server runs, and is nobody else's.
        Era::Stateless { .. } => {
            r#"{"resultType":"complete","ttlMs":3600000,"cacheScope":"private","tools":"#.to_owned()
        }
    };
    text.push_str(server.tools());
    text.push('}');
    text.into_bytes()
}

fn call(
    server: &Server,
    peer: &Peer,
    request: &Request,
    era: &Era,
    watcher: &dyn Watcher,
) -> Result<Vec<u8>, Fault> {
    let fault = |code: i32, text: String| Fault::new(request.id.clone(), code, text);
    let Some(name) = request.params.get("name").and_then(Value::as_str) else {
        let text = "Invalid params: tools/call needs the tool's `name`".to_owned();
        return Err(fault(code::INVALID_PARAMS, text));
    };
    let none = Value::Object(Default::default());
    let arguments = match request.params.get("arguments") {
        None | Some(Value::Null) => &none,
        Some(arguments) => arguments,
    };
    let (client, view) = match era {
        Era::Handshake => (peer.client.as_str(), &peer.view),
        // Without a connection there are no roots: what the operator grants.
        Era::Stateless { client } => (client.as_deref().unwrap_or(&peer.client), server.view()),
    };
    let named;
    let client = match &peer.caller {
        Some(caller) => {
            named = format!("{caller}: {client}");
            named.as_str()
        }
        None => client,
    };
    let asking = Asking {
        view,
        client,
        watcher,
    };
    match call::call(server, asking, name, arguments) {
        Called::Unknown => Err(fault(
            code::INVALID_PARAMS,
            format!("Tool {} not found", handfast::escape(name.as_bytes())),
        )),
        Called::Done(outcome) => answer::write(&outcome, era.result_type())
            .map_err(|error| fault(code::INTERNAL, format!("Internal error: {error}"))),
    }
}
