//! Lines from a descriptor, with a limit on their length and on the wait for them.

use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

/// A buffer that grew beyond this for one message is given back after it.
const KEEP: usize = 256 * 1024;

/// What came.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Next {
    Line(Vec<u8>),
    /// A line over the limit; it was skipped.
    TooLong,
    /// Nothing until the moment given.
    TimeOut,
    /// Nothing will come any more.
    End,
}

pub(super) struct Input<F> {
    fd: F,
    limit: usize,
    buffer: Vec<u8>,
    /// How much of the buffer was searched for a line's end.
    searched: usize,
    /// The rest of a line that is too long is coming.
    skipping: bool,
    ended: bool,
}

impl<F: AsFd> Input<F> {
    pub(super) fn new(fd: F, limit: usize) -> Self {
        Self {
            fd,
            limit,
            buffer: Vec::new(),
            searched: 0,
            skipping: false,
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
                if std::mem::take(&mut self.skipping) {
                    return Ok(Next::TooLong);
                }
                return Ok(Next::Line(line));
            }
            self.searched = self.buffer.len();
            if self.buffer.len() > self.limit {
                self.skipping = true;
            }
            if self.skipping {
                self.buffer = Vec::new();
                self.searched = 0;
            }
            if self.ended {
                let line = std::mem::take(&mut self.buffer);
                self.searched = 0;
                if std::mem::take(&mut self.skipping) {
                    return Ok(Next::TooLong);
                }
                return Ok(if line.is_empty() {
                    Next::End
                } else {
                    Next::Line(line)
                });
            }
            if let Some(until) = until
                && !self.wait(until)?
            {
                return Ok(Next::TimeOut);
            }
            self.fill()?;
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
                // Somebody made the pipe non-blocking: wait for it.
                if error == Errno::AGAIN {
                    let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
                    rustix::io::retry_on_intr(|| rustix::event::poll(&mut fds, None))?;
                    return Ok(());
                }
                return Err(error.into());
            }
        };
        self.buffer.truncate(before + got);
        self.ended = got == 0;
        Ok(())
    }

    /// Whether there is something to read before the moment given.
    fn wait(&self, until: Instant) -> io::Result<bool> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
            match rustix::event::poll(&mut fds, Some(&left)) {
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
        let mut input = Input::new(reader, 10);
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
            writer.write_all(&[b'x'; 200_000]).unwrap();
            writer.write_all(b"\nthree\nlast").unwrap();
        });
        assert_eq!(input.next(None).unwrap(), Next::TooLong);
        assert_eq!(input.next(None).unwrap(), line("three"));
        assert_eq!(input.next(None).unwrap(), line("last"));
        assert_eq!(input.next(None).unwrap(), Next::End);
        long.join().unwrap();
    }
}
