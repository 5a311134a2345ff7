//! One message after the other: what can be answered at once is, calls are handed on.

use std::io::Write;
use std::os::fd::AsFd;
use std::time::Instant;

use serde_json::Value;

use super::super::{MAX_MESSAGE, ROOTS_TIMEOUT};
use super::Output;
use super::input::{Input, Next};
use crate::call::Nobody;
use crate::protocol::{self, BadMessage, Id, Message, Peer, Request, code};
use crate::roots;
use crate::server::Server;

/// What a message comes to for the calls.
pub(super) enum Came {
    Call(Request),
    Cancel(Id),
    /// The client's answer to a question of a call.
    Reply(Id, Value),
    /// Whether calls wait for roots.
    Hold(bool),
    Nothing,
    End,
}

pub(super) struct Reader<'a, F, W> {
    server: &'a Server,
    output: &'a Output<'a, W>,
    input: Input<'a, F>,
    /// For people.
    say: &'a mut (dyn FnMut(&str) + Send),
    /// Until when the client's roots are waited for.
    until: Option<Instant>,
    /// The question for them that is under way.
    asked: Option<Id>,
    questions: u64,
}

impl<'a, F: AsFd, W: Write> Reader<'a, F, W> {
    pub(super) fn new(
        server: &'a Server,
        output: &'a Output<'a, W>,
        input: Input<'a, F>,
        say: &'a mut (dyn FnMut(&str) + Send),
    ) -> Self {
        Self {
            server,
            output,
            input,
            say,
            until: None,
            asked: None,
            questions: 0,
        }
    }

    /// Waits for the next message.
    pub(super) fn next(&mut self, peer: &mut Peer) -> Came {
        match self.input.next(self.until) {
            Ok(Next::Line(line)) => self.take(&line, peer),
            Ok(Next::TooLong(id)) => {
                let text =
                    format!("Invalid Request: the message is longer than {MAX_MESSAGE} bytes");
                self.refuse(&BadMessage::new(id, code::INVALID_REQUEST, text));
                Came::Nothing
            }
            Ok(Next::Nudged) => Came::Nothing,
            Ok(Next::TimeOut) => {
                let (view, why) = roots::none("the client did not tell its roots in time");
                (self.say)(&why);
                peer.view = view;
                self.settled()
            }
            Ok(Next::End) => {
                if self.until.is_some() {
                    peer.view = roots::none("the client did not tell its roots").0;
                }
                Came::End
            }
            Err(error) => {
                self.output.fail(error);
                Came::End
            }
        }
    }

    fn refuse(&self, fault: &BadMessage) {
        self.output.send(protocol::error_reply(fault));
    }

    /// The roots are known, or nobody waits for them any more.
    fn settled(&mut self) -> Came {
        self.until = None;
        self.asked = None;
        Came::Hold(false)
    }

    fn take(&mut self, line: &[u8], peer: &mut Peer) -> Came {
        if line.trim_ascii().is_empty() {
            return Came::Nothing;
        }
        match protocol::parse(line) {
            Err(fault) => {
                self.refuse(&fault);
                Came::Nothing
            }
            Ok(Message::Request(request)) if protocol::takes_time(&request.method) => {
                Came::Call(request)
            }
            Ok(Message::Request(request)) => self.answer(&request, peer),
            Ok(Message::Notification { method }) => self.notified(&method, peer),
            Ok(Message::Cancelled(id)) => Came::Cancel(id),
            Ok(Message::Response { id, result }) => {
                if self.asked.as_ref() != Some(&id) {
                    return Came::Reply(id, result);
                }
                let (view, warnings) = roots::narrow(self.server, &result);
                peer.view = view;
                for warning in warnings {
                    (self.say)(&warning);
                }
                self.settled()
            }
        }
    }

    /// Answers what takes no time.
    fn answer(&mut self, request: &Request, peer: &mut Peer) -> Came {
        let reply = protocol::answer(self.server, peer, request, &Nobody);
        let reply = reply.unwrap_or_else(|fault| protocol::error_reply(&fault));
        self.output.send(reply);
        match request.method == "initialize" && peer.has_roots {
            true => self.wait_for_roots(),
            false => Came::Nothing,
        }
    }

    fn wait_for_roots(&mut self) -> Came {
        self.until = Some(Instant::now() + ROOTS_TIMEOUT);
        Came::Hold(true)
    }

    fn notified(&mut self, method: &str, peer: &Peer) -> Came {
        match method {
            "notifications/initialized" | "notifications/roots/list_changed" if peer.has_roots => {
                self.questions += 1;
                let id = format!("handfast-roots-{}", self.questions);
                self.output.send(protocol::ask_roots(&id));
                self.asked = Some(Id::from(id.as_str()));
                self.wait_for_roots()
            }
            _ => Came::Nothing,
        }
    }
}
