//! Which process sent a message.
//!
//! A connection can be passed on, so each message says who sent it. By number where that is enough: the
//! pidfd of the process that connected tells whether that process lives, and while it lives no other
//! process has its number. The pidfd is looked at after the message is there, so the process lived
//! when the message was sent. That takes no descriptor and no call of its own. A process of another
//! pid namespace has no number here; its messages come with a pidfd.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::identity::Peer;
use crate::sys::{self, ProcessKey};

/// Who sent something.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Sender {
    /// The process that connected.
    Connected,
    /// Another process.
    Other,
    /// The kernel did not say, or the process that connected has ended.
    #[default]
    Unknown,
}

/// The process that connected, and how its messages are known.
#[derive(Debug)]
pub(crate) struct Connector {
    peer: Arc<Peer>,
}

impl Connector {
    /// Has the kernel say on this socket who sends. Before this it says so by number and by pidfd.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn new(socket: BorrowedFd<'_>, peer: Arc<Peer>) -> std::io::Result<Self> {
        let connector = Self { peer };
        match connector.by_number() {
            Some(_) => sys::pass_sender(socket, false)?,
            None => sys::pass_sender_pid(socket, false)?,
        }
        Ok(connector)
    }

    /// The pidfd that must not have ended, where senders are known by number.
    pub(crate) fn by_number(&self) -> Option<BorrowedFd<'_>> {
        self.peer.pidfd().filter(|_| self.peer.pid != 0)
    }

    /// Who sent what was received. `has_ended` is what the pidfd said after the message was there.
    pub(crate) fn sender(&self, received: &sys::Received, has_ended: bool) -> Sender {
        if self.by_number().is_some() {
            return match received.sender_pid {
                Some(pid) if pid != self.peer.pid => Sender::Other,
                Some(_) if !has_ended => Sender::Connected,
                _ => Sender::Unknown,
            };
        }
        let sender = received.sender.as_ref();
        let sender = sender.and_then(|pidfd| ProcessKey::of(pidfd.as_fd()));
        let process = self.peer.process.as_ref();
        match (sender, process.map(|process| process.key())) {
            (Some(sender), Some(key)) if sender == key => Sender::Connected,
            (Some(_), Some(_)) => Sender::Other,
            _ => Sender::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    use super::*;
    use crate::wire::{Channel, Trouble};

    /// A process that says something on its standard output, which is a socket.
    fn speaker(script: &str, socket: &UnixStream) -> Child {
        let output: OwnedFd = socket.try_clone().unwrap().into();
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped());
        command.stdout(Stdio::from(output)).spawn().unwrap()
    }

    /// A peer as a kernel without inodes for processes tells it.
    fn peer(child: &Child) -> Arc<Peer> {
        let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).unwrap();
        Arc::new(Peer {
            uid: 1,
            gid: 1,
            groups: Vec::new(),
            pid: child.id(),
            process: None,
            pidfd: Some(Arc::new(pidfd)),
            cgroup: None,
            exe: None,
            spiffe: None,
        })
    }

    fn pair() -> (UnixStream, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        sys::pass_sender(ours.as_fd(), true).unwrap();
        sys::pass_sender_pid(ours.as_fd(), true).unwrap();
        (ours, theirs)
    }

    fn channel(socket: UnixStream, connected: &Child) -> Channel {
        let channel = Channel::new(socket, Duration::from_secs(600)).unwrap();
        channel.checks_senders(peer(connected)).unwrap()
    }

    #[test]
    fn a_message_is_the_connected_processs_while_that_lives() {
        let (ours, theirs) = pair();
        let mut connected = speaker(r"printf '{}\0'; read end", &theirs);
        let mut channel = channel(ours, &connected);
        assert_eq!(channel.receive().unwrap().sender, Sender::Connected);
        let mut other = speaker(r"printf '{}\0'", &theirs);
        assert_eq!(channel.receive().unwrap().sender, Sender::Other);
        other.wait().unwrap();
        // Another process still has the other end; nothing that it could say would count.
        drop(connected.stdin.take());
        connected.wait().unwrap();
        assert!(matches!(channel.receive(), Err(Trouble::Closed)));
        drop(theirs);
    }

    #[test]
    fn what_a_process_said_that_has_ended_is_nobodys() {
        let (ours, theirs) = pair();
        let mut connected = speaker(r"printf '{}\0'", &theirs);
        let mut channel = channel(ours, &connected);
        connected.wait().unwrap();
        assert_eq!(channel.receive().unwrap().sender, Sender::Unknown);
    }
}
