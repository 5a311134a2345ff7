//! Which method was asked for, and the answer.

use std::borrow::Cow;

use handfast::ErrorKind;
use serde_json::{Value, json};

use super::era::{self, Era};
use super::message::{BadMessage, Request, code};
use super::reply;
use crate::answer;
use crate::call::{self, Asking, Called, Watcher};
use crate::callers::full_name;
use crate::completion;
use crate::prompts;
use crate::resources;
use crate::schema::Tool;
use crate::server::Server;
use crate::trouble::Trouble;
use crate::view::ClientView;

/// For how long a list that never changes may be kept, in milliseconds.
const HOUR: u64 = 3_600_000;

/// One client, as far as the connection knows it.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Name and version, as it stated them.
    pub(crate) client: String,
    /// Whether it can be asked for its roots.
    pub(crate) has_roots: bool,
    /// Whether it can ask the person in front of it.
    pub(crate) elicits: bool,
    /// Whether it can hear of resources that change.
    pub(crate) subscribes: bool,
    /// What it may reach.
    pub(crate) view: ClientView,
    /// Whose token it showed, where there are tokens for several callers.
    pub(crate) caller: Option<String>,
}

impl Peer {
    pub(crate) fn new(server: &Server) -> Self {
        Self {
            client: "unnamed client".to_owned(),
            has_roots: false,
            elicits: false,
            subscribes: false,
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

/// Whether a request reaches files, and so waits for roots and for changes that were sent before it.
pub(crate) fn takes_time(method: &str) -> bool {
    matches!(
        method,
        "tools/call"
            | "prompts/get"
            | "resources/list"
            | "resources/read"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "completion/complete"
    )
}

/// Whether the answer to a request may be longer than this.
pub(crate) fn may_be_large(server: &Server, request: &Request, limit: usize) -> bool {
    match request.method.as_str() {
        "resources/read" => true,
        "tools/call" => {
            let name = request.params.get("name").and_then(Value::as_str);
            name == Some("read_media_file") || server.answer_limit() > limit as u64
        }
        _ => false,
    }
}

/// Whether a request calls a tool that changes files.
pub(crate) fn may_change(server: &Server, request: &Request) -> bool {
    let name = request.params.get("name").and_then(Value::as_str);
    let tool = name.filter(|_| request.method == "tools/call");
    tool.and_then(|name| server.tool(name))
        .is_some_and(Tool::changes)
}

/// Answers a request.
pub(crate) fn answer(
    server: &Server,
    peer: &mut Peer,
    request: &Request,
    watcher: &dyn Watcher,
) -> Result<Vec<u8>, BadMessage> {
    let era = era::of(request)?;
    let result = match (request.method.as_str(), &era) {
        ("initialize", Era::Handshake) => initialize(server, peer, &request.params),
        ("ping", Era::Handshake) => b"{}".to_vec(),
        ("server/discover", _) => discover(server),
        ("tools/list", _) => tools(server, &era),
        ("tools/call", _) => call(server, peer, request, &era, watcher)?,
        ("prompts/list", _) => era.list("prompts", prompts::list(server), HOUR),
        ("resources/templates/list", _) => {
            era.list("resourceTemplates", resources::templates(), HOUR)
        }
        ("prompts/get" | "resources/list" | "resources/read" | "completion/complete", _) => {
            more(server, peer, request, &era, watcher)?
        }
        ("resources/subscribe" | "resources/unsubscribe", Era::Handshake)
            if watcher.subscriptions().is_some() =>
        {
            more(server, peer, request, &era, watcher)?
        }
        _ => {
            let id = request.id.clone();
            return Err(BadMessage::new(
                id,
                code::UNKNOWN_METHOD,
                "Method not found",
            ));
        }
    };
    Ok(reply::result(&request.id, &result))
}

/// What there is for a client. The lists never change while the server runs.
fn capabilities(subscribes: bool) -> Value {
    let resources = match subscribes {
        true => json!({"subscribe": true}),
        false => json!({}),
    };
    json!({"tools": {}, "prompts": {}, "resources": resources, "completions": {}})
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
    let capability =
        |name: &str| capabilities_of_client.and_then(|have| have.get(name)?.as_object());
    peer.has_roots = capability("roots").is_some();
    // Without a word about how, it is by a form.
    peer.elicits =
        capability("elicitation").is_some_and(|how| how.is_empty() || how.contains_key("form"));
    json!({
        "protocolVersion": version,
        "capabilities": capabilities(peer.subscribes),
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
        "capabilities": capabilities(false),
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
            format!(r#"{{"resultType":"complete","ttlMs":{HOUR},"cacheScope":"private","tools":"#)
        }
    };
    text.push_str(server.tools());
    text.push('}');
    text.into_bytes()
}

/// Who asks, as the log names them.
fn client_of<'a>(peer: &'a Peer, era: &'a Era) -> Cow<'a, str> {
    let client = match era {
        Era::Stateless {
            client: Some(client),
        } => client,
        _ => &peer.client,
    };
    full_name(peer.caller.as_deref(), client)
}

/// On whose behalf a request is answered. Roots that a client told hold for everything on its
/// connection, whichever era a request speaks.
fn asking<'a>(peer: &'a Peer, era: &Era, client: &'a str, watcher: &'a dyn Watcher) -> Asking<'a> {
    Asking {
        view: &peer.view,
        client,
        watcher,
        // The later era has no requests to the client.
        elicits: peer.elicits && matches!(era, Era::Handshake),
    }
}

/// Why there is nothing at a URI.
fn no_resource(request: &Request, era: &Era, uri: &str, trouble: Trouble) -> BadMessage {
    let code = match (trouble.kind, era) {
        (ErrorKind::Io | ErrorKind::Raced | ErrorKind::Busy, _) => code::INTERNAL,
        (_, Era::Handshake) => code::RESOURCE_NOT_FOUND,
        (_, Era::Stateless { .. }) => code::INVALID_PARAMS,
    };
    let mut fault = BadMessage::new(request.id.clone(), code, trouble.text);
    fault.data = Some(json!({"uri": uri}));
    fault
}

/// What is done on behalf of a client, and is no tool.
fn more(
    server: &Server,
    peer: &Peer,
    request: &Request,
    era: &Era,
    watcher: &dyn Watcher,
) -> Result<Vec<u8>, BadMessage> {
    let fault = |code: i32, text: String| BadMessage::new(request.id.clone(), code, text);
    let invalid = |text: &str| fault(code::INVALID_PARAMS, format!("Invalid params: {text}"));
    let client = client_of(peer, era);
    let asking = asking(peer, era, &client, watcher);
    let params = &request.params;
    let text = |name: &str| params.get(name).and_then(Value::as_str);
    match request.method.as_str() {
        "resources/list" => Ok(era.list("resources", resources::list(asking.view), 0)),
        "resources/read" => {
            let uri = text("uri").ok_or_else(|| invalid("resources/read needs a `uri`"))?;
            let contents = resources::read(server, asking, uri)
                .map_err(|trouble| no_resource(request, era, uri, trouble))?;
            Ok(era.list("contents", contents, 0))
        }
        "resources/subscribe" | "resources/unsubscribe" => {
            let uri = text("uri").ok_or_else(|| invalid("a subscription needs a `uri`"))?;
            let all = watcher.subscriptions();
            let all = all.ok_or_else(|| invalid("there are no subscriptions here"))?;
            if request.method == "resources/unsubscribe" {
                all.remove(uri);
                return Ok(era.result(json!({})));
            }
            let (path, mark) = resources::subscribe(server, asking, uri)
                .map_err(|trouble| no_resource(request, era, uri, trouble))?;
            match all.add(uri, path, Some(mark)) {
                true => Ok(era.result(json!({}))),
                false => Err(invalid("there are too many subscriptions already")),
            }
        }
        "prompts/get" => {
            let name = text("name").ok_or_else(|| invalid("prompts/get needs a `name`"))?;
            let none = Value::Null;
            let arguments = params.get("arguments").unwrap_or(&none);
            let prompt = prompts::get(server, asking, name, arguments).ok_or_else(|| {
                let name = handfast::escape(name.as_bytes());
                fault(code::INVALID_PARAMS, format!("Prompt {name} not found"))
            })?;
            let prompt = prompt.map_err(|trouble| fault(code::INVALID_PARAMS, trouble.text))?;
            Ok(era.result(prompt))
        }
        _ => {
            let completion = completion::complete(server, asking, params).map_err(invalid)?;
            Ok(era.result(json!({"completion": completion})))
        }
    }
}

fn call(
    server: &Server,
    peer: &Peer,
    request: &Request,
    era: &Era,
    watcher: &dyn Watcher,
) -> Result<Vec<u8>, BadMessage> {
    let fault = |code: i32, text: String| BadMessage::new(request.id.clone(), code, text);
    let Some(name) = request.params.get("name").and_then(Value::as_str) else {
        let text = "Invalid params: tools/call needs the tool's `name`".to_owned();
        return Err(fault(code::INVALID_PARAMS, text));
    };
    let none = Value::Object(Default::default());
    let arguments = match request.params.get("arguments") {
        None | Some(Value::Null) => &none,
        Some(arguments) => arguments,
    };
    let client = client_of(peer, era);
    let asking = asking(peer, era, &client, watcher);
    match call::call(server, asking, name, arguments) {
        Called::Unknown => Err(fault(
            code::INVALID_PARAMS,
            format!("Tool {} not found", handfast::escape(name.as_bytes())),
        )),
        Called::Done(outcome) => answer::write(&outcome, era.result_type())
            .map_err(|error| fault(code::INTERNAL, format!("Internal error: {error}"))),
    }
}
