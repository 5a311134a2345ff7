//! Messages on standard input and output, one a line.
//!
//! A few threads share the work. One of them reads; a call is run by the thread that read it while
//! the next one reads on, so a slow search holds up neither `ping` nor other calls. Changes are made
//! one at a time, in the order in which they were sent, and a call begins when the changes that were
//! sent before it are done. While a client owes its roots, calls wait for them.

mod input;
mod pool;
mod reader;
mod turns;
mod watch;

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

use self::input::{Input, Stop};
use self::pool::Pool;
use self::reader::Reader;
use super::MAX_MESSAGE;
use crate::protocol::Peer;
use crate::server::Server;

impl Server {
    /// Answers until the input ends. `say` gets lines for people.
    ///
    /// # Errors
    /// What reading or writing says; an output that nobody reads any more is an end, not an error.
    pub fn serve_stdio(
        &self,
        input: impl AsFd + Send,
        output: impl Write + Send,
        say: &mut (dyn FnMut(&str) + Send),
    ) -> io::Result<()> {
        let stop = Arc::new(Stop::new()?);
        let output = Output {
            stream: Mutex::new(output),
            stop: &stop,
            failed: Mutex::new(None),
        };
        let mut peer = Peer::new(self);
        peer.subscribes = true;
        let input = Input::new(input, MAX_MESSAGE, &stop);
        let reader = Reader::new(self, &output, input, say);
        let pool = Pool::new(self, &output, reader, peer, &stop);
        std::thread::scope(|scope| pool.work(scope));
        match output.into_error() {
            Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Where answers go, from every thread.
struct Output<'a, W> {
    stream: Mutex<W>,
    stop: &'a Stop,
    failed: Mutex<Option<io::Error>>,
}

impl<W: Write> Output<'_, W> {
    /// Sends one message. If that fails, everything ends.
    fn send(&self, message: Vec<u8>) {
        self.send_after(message, || {});
    }

    /// Does something first, when it is this message's turn. So a call counts as done before its answer leaves, and a
    /// client that asks the next finds the thread free; and what begins because the call is done is answered later.
    fn send_after(&self, mut message: Vec<u8>, first: impl FnOnce()) {
        message.push(b'\n');
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        first();
        let sent = stream.write_all(&message).and_then(|()| stream.flush());
        drop(stream);
        if let Err(error) = sent {
            self.fail(error);
        }
    }

    fn fail(&self, error: io::Error) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(error);
        self.stop.set();
    }

    fn into_error(self) -> Option<io::Error> {
        self.failed
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
