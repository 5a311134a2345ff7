//! Messages by HTTP, on loopback only: one POST a message, one JSON answer.
//!
//! A browser on the same machine can reach a loopback port too. So every request needs the token
//! that was printed at the start, and a request that a web page sent (`Origin`), or that came by
//! another name than loopback (`Host`), is refused before anything of it is looked at.

mod guard;
mod head;
mod patience;
mod sessions;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use self::guard::Guard;
use self::head::Head;
use self::patience::Patient;
use self::sessions::Sessions;
use super::MAX_MESSAGE;
use crate::call::Nobody;
use crate::protocol::{self, Fault, Id, Message, code};
use crate::server::Server;

/// How many connections are served at a time; the next is told so and closed.
const MOST_CONNECTIONS: usize = 16;

/// How long a client may take for one request, or keep a connection without one; and for taking a
/// part of the answer.
const PATIENCE: Duration = Duration::from_secs(30);

impl Server {
    /// Answers on a loopback address until the process ends. `say` gets lines for people: where
    /// it listens, and the token.
    ///
    /// # Errors
    /// `InvalidInput` for an address that is not loopback; what listening says.
    pub fn serve_http(&self, address: SocketAddr, say: &mut dyn FnMut(&str)) -> io::Result<()> {
        if !address.ip().is_loopback() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "only a loopback address is served; put a proxy in front for others",
            ));
        }
        let listener = TcpListener::bind(address)?;
        let guard = Guard::new()?;
        let sessions = Sessions::default();
        say(&format!(
            "listening on http://{}/mcp",
            listener.local_addr()?
        ));
        say(&format!(
            "every request needs: Authorization: Bearer {}",
            guard.token()
        ));
        let busy = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            loop {
                let (stream, _) = match listener.accept() {
                    Ok(accepted) => accepted,
                    // Out of descriptors, or the client left already: the next may do better.
                    Err(_) => {
                        std::thread::sleep(Duration::from_millis(20));
                        continue;
                    }
                };
                if busy.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
                    busy.fetch_sub(1, Ordering::SeqCst);
                    // Told or not, it is closed.
                    drop(Reply::plain(503, "Service Unavailable").send(&stream));
                    continue;
                }
                let (guard, sessions, busy) = (&guard, &sessions, &busy);
                let connection = Connection {
                    server: self,
                    guard,
                    sessions,
                };
                let spawned = std::thread::Builder::new()
                    .name("http".to_owned())
                    .stack_size(1 << 20)
                    .spawn_scoped(scope, move || {
                        // A client that breaks off is its own affair.
                        drop(connection.serve(stream));
                        busy.fetch_sub(1, Ordering::SeqCst);
                    });
                if spawned.is_err() {
                    busy.fetch_sub(1, Ordering::SeqCst);
                }
            }
        })
    }
}

struct Connection<'a> {
    server: &'a Server,
    guard: &'a Guard,
    sessions: &'a Sessions,
}

/// What to answer.
struct Reply {
    status: u16,
    reason: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Reply {
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

    fn fault(status: u16, reason: &'static str, fault: &Fault) -> Self {
        Self::json(status, reason, protocol::error_reply(fault))
    }

    fn send(&self, mut stream: &TcpStream) -> io::Result<()> {
        let mut head = format!(
            "HTTP/1.1 {} {}\r\nContent-Length: {}\r\n",
            self.status,
            self.reason,
            self.body.len()
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("Cache-Control: no-store\r\n\r\n");
        let mut all = head.into_bytes();
        all.extend_from_slice(&self.body);
        stream.write_all(&all)
    }
}

impl Connection<'_> {
    /// Requests of one connection, one after the other.
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let mut buffer = Vec::new();
        loop {
            let mut request = Patient::new(&stream, PATIENCE);
            let head = match Head::read(&mut request, &mut buffer) {
                Ok(Some(head)) => head,
                Ok(None) => return Ok(()),
                Err(reply) => return reply.send(&stream),
            };
            // The body of a request that is refused is not read: the connection ends.
            if let Some(reply) = self.guard.check(&head).or_else(|| shape(&head)) {
                return reply.send(&stream);
            }
            if head.expects_continue {
                (&stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            }
            let body = read_body(&mut request, &mut buffer, head.length)?;
            self.answer(&head, &body).send(&stream)?;
            if head.closes {
                return Ok(());
            }
        }
    }

    fn answer(&self, head: &Head, body: &[u8]) -> Reply {
        if head.method == "DELETE" {
            return match head
                .session
                .as_deref()
                .is_some_and(|id| self.sessions.end(id))
            {
                true => Reply::plain(200, "OK"),
                false => Reply::plain(404, "Not Found"),
            };
        }
        let request = match protocol::parse(body) {
            Ok(Message::Request(request)) => request,
            Ok(_) => return Reply::plain(202, "Accepted"),
            Err(fault) => return Reply::fault(400, "Bad Request", &fault),
        };
        if let Some(fault) = head.mismatch(&request) {
            return Reply::fault(400, "Bad Request", &fault);
        }
        let is_first = request.method == "initialize";
        let mut peer = match head.session.as_deref() {
            Some(_) if is_first => self.sessions.newcomer(self.server),
            None => self.sessions.newcomer(self.server),
            Some(id) => match self.sessions.find(id) {
                Some(peer) => peer,
                None => return Reply::plain(404, "Not Found"),
            },
        };
        let replied = protocol::answer(self.server, &mut peer, &request, &Nobody);
        match replied {
            Ok(body) => {
                let mut reply = Reply::json(200, "OK", body);
                if is_first {
                    match self.sessions.begin(peer) {
                        Ok(id) => reply.headers.push(("Mcp-Session-Id", id)),
                        Err(_) => return Reply::plain(500, "Internal Server Error"),
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
                Reply::fault(status, reason, &fault)
            }
        }
    }
}

/// What every request must look like before its body is read.
fn shape(head: &Head) -> Option<Reply> {
    if head.path != "/mcp" && head.path != "/" {
        return Some(Reply::plain(404, "Not Found"));
    }
    match head.method.as_str() {
        "POST" if !head.is_json => return Some(Reply::plain(415, "Unsupported Media Type")),
        "POST" if !head.has_length => return Some(Reply::plain(411, "Length Required")),
        "POST" | "DELETE" => {}
        _ => {
            let mut reply = Reply::plain(405, "Method Not Allowed");
            reply.headers.push(("Allow", "POST, DELETE".to_owned()));
            return Some(reply);
        }
    }
    if head.length > MAX_MESSAGE {
        let text = format!("Invalid Request: the message is longer than {MAX_MESSAGE} bytes");
        let fault = Fault::new(Id::null(), code::INVALID_REQUEST, text);
        return Some(Reply::fault(413, "Content Too Large", &fault));
    }
    None
}

fn read_body(stream: &mut impl Read, buffer: &mut Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
    let rest = buffer.split_off(length.min(buffer.len()));
    let mut body = std::mem::replace(buffer, rest);
    let missing = length - body.len();
    let got = stream.take(missing as u64).read_to_end(&mut body)?;
    if got < missing {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(body)
}
