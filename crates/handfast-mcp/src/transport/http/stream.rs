//! An answer as a stream of events: where the client has to be asked something before it can be given.

use std::cell::Cell;
use std::io::{self, Write};
use std::net::TcpStream;

/// Whether the other side has closed a connection. Only the thread that serves the connection may ask.
pub(super) fn is_closed(stream: &TcpStream) -> bool {
    let looked = stream
        .set_nonblocking(true)
        .and_then(|()| stream.peek(&mut [0]));
    let back = stream.set_nonblocking(false);
    let gone = match looked {
        Ok(got) => got == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    };
    gone || back.is_err()
}

/// The answer to one request. It becomes a stream with the first message that goes before it.
pub(super) struct Stream<'a> {
    stream: &'a TcpStream,
    /// The client takes streams.
    is_possible: bool,
    has_begun: Cell<bool>,
    /// The client went away.
    has_failed: Cell<bool>,
}

impl<'a> Stream<'a> {
    pub(super) fn new(stream: &'a TcpStream, is_possible: bool) -> Self {
        Self {
            stream,
            is_possible,
            has_begun: Cell::new(false),
            has_failed: Cell::new(false),
        }
    }

    pub(super) fn is_possible(&self) -> bool {
        self.is_possible
    }

    /// Whether the client has closed the connection, or cannot be reached.
    pub(super) fn is_gone(&self) -> bool {
        is_closed(self.stream) || self.has_failed.get()
    }

    pub(super) fn has_begun(&self) -> bool {
        self.has_begun.get()
    }

    /// Sends a message before the answer.
    pub(super) fn send(&self, message: &[u8]) {
        if self.try_send(message).is_err() {
            self.has_failed.set(true);
        }
    }

    fn try_send(&self, message: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(message.len() + 256);
        if !self.has_begun.replace(true) {
            bytes.extend_from_slice(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nCache-Control: no-store\r\n\r\n",
            );
        }
        let event = [b"data: ", message, b"\n\n"].concat();
        bytes.extend_from_slice(format!("{:x}\r\n", event.len()).as_bytes());
        bytes.extend_from_slice(&event);
        bytes.extend_from_slice(b"\r\n");
        (&mut &*self.stream).write_all(&bytes)
    }

    /// Sends the answer, and ends the stream. The connection goes on.
    pub(super) fn finish(&self, answer: &[u8]) -> io::Result<()> {
        if self.has_failed.get() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.try_send(answer)?;
        (&mut &*self.stream).write_all(b"0\r\n\r\n")
    }
}
