//! Lines from a descriptor, with a limit on their length and on the wait for them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::protocol::{Id, Scanner};

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
    /// Nothing will come any more, or nobody is to wait for it any more.
    End,
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

    pub(super) fn is_set(&self) -> bool {
        self.set.load(Ordering::SeqCst)
    }
}

pub(super) struct Input<'a, F> {
    fd: F,
    stop: &'a Stop,
    limit: usize,
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
                let rest = self.buffer.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
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
                false => return Ok(Next::TimeOut),
                true => self.fill()?,
            }
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let before = self.buffer.len();
        self.buffer.resize(before + 64 * 1024, 0);
        let got =
            rustix::io::retry_on_intr(|| rustix::io::read(&self.fd, &mut self.buffer[before..]));
        let got = match got {
            Ok(got) => got,
            Err(error) => {
                self.buffer.truncate(before);
                // Somebody made the pipe non-blocking, and took what was there.
                if error == Errno::AGAIN {
                    return Ok(());
                }
                return Err(error.into());
            }
        };
        self.buffer.truncate(before + got);
        self.ended = got == 0;
        Ok(())
    }

    /// Whether something happens before the moment given.
    fn wait(&self, until: Option<Instant>) -> io::Result<bool> {
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
                Ok(ready) => return Ok(ready > 0),
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
        let (reader, _writer) = std::io::pipe().unwrap();
        let mut input = Input::new(reader, 10, &stop);
        stop.set();
        assert_eq!(input.next(None).unwrap(), Next::End);
    }
}
