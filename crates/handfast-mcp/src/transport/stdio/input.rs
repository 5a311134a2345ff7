//! Lines from a descriptor, with a limit on their length and on the wait for them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::protocol::{Id, Scanner};

/// How much is read at a time.
const READ: usize = 64 * 1024;

/// A buffer that grew beyond this for one message is given back after it.
const KEEP: usize = 256 * 1024;

/// What came.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Next {
    Line(Vec<u8>),
    /// A line over the limit; it was skipped. Its id, if it had one.
    TooLong(Id),
    /// Nothing until the moment given.
    TimeOut,
    /// Nothing; somebody wants the one who waits here to look round.
    Nudged,
    /// Nothing will come any more, or nobody is to wait for it any more.
    End,
}

/// Why a wait ended.
enum Ready {
    Input,
    Nudge,
    Nothing,
}

/// Ends the wait for input, from any thread.
pub(super) struct Stop {
    event: OwnedFd,
    set: AtomicBool,
}

impl Stop {
    pub(super) fn new() -> io::Result<Self> {
        let event = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            event,
            set: AtomicBool::new(false),
        })
    }

    pub(super) fn set(&self) {
        self.set.store(true, Ordering::SeqCst);
        // The counter never fills: this is done a few times at most.
        let _written = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// Ends one wait for input; the next goes on.
    pub(super) fn nudge(&self) {
        // A counter that is full says the same.
        let _written = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    fn take_nudge(&self) {
        let _read = rustix::io::read(&self.event, &mut [0; 8]);
    }

    pub(super) fn is_set(&self) -> bool {
        self.set.load(Ordering::SeqCst)
    }
}

pub(super) struct Input<'a, F> {
    fd: F,
    stop: &'a Stop,
    limit: usize,
    /// What is read goes here first. It is made once: of what is never filled, nothing is in memory.
    chunk: Vec<u8>,
    buffer: Vec<u8>,
    /// How much of the buffer was searched for a line's end.
    searched: usize,
    /// The rest of a line that is too long is coming; its id is looked for.
    skipping: Option<Scanner>,
    ended: bool,
}

impl<'a, F: AsFd> Input<'a, F> {
    pub(super) fn new(fd: F, limit: usize, stop: &'a Stop) -> Self {
        Self {
            fd,
            stop,
            limit,
            chunk: vec![0; READ],
            buffer: Vec::new(),
            searched: 0,
            skipping: None,
            ended: false,
        }
    }

    /// The next line, without its end. A last line without one counts.
    pub(super) fn next(&mut self, until: Option<Instant>) -> io::Result<Next> {
        loop {
            let end = self.buffer[self.searched..]
                .iter()
                .position(|byte| *byte == b'\n')
                .map(|at| at + self.searched);
            if let Some(end) = end {
                let mut line = match end + 1 == self.buffer.len() {
                    true => std::mem::take(&mut self.buffer),
                    false => self.buffer.drain(..=end).collect(),
                };
                line.pop();
                self.searched = 0;
                if self.buffer.capacity() > KEEP && self.buffer.len() < KEEP {
                    self.buffer.shrink_to(KEEP);
                }
                if let Some(mut scanner) = self.skipping.take() {
                    scanner.feed(&line);
                    return Ok(Next::TooLong(scanner.finish()));
                }
                return Ok(Next::Line(line));
            }
            self.searched = self.buffer.len();
            if self.buffer.len() > self.limit {
                self.skipping.get_or_insert_default();
            }
            if let Some(scanner) = &mut self.skipping {
                scanner.feed(&self.buffer);
                self.buffer = Vec::new();
                self.searched = 0;
            }
            if self.ended {
                let line = std::mem::take(&mut self.buffer);
                self.searched = 0;
                if let Some(scanner) = self.skipping.take() {
                    return Ok(Next::TooLong(scanner.finish()));
                }
                return Ok(if line.is_empty() {
                    Next::End
                } else {
                    Next::Line(line)
                });
            }
            match self.wait(until)? {
                _ if self.stop.is_set() => return Ok(Next::End),
                Ready::Nothing => return Ok(Next::TimeOut),
                Ready::Nudge => {
                    self.stop.take_nudge();
                    return Ok(match self.stop.is_set() {
                        true => Next::End,
                        false => Next::Nudged,
                    });
                }
                Ready::Input => self.fill()?,
            }
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let got = rustix::io::retry_on_intr(|| rustix::io::read(&self.fd, &mut self.chunk[..]));
        let got = match got {
            Ok(got) => got,
            // Somebody made the pipe non-blocking, and took what was there.
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        self.buffer.extend_from_slice(&self.chunk[..got]);
        self.ended = got == 0;
        Ok(())
    }

    /// What happens before the moment given.
    fn wait(&self, until: Option<Instant>) -> io::Result<Ready> {
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let left = left.map(|left| Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            });
            let mut fds = [
                PollFd::new(&self.fd, PollFlags::IN),
                PollFd::new(&self.stop.event, PollFlags::IN),
            ];
            match rustix::event::poll(&mut fds, left.as_ref()) {
                Ok(0) => return Ok(Ready::Nothing),
                // Input that there is may not be there any more after the nudge: it is looked for again.
                Ok(_) if !fds[1].revents().is_empty() => return Ok(Ready::Nudge),
                Ok(_) => return Ok(Ready::Input),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::time::Duration;

    fn line(text: &str) -> Next {
        Next::Line(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_come_one_by_one_and_long_ones_are_skipped() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let stop = Stop::new().unwrap();
        let mut input = Input::new(reader, 10, &stop);
        writer.write_all(b"one\n\ntwo\n").unwrap();
        assert_eq!(input.next(None).unwrap(), line("one"));
        assert_eq!(input.next(None).unwrap(), line(""));
        assert_eq!(input.next(None).unwrap(), line("two"));
        let soon = Instant::now() + Duration::from_millis(5);
        assert_eq!(input.next(Some(soon)).unwrap(), Next::TimeOut);
        writer.write_all(b"a").unwrap();
        let soon = Instant::now() + Duration::from_millis(5);
        assert_eq!(input.next(Some(soon)).unwrap(), Next::TimeOut);
        let long = std::thread::spawn(move || {
            writer.write_all(br#"{"x":""#).unwrap();
            writer.write_all(&[b'x'; 200_000]).unwrap();
            writer.write_all(br#"","id":"late"}"#).unwrap();
            writer.write_all(b"\nthree\nlast").unwrap();
        });
        assert_eq!(input.next(None).unwrap(), Next::TooLong(Id::from("late")));
        assert_eq!(input.next(None).unwrap(), line("three"));
        assert_eq!(input.next(None).unwrap(), line("last"));
        assert_eq!(input.next(None).unwrap(), Next::End);
        long.join().unwrap();
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut input = Input::new(reader, 10, &stop);
        stop.nudge();
        writer.write_all(b"one\n").unwrap();
        assert_eq!(input.next(None).unwrap(), Next::Nudged);
        assert_eq!(input.next(None).unwrap(), line("one"));
        stop.nudge();
        assert_eq!(input.next(None).unwrap(), Next::Nudged);
        stop.set();
        assert_eq!(input.next(None).unwrap(), Next::End);
    }
}
