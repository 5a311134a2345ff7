//! Messages on standard input and output, one a line.
//!
//! One message at a time, in order; every tool is bounded, so none waits long. While a client owes
//! us its roots, calls wait for them, and for no longer than two seconds.

mod input;

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use serde_json::Value;

use self::input::{Input, Next};
use super::MAX_MESSAGE;
use crate::protocol::{self, Fault, Message, Peer, Request, code};
use crate::roots;
use crate::server::Server;

/// How long a client may take to tell its roots.
const ROOTS_PATIENCE: Duration = Duration::from_secs(2);

/// How many calls wait for roots; who sends more has waited enough.
const MOST_WAITING: usize = 64;

/// A question for roots that is under way.
struct Asked {
    id: String,
    until: Instant,
}

struct Stdio<'a, W> {
    server: &'a Server,
    output: W,
    /// For people.
    say: &'a mut dyn FnMut(&str),
    peer: Peer,
    asked: Option<Asked>,
    questions: u64,
    waiting: VecDeque<Request>,
}

impl Server {
    /// Answers until the input ends. `say` gets lines for people.
    ///
    /// # Errors
    /// What reading or writing says; an output that nobody reads any more is an end, not an error.
    pub fn serve_stdio(
        &self,
        input: impl AsFd,
        output: impl Write,
        say: &mut dyn FnMut(&str),
    ) -> io::Result<()> {
        let mut stdio = Stdio {
            server: self,
            output,
            say,
            peer: Peer::new(self),
            asked: None,
            questions: 0,
            waiting: VecDeque::new(),
        };
        match stdio.run(&mut Input::new(input, MAX_MESSAGE)) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => done,
        }
    }
}

impl<W: Write> Stdio<'_, W> {
    fn run(&mut self, input: &mut Input<impl AsFd>) -> io::Result<()> {
        loop {
            let until = self.asked.as_ref().map(|asked| asked.until);
            match input.next(until)? {
                Next::Line(line) => self.take(&line)?,
                Next::TooLong => {
                    let text =
                        format!("Invalid Request: the message is longer than {MAX_MESSAGE} bytes");
                    self.send(&protocol::error_reply(&Fault::new(
                        Value::Null,
                        code::INVALID_REQUEST,
                        text,
                    )))?;
                }
                Next::TimeOut => {
                    (self.say)("the client does not tell its roots; going on without");
                    self.asked = None;
                    self.answer_waiting()?;
                }
                Next::End => return self.answer_waiting(),
            }
        }
    }

    fn take(&mut self, line: &[u8]) -> io::Result<()> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        match protocol::parse(line) {
            Err(fault) => self.send(&protocol::error_reply(&fault)),
            Ok(Message::Request(request)) => {
                let waits = self.asked.is_some() && request.method == "tools/call";
                if waits && self.waiting.len() < MOST_WAITING {
                    self.waiting.push_back(request);
                    return Ok(());
                }
                self.answer(&request)
            }
            Ok(Message::Notification { method }) => match method.as_str() {
                "notifications/initialized" | "notifications/roots/list_changed"
                    if self.peer.has_roots =>
                {
                    self.ask_roots()
                }
                _ => Ok(()),
            },
            Ok(Message::Response { id, result }) => {
                if self.asked.as_ref().is_none_or(|asked| id != asked.id) {
                    return Ok(());
                }
                self.asked = None;
                let (view, warnings) = roots::narrow(self.server, &result);
                self.peer.view = view;
                for warning in warnings {
                    (self.say)(&warning);
                }
                self.answer_waiting()
            }
        }
    }

    fn ask_roots(&mut self) -> io::Result<()> {
        self.questions += 1;
        let id = format!("handfast-roots-{}", self.questions);
        self.send(&protocol::ask_roots(&id))?;
        self.asked = Some(Asked {
            id,
            until: Instant::now() + ROOTS_PATIENCE,
        });
        Ok(())
    }

    fn answer_waiting(&mut self) -> io::Result<()> {
        while let Some(request) = self.waiting.pop_front() {
            self.answer(&request)?;
        }
        Ok(())
    }

    fn answer(&mut self, request: &Request) -> io::Result<()> {
        let reply = protocol::answer(self.server, &mut self.peer, request);
        let reply = reply.unwrap_or_else(|fault| protocol::error_reply(&fault));
        self.send(&reply)
    }

    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.output.write_all(message)?;
        self.output.write_all(b"\n")?;
        self.output.flush()
    }
}
