//! Words between the two sides of a run: this process, and the first process inside.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

/// What is said.
#[derive(Debug)]
pub(crate) enum Word {
    /// Outside: the users are mapped.
    Mapped,
    /// Outside: this is a directory for the kernel's overlay. The base comes before the one that is
    /// written to.
    Layer(OwnedFd),
    /// Inside: this is the device of the mount.
    Device(OwnedFd),
    /// Outside: the mount is served, go on.
    Served,
    /// Inside: the wall cannot be built.
    Refused(String),
    /// Inside: the program cannot be started.
    NotStarted(String),
    /// Inside: the program was stopped from the terminal.
    Stopped,
    /// Inside: the program ended with this code.
    Ended(u8),
}

/// One end. Messages stay whole, and a closed end is seen.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

/// Longer sentences are cut.
const MAX_WORD: usize = 4096;

impl Channel {
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok((Self(one), Self(other)))
    }

    pub(crate) fn say(&self, word: &Word) -> io::Result<()> {
        let (tag, text, device) = match word {
            Word::Mapped => (b'M', Vec::new(), None),
            Word::Layer(dir) => (b'L', Vec::new(), Some(dir.as_fd())),
            Word::Device(device) => (b'D', Vec::new(), Some(device.as_fd())),
            Word::Served => (b'G', Vec::new(), None),
            Word::Refused(why) => (b'R', why.clone().into_bytes(), None),
            Word::NotStarted(why) => (b'N', why.clone().into_bytes(), None),
            Word::Stopped => (b'S', Vec::new(), None),
            Word::Ended(code) => (b'X', vec![*code], None),
        };
        let mut bytes = vec![tag];
        bytes.extend_from_slice(&text);
        bytes.truncate(MAX_WORD);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let devices: Vec<BorrowedFd<'_>> = device.into_iter().collect();
        if !devices.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(&devices));
        }
        rustix::net::sendmsg(
            &self.0,
            &[IoSlice::new(&bytes)],
            &mut ancillary,
            SendFlags::NOSIGNAL,
        )?;
        Ok(())
    }

    /// Waits for a word. `None` once the other side is gone.
    pub(crate) fn hear(&self) -> io::Result<Option<Word>> {
        let mut bytes = vec![0; MAX_WORD];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let got = loop {
            let mut slices = [IoSliceMut::new(&mut bytes)];
            let flags = RecvFlags::CMSG_CLOEXEC;
            match rustix::net::recvmsg(&self.0, &mut slices, &mut ancillary, flags) {
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::CONNRESET) => return Ok(None),
                got => break got?.bytes,
            }
        };
        let device = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        let Some((tag, rest)) = bytes[..got].split_first() else {
            return Ok(None);
        };
        let text = || String::from_utf8_lossy(rest).into_owned();
        Ok(Some(match (tag, device) {
            (b'M', _) => Word::Mapped,
            (b'L', Some(dir)) => Word::Layer(dir),
            (b'D', Some(device)) => Word::Device(device),
            (b'G', _) => Word::Served,
            (b'R', _) => Word::Refused(text()),
            (b'N', _) => Word::NotStarted(text()),
            (b'S', _) => Word::Stopped,
            (b'X', _) => Word::Ended(rest.first().copied().unwrap_or(u8::MAX)),
            _ => return Err(io::Error::other("an unknown word")),
        }))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_arrive_whole_and_a_closed_end_is_seen() {
        let (one, other) = Channel::pair().unwrap();
        one.say(&Word::Ended(42)).unwrap();
        one.say(&Word::Refused("no".repeat(5000))).unwrap();
        one.say(&Word::Device(one.as_fd().try_clone_to_owned().unwrap()))
            .unwrap();
        assert!(matches!(other.hear().unwrap(), Some(Word::Ended(42))));
        let Some(Word::Refused(why)) = other.hear().unwrap() else {
            panic!("another word");
        };
        assert_eq!(why.len(), MAX_WORD - 1);
        assert!(matches!(other.hear().unwrap(), Some(Word::Device(_))));
        drop(one);
        assert!(other.hear().unwrap().is_none());
    }
}
