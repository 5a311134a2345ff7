//! Frames over a socket, in both directions.
//!
//! A message is one JSON object and one NUL byte. Descriptors are sent with the first byte of
//! their message and belong to it. A message is at most [`MAX_MESSAGE`] bytes long, so a peer that
//! sends without end costs that much memory and no more.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::sender::{Connector, Sender};
use crate::identity::Peer;
use crate::sys;

/// The longest message, without its NUL.
pub const MAX_MESSAGE: usize = 256 * 1024;

/// How many descriptors one message may carry.
pub const MAX_DESCRIPTORS: usize = 4;

/// One message.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(crate) json: Vec<u8>,
    pub(crate) fds: Vec<OwnedFd>,
    /// Which process sent it, where that is asked for.
    pub(crate) sender: Sender,
}

/// Why there is no next message.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The other side is done.
    Closed,
    /// More than fits.
    TooLong,
    /// Descriptors that belong to no message, or too many.
    Descriptors,
    /// One message, and parts of it from several processes.
    Senders,
    /// A message was begun and not finished in time, or not taken.
    Slow,
    /// What the system says.
    Io(io::Error),
}

/// A socket and what was read ahead from it.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: UnixStream,
    buffer: Vec<u8>,
    /// Where the next message begins.
    begin: usize,
    /// Up to where no NUL was found.
    looked: usize,
    /// Where received bytes end.
    end: usize,
    /// Descriptors, and where the message begins that they came with.
    fds: VecDeque<(usize, OwnedFd)>,
    sender: Sender,
    /// Who connected, where every message must be its own.
    connector: Option<Connector>,
    /// Whether that process had ended when the last bytes were there.
    has_ended: bool,
    /// How long a message may take from its first byte to its last.
    patience: Duration,
    /// How long its first byte may take; nothing means for ever.
    idle: Option<Duration>,
}

const FIRST: usize = 4096;

impl Channel {
    /// A channel over a connected socket.
    pub(crate) fn new(socket: UnixStream, patience: Duration) -> io::Result<Self> {
        socket.set_write_timeout(Some(patience))?;
        Ok(Self {
            socket,
            buffer: vec![0; FIRST],
            begin: 0,
            looked: 0,
            end: 0,
            fds: VecDeque::new(),
            sender: Sender::Unknown,
            connector: None,
            has_ended: false,
            patience,
            idle: None,
        })
    }

    /// Sets how long the first byte of a message may take.
    pub(crate) fn waits_at_most(mut self, idle: Duration) -> Self {
        self.idle = Some(idle);
        self
    }

    /// Has every message say whether the process that connected sent it.
    pub(crate) fn checks_senders(mut self, peer: Arc<Peer>) -> io::Result<Self> {
        self.connector = Some(Connector::new(self.socket.as_fd(), peer)?);
        Ok(self)
    }

    #[cfg(test)]
    pub(crate) fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// The next message; waits for its first byte as long as it takes, or as was set.
    pub(crate) fn receive(&mut self) -> Result<Frame, Trouble> {
        let mut deadline = None;
        loop {
            if let Some(frame) = self.take()? {
                return Ok(frame);
            }
            if self.end > self.begin {
                // A message was begun: it must end in time.
                let deadline = *deadline.get_or_insert_with(|| Instant::now() + self.patience);
                self.wait(Some(deadline))?;
            } else {
                // Who sleeps in `recvmsg` is also woken when the other side takes what was sent
                // before, for nothing: two switches. Who sleeps in `poll` is not.
                self.wait(self.idle.map(|idle| Instant::now() + idle))?;
            }
            self.fill()?;
        }
    }

    /// A whole message out of what was read, if there is one.
    fn take(&mut self) -> Result<Option<Frame>, Trouble> {
        let fresh = &self.buffer[self.looked..self.end];
        let Some(at) = memchr::memchr(0, fresh) else {
            self.looked = self.end;
            if self.end - self.begin > MAX_MESSAGE {
                return Err(Trouble::TooLong);
            }
            return Ok(None);
        };
        let nul = self.looked + at;
        if nul - self.begin > MAX_MESSAGE {
            return Err(Trouble::TooLong);
        }
        let mut frame = Frame {
            json: self.buffer[self.begin..nul].to_vec(),
            ..Frame::default()
        };
        while let Some((at, _)) = self.fds.front() {
            if *at > self.begin {
                break;
            }
            frame.fds.extend(self.fds.pop_front().map(|(_, fd)| fd));
        }
        frame.sender = self.sender;
        self.begin = nul + 1;
        self.looked = self.begin;
        if self.begin == self.end {
            (self.begin, self.looked, self.end) = (0, 0, 0);
            // Nothing of a large message stays behind.
            if self.buffer.len() > 16 * FIRST {
                self.buffer = vec![0; FIRST];
            }
        }
        Ok(Some(frame))
    }

    fn fill(&mut self) -> Result<(), Trouble> {
        if self.end == self.buffer.len() {
            if self.begin > 0 {
                self.buffer.copy_within(self.begin..self.end, 0);
                for (at, _) in &mut self.fds {
                    *at -= self.begin;
                }
                self.looked -= self.begin;
                self.end -= self.begin;
                self.begin = 0;
            } else {
                let larger = (self.buffer.len() * 2).min(MAX_MESSAGE + 2);
                self.buffer.resize(larger, 0);
            }
        }
        let room = &mut self.buffer[self.end..];
        let got = sys::receive(self.socket.as_fd(), room).map_err(|error| match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Trouble::Closed,
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Trouble::Slow,
            _ => Trouble::Io(error),
        })?;
        if got.too_many || self.fds.len() + got.fds.len() > MAX_DESCRIPTORS {
            return Err(Trouble::Descriptors);
        }
        if got.bytes == 0 {
            return Err(Trouble::Closed);
        }
        // Never who sent what came before: a kernel that has no descriptor left for the sender's pidfd
        // says nothing.
        let connector = self.connector.as_ref();
        let sender = connector.map_or(Sender::Unknown, |connector| {
            connector.sender(&got, self.has_ended)
        });
        if !got.fds.is_empty() {
            // The kernel ends a read after bytes that carry descriptors, and those came with the
            // first byte of their message: it is the last one that begins in these bytes.
            let fresh = &self.buffer[self.end..self.end + got.bytes - 1];
            let begins = match memchr::memrchr(0, fresh) {
                Some(nul) => self.end + nul + 1,
                None if self.begin == self.end => self.begin,
                None => return Err(Trouble::Descriptors),
            };
            self.fds.extend(got.fds.into_iter().map(|fd| (begins, fd)));
        }
        // What was begun is not another's to go on with: a process that shares the connection would
        // put descriptors, or half a call, before what the right process says next.
        let begun = self.end > self.begin;
        if begun && self.sender != sender {
            return Err(Trouble::Senders);
        }
        self.sender = sender;
        self.end += got.bytes;
        Ok(())
    }

    /// Waits for bytes. Bytes that the process which connected can no longer have sent are not waited
    /// for: when it has ended, so has the connection.
    fn wait(&mut self, deadline: Option<Instant>) -> Result<(), Trouble> {
        let pidfd = self.connector.as_ref().and_then(Connector::by_number);
        let socket = self.socket.as_fd();
        // In this order: the kernel looks at the process after it has seen that bytes are there.
        let mut wanted = [
            PollFd::from_borrowed_fd(socket, PollFlags::IN),
            PollFd::from_borrowed_fd(pidfd.unwrap_or(socket), PollFlags::IN),
        ];
        let count = 1 + usize::from(pidfd.is_some());
        loop {
            let timeout = deadline.map(|deadline| {
                let left = deadline.saturating_duration_since(Instant::now());
                Timespec {
                    tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                    tv_nsec: i64::from(left.subsec_nanos()),
                }
            });
            match poll(&mut wanted[..count], timeout.as_ref()) {
                Ok(0) => return Err(Trouble::Slow),
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(Trouble::Io(errno.into())),
            }
        }
        self.has_ended = pidfd.is_some() && !wanted[1].revents().is_empty();
        match wanted[0].revents().is_empty() {
            true => Err(Trouble::Closed),
            false => Ok(()),
        }
    }

    /// Sends a message, with descriptors at its first byte. The NUL is added here.
    pub(crate) fn send(&self, json: &mut Vec<u8>, fds: &[BorrowedFd<'_>]) -> Result<(), Trouble> {
        json.push(0);
        let mut space =
            [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(Trouble::Descriptors);
        }
        let mut sent = 0;
        while sent < json.len() {
            let part = [IoSlice::new(&json[sent..])];
            match sendmsg(&self.socket, &part, &mut control, SendFlags::NOSIGNAL) {
                Ok(count) => {
                    sent += count;
                    control.clear();
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return Err(Trouble::Slow),
                Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET) => {
                    return Err(Trouble::Closed);
                }
                Err(errno) => return Err(Trouble::Io(errno.into())),
            }
        }
        Ok(())
    }
}

impl From<Trouble> for io::Error {
    fn from(trouble: Trouble) -> Self {
        let (kind, why) = match trouble {
            Trouble::Io(error) => return error,
            Trouble::Closed => (io::ErrorKind::UnexpectedEof, "the other side has closed"),
            Trouble::TooLong => (io::ErrorKind::InvalidData, "the message is too long"),
            Trouble::Descriptors => (io::ErrorKind::InvalidData, "unexpected descriptors"),
            Trouble::Senders => (io::ErrorKind::InvalidData, "a message of several senders"),
            Trouble::Slow => (io::ErrorKind::TimedOut, "the other side is too slow"),
        };
        Self::new(kind, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn pair() -> (Channel, Channel) {
        let (a, b) = UnixStream::pair().unwrap();
        let patience = Duration::from_millis(200);
        (
            Channel::new(a, patience).unwrap(),
            Channel::new(b, patience).unwrap(),
        )
    }

    #[test]
    fn messages_keep_their_borders_and_descriptors() {
        let (mut a, b) = pair();
        let file = std::io::stdin();
        b.send(&mut b"{}".to_vec(), &[]).unwrap();
        b.send(&mut b"{\"x\":1}".to_vec(), &[file.as_fd(), file.as_fd()])
            .unwrap();
        b.send(&mut b"{\"y\":2}".to_vec(), &[]).unwrap();
        let first = a.receive().unwrap();
        assert_eq!((first.json.as_slice(), first.fds.len()), (&b"{}"[..], 0));
        let second = a.receive().unwrap();
        assert_eq!(second.json, b"{\"x\":1}");
        assert_eq!(second.fds.len(), 2);
        let flags = rustix::io::fcntl_getfd(&second.fds[0]).unwrap();
        assert!(
            flags.contains(rustix::io::FdFlags::CLOEXEC),
            "inherited by children"
        );
        let third = a.receive().unwrap();
        assert_eq!(
            (third.json.as_slice(), third.fds.len()),
            (&b"{\"y\":2}"[..], 0)
        );
        drop(b);
        assert!(matches!(a.receive(), Err(Trouble::Closed)));
    }

    #[test]
    fn pieces_are_put_together_and_a_half_message_is_not_waited_for() {
        let (mut a, b) = pair();
        let text = vec![b'a'; 100_000];
        let writer = std::thread::spawn(move || {
            let mut socket = b.socket();
            for piece in text.chunks(7_001) {
                socket.write_all(piece).unwrap();
            }
            socket.write_all(&[0, b'{']).unwrap();
            b
        });
        assert_eq!(a.receive().unwrap().json.len(), 100_000);
        assert!(matches!(a.receive(), Err(Trouble::Slow)));
        drop(writer.join().unwrap());
    }

    #[test]
    fn what_is_too_long_is_refused_with_bounded_memory() {
        let (mut a, b) = pair();
        let writer = std::thread::spawn(move || {
            let mut socket = b.socket();
            // The reader gives up long before this ends.
            while socket.write_all(&[b'x'; 4096]).is_ok() {}
        });
        assert!(matches!(a.receive(), Err(Trouble::TooLong)));
        assert!(a.buffer.capacity() <= 2 * (MAX_MESSAGE + 2));
        drop(a);
        writer.join().unwrap();
    }

    /// Sends bytes with so many copies of a descriptor.
    fn send_with(socket: &UnixStream, bytes: &[u8], fd: BorrowedFd<'_>, count: usize) {
        let mut space = vec![std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = vec![fd; count];
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        let part = [IoSlice::new(bytes)];
        sendmsg(socket, &part, &mut control, SendFlags::NOSIGNAL).unwrap();
    }

    #[test]
    fn as_many_descriptors_as_allowed_come_with_each_message() {
        let (mut a, b) = pair();
        let file = std::io::stdin();
        for _ in 0..3 {
            send_with(b.socket(), b"{}\0", file.as_fd(), MAX_DESCRIPTORS);
            assert_eq!(a.receive().unwrap().fds.len(), MAX_DESCRIPTORS);
        }
    }

    #[test]
    fn too_many_descriptors_are_refused_and_closed() {
        // A pipe knows when nobody has its other end any more.
        for count in [MAX_DESCRIPTORS + 1, 60] {
            let (mut a, b) = pair();
            let (reader, writer) = rustix::pipe::pipe().unwrap();
            send_with(b.socket(), b"{}\0", writer.as_fd(), count);
            assert!(matches!(a.receive(), Err(Trouble::Descriptors)), "{count}");
            drop(writer);
            let mut byte = [0];
            assert_eq!(rustix::io::read(&reader, &mut byte).unwrap(), 0, "{count}");
        }
        // Collected over messages that are not read yet, they are too many as well.
        let (mut a, b) = pair();
        let file = std::io::stdin();
        for _ in 0..3 {
            send_with(b.socket(), b"{", file.as_fd(), 2);
        }
        assert!(matches!(a.receive(), Err(Trouble::Descriptors)));
    }
}
