//! Messages by HTTP, on loopback only: one POST a message, one JSON answer.
//!
//! A browser on the same machine can reach a loopback port too. So every request needs a token, and
//! a request that a web page sent (`Origin`), or that came by another name than loopback (`Host`), is
//! refused before anything of it is looked at. There is no OAuth: nobody but this machine's users
//! reaches the port, and the token is a file or a line that only the operator sees.

mod body;
mod connections;
mod guard;
mod head;
mod large;
mod patience;
mod sessions;
mod shares;
mod stream;
mod tokens;
mod watch;

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};

pub use self::tokens::Tokens;

use self::body::Body;
use self::connections::{Connections, WorkTurn};
use self::guard::Guard;
use self::head::Head;
use self::large::{LARGE, LargeMessages, LargePermit};
use self::patience::Patient;
use self::sessions::Sessions;
use self::stream::Stream;
use self::watch::HttpWatch;
use super::MAX_MESSAGE;
use crate::protocol::{self, BadMessage, Id, Message, Peer, code};
use crate::server::Server;

/// How long a client may take for one request, or keep a connection without one; and for taking a
/// part of the answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many descriptors the server would like to have.
const DESCRIPTORS: u64 = 8192;

/// The body of a request that is refused is read if it is no longer than this, so that the
/// connection can be used again.
const SKIPPED: usize = 64 * 1024;

impl Server {
    /// Answers on a loopback address until the process ends. `say` gets lines for people: where
    /// it listens, and the token if it is new.
    ///
    /// # Errors
    /// `InvalidInput` for an address that is not loopback; what listening says.
    pub fn serve_http(
        &self,
        address: SocketAddr,
        tokens: Tokens,
        say: &mut dyn FnMut(&str),
    ) -> io::Result<()> {
        if !address.ip().is_loopback() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "only a loopback address is served; put a proxy in front for others",
            ));
        }
        allow_descriptors();
        let listener = TcpListener::bind(address)?;
        say(&format!(
            "listening on http://{}/mcp",
            listener.local_addr()?
        ));
        if tokens.is_new {
            say(&format!(
                "every request needs: Authorization: Bearer {}",
                tokens.first()
            ));
        }
        let connections = Connections::new(tokens.callers());
        let large = LargeMessages::new(tokens.callers());
        let guard = Guard { tokens };
        let sessions = Sessions::default();
        std::thread::scope(|scope| {
            loop {
                let Ok((stream, _)) = listener.accept() else {
                    // Out of descriptors, or the client left already: the next may do better.
                    std::thread::sleep(Duration::from_millis(20));
                    continue;
                };
                let stream = Arc::new(stream);
                if !connections.admit(&stream, PATIENCE) {
                    // Told or not, it is closed.
                    drop(HttpReply::plain(503, "Service Unavailable").send(&stream, true));
                    continue;
                }
                let connection = Connection {
                    server: self,
                    guard: &guard,
                    sessions: &sessions,
                    connections: &connections,
                    large: &large,
                    stream: Arc::clone(&stream),
                };
                let connections = &connections;
                let spawned = std::thread::Builder::new()
                    .name("http".to_owned())
                    .stack_size(1 << 20)
                    .spawn_scoped(scope, move || {
                        // A client that breaks off is its own affair.
                        drop(connection.serve());
                        connections.remove(&connection.stream);
                    });
                if spawned.is_err() {
                    connections.remove(&stream);
                }
            }
        })
    }
}

/// Every connection takes a descriptor, and every call a few. Where more are not allowed, fewer connections are served.
fn allow_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(DESCRIPTORS).min(DESCRIPTORS);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(wanted);
        let _refused = setrlimit(Resource::Nofile, limit);
    }
}

struct Connection<'a> {
    server: &'a Server,
    guard: &'a Guard,
    sessions: &'a Sessions,
    connections: &'a Connections,
    large: &'a LargeMessages,
    stream: Arc<TcpStream>,
}

/// What to answer.
struct HttpReply {
    status: u16,
    reason: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl HttpReply {
    fn plain(status: u16, reason: &'static str) -> Self {
        Self {
            status,
            reason,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    fn json(status: u16, reason: &'static str, body: Vec<u8>) -> Self {
        Self {
            headers: vec![("Content-Type", "application/json".to_owned())],
            body,
            ..Self::plain(status, reason)
        }
    }

    fn fault(status: u16, reason: &'static str, fault: &BadMessage) -> Self {
        Self::json(status, reason, protocol::error_reply(fault))
    }

    /// Sends it, and says whether the connection ends with it.
    fn send(&self, mut stream: &TcpStream, closes: bool) -> io::Result<()> {
        let mut head = format!(
            "HTTP/1.1 {} {}\r\nContent-Length: {}\r\n",
            self.status,
            self.reason,
            self.body.len()
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if closes {
            head.push_str("Connection: close\r\n");
        }
        head.push_str("Cache-Control: no-store\r\n\r\n");
        let mut all = head.into_bytes();
        all.extend_from_slice(&self.body);
        stream.write_all(&all)
    }
}

impl Connection<'_> {
    /// Requests of one connection, one after the other.
    fn serve(&self) -> io::Result<()> {
        let stream = &*self.stream;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let mut buffer = Vec::new();
        loop {
            let mut request = Patient::new(stream, PATIENCE);
            let head = match Head::read(&mut request, &mut buffer) {
                Ok(Some(head)) => head,
                Ok(None) => return Ok(()),
                Err(reply) => return reply.send(stream, true),
            };
            let caller = match self
                .guard
                .check(&head)
                .and_then(|caller| shape(&head, caller))
            {
                Ok(caller) => caller,
                Err(reply) => {
                    // A client that waits for `100 Continue` may send its body or not.
                    let is_read = !head.expects_continue
                        && matches!(
                            body::read(&mut request, &mut buffer, &head, SKIPPED, &mut || false)?,
                            Body::Whole(_)
                        );
                    let closes = head.closes || !is_read;
                    reply.send(stream, closes)?;
                    if closes {
                        return Ok(());
                    }
                    continue;
                }
            };
            // Until the body is there, it is one that waits: bodies that never come lock nobody out.
            if head.expects_continue {
                (&mut &*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            }
            // Given back when the answer was taken.
            let mut room = None;
            let mut make_room = || {
                room = self.large.wait(stream, caller, PATIENCE);
                room.is_some()
            };
            match body::read(
                &mut request,
                &mut buffer,
                &head,
                MAX_MESSAGE,
                &mut make_room,
            )? {
                Body::Whole(body) => {
                    self.connections.wait(&self.stream);
                    let events = Stream::new(stream, head.takes_streams && !head.closes);
                    let reply = self.answer(&head, caller, (&body, &mut room), &events);
                    match events.has_begun() {
                        true => events.finish(&reply.body)?,
                        false => reply.send(stream, head.closes)?,
                    }
                }
                Body::TooLong => return too_long().send(stream, true),
                Body::NoRoom => return too_many(Id::null()).send(stream, true),
                Body::Bad => return HttpReply::plain(400, "Bad Request").send(stream, true),
            }
            if head.closes {
                return Ok(());
            }
            self.connections.wait(&self.stream);
        }
    }

    fn answer<'b>(
        &'b self,
        head: &Head,
        caller: &str,
        (body, room): (&[u8], &mut Option<LargePermit<'b>>),
        events: &Stream<'_>,
    ) -> HttpReply {
        if head.method == "DELETE" {
            return match head
                .session
                .as_deref()
                .is_some_and(|id| self.sessions.end(id, caller))
            {
                true => HttpReply::plain(200, "OK"),
                false => HttpReply::plain(404, "Not Found"),
            };
        }
        let request = match protocol::parse(body) {
            Ok(Message::Request(request)) => request,
            Ok(told) => return self.told(head, caller, told),
            Err(fault) => return HttpReply::fault(400, "Bad Request", &fault),
        };
        let fault = head.bad_version(&request);
        let fault = fault.or_else(|| head.mismatch(&request));
        if let Some(fault) = fault.or_else(|| protocol::bad_meta(&request)) {
            return HttpReply::fault(400, "Bad Request", &fault);
        }
        // What takes no time is answered whatever else goes on, and so is what ends a wait.
        let is_call = protocol::takes_time(&request.method);
        if is_call && self.connections.begin(&self.stream, caller, PATIENCE) != WorkTurn::Now {
            return too_many(request.id);
        }
        if room.is_none() && protocol::may_be_large(self.server, &request, LARGE) {
            *room = self.large.wait(&self.stream, caller, PATIENCE);
            if room.is_none() {
                return too_many(request.id);
            }
        }
        let is_first = request.method == "initialize";
        let client = match head.session.as_deref() {
            Some(id) if !is_first => match self.sessions.find(id, caller) {
                Some(client) => Some(client),
                None => return HttpReply::plain(404, "Not Found"),
            },
            _ => None,
        };
        let mut peer = match &client {
            Some(client) => client.peer(self.server, is_call, events),
            None => Peer::new(self.server),
        };
        peer.caller = Some(caller.to_owned()).filter(|caller| !caller.is_empty());
        let cancelled = match &client {
            Some(client) => client.begin(&request.id),
            None => Arc::default(),
        };
        let watch = HttpWatch::new(
            (&self.stream, events),
            &request,
            &cancelled,
            head.is_stateless(),
        );
        let mut replied = protocol::answer(self.server, &mut peer, &request, &watch);
        if let Some(client) = &client {
            client.finish(&cancelled);
        }
        if cancelled.load(Ordering::Relaxed) && !protocol::may_change(self.server, &request) {
            // Something has to be answered here; what was found is nobody's any more. What became of a change is told.
            let text = "the client cancelled the request";
            replied = Err(BadMessage::new(request.id.clone(), code::INTERNAL, text));
        }
        match replied {
            Ok(body) => {
                let mut reply = HttpReply::json(200, "OK", body);
                if is_first {
                    match self.sessions.begin(caller, peer) {
                        Ok(id) => reply.headers.push(("Mcp-Session-Id", id)),
                        Err(_) => return HttpReply::plain(500, "Internal Server Error"),
                    }
                }
                reply
            }
            Err(fault) => {
                let (status, reason) = match (fault.code, head.is_stateless()) {
                    (code::UNSUPPORTED_VERSION, _) => (400, "Bad Request"),
                    (code::UNKNOWN_METHOD, true) => (404, "Not Found"),
                    _ => (200, "OK"),
                };
                HttpReply::fault(status, reason, &fault)
            }
        }
    }
}

impl Connection<'_> {
    /// Takes what wants no answer: the answer to a question of ours, or a notification.
    fn told(&self, head: &Head, caller: &str, message: Message) -> HttpReply {
        let session = head.session.as_deref();
        let client = session.and_then(|id| self.sessions.find(id, caller));
        match (client, message) {
            (Some(client), Message::Response { id, result }) => client.answer(&id, result),
            (Some(client), Message::Cancelled(id)) => client.cancel(&id),
            (Some(client), Message::Notification { method })
                if method == "notifications/roots/list_changed" =>
            {
                client.forget_roots();
            }
            _ => {}
        }
        HttpReply::plain(202, "Accepted")
    }
}

/// What every request must look like before its body is read.
fn shape<'a>(head: &Head, caller: &'a str) -> Result<&'a str, HttpReply> {
    if head.path != "/mcp" && head.path != "/" {
        return Err(HttpReply::plain(404, "Not Found"));
    }
    match head.method.as_str() {
        "POST" if !head.is_json => Err(HttpReply::plain(415, "Unsupported Media Type")),
        "POST" if !head.has_length && !head.is_chunked => {
            Err(HttpReply::plain(411, "Length Required"))
        }
        "POST" | "DELETE" if head.length > MAX_MESSAGE => Err(too_long()),
        "POST" | "DELETE" => Ok(caller),
        _ => {
            let mut reply = HttpReply::plain(405, "Method Not Allowed");
            reply.headers.push(("Allow", "POST, DELETE".to_owned()));
            Err(reply)
        }
    }
}

/// The caller has as many calls under way as it may have, and they do not end.
fn too_many(id: Id) -> HttpReply {
    let text =
        "too many calls of this caller are under way; try again when some of them are answered";
    let fault = BadMessage::new(id, code::INTERNAL, text);
    let mut reply = HttpReply::fault(503, "Service Unavailable", &fault);
    reply.headers.push(("Retry-After", "1".to_owned()));
    reply
}

fn too_long() -> HttpReply {
    let text = format!("Invalid Request: the message is longer than {MAX_MESSAGE} bytes");
    let fault = BadMessage::new(Id::null(), code::INVALID_REQUEST, text);
    HttpReply::fault(413, "Content Too Large", &fault)
}
