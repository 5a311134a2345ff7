//! The door: who comes in, and how many.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use super::Probe;
use super::connection;
use super::metrics::{self, MetricsListener};
use crate::broker::{Broker, Tally};
use crate::fault::{Code, Fault};
use crate::identity::Peer;
use crate::rulebook::Rulebook;
use crate::start::StartError;
use crate::wire::Channel;

/// Enough for every verb; a thousand connections cost address space and little else.
const STACK: usize = 512 * 1024;

/// The longest time that the thread that ends leases may be busy with one round, which is due every two seconds.
const LIVELY_NS: u64 = 20_000_000_000;

/// A broker that accepts connections.
pub struct Running {
    pub(crate) broker: Arc<Broker>,
    log: PathBuf,
    stop: Arc<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
}

/// Who is connected.
#[derive(Debug, Default)]
pub(super) struct Guests {
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    total: usize,
    strangers: usize,
    per_user: HashMap<u32, usize>,
}

/// One of them; counted until dropped.
#[derive(Debug)]
pub(super) struct Seat {
    guests: Arc<Guests>,
    broker: Arc<Broker>,
    uid: u32,
    is_stranger: bool,
}

impl Running {
    pub(crate) fn new(
        broker: Arc<Broker>,
        listener: UnixListener,
        log: PathBuf,
        probe: Option<Probe>,
        counts: Option<MetricsListener>,
    ) -> io::Result<Self> {
        if broker.check_sender {
            // Connections inherit it: what is sent between their acceptance and our asking them
            // would say nothing. Where the kernel cannot, each of them is turned away.
            drop(say_senders(listener.as_fd()));
        }
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let counts = match counts {
            Some(listener) => Some(metrics::start(&broker, listener, &stop)?),
            None => None,
        };
        let reaping = Arc::clone(&broker);
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let reaper = thread("reaper").spawn(move || reaping.reap())?;
        let (serving, told) = (Arc::clone(&broker), Arc::clone(&stop));
        let accept = thread("accept").spawn(move || accept(&serving, &listener, &told, &probe))?;
        Ok(Self {
            broker,
            log,
            stop,
            threads: [reaper, accept].into_iter().chain(counts).collect(),
        })
    }

    /// What holds, in a few lines for who started it.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let broker = &self.broker;
        let boundary = &broker.boundary;
        let mut lines = vec![boundary.inner().to_owned()];
        if broker.rulebook().serves_own_user() {
            lines.push(boundary.sentence(boundary.own_uid));
        }
        if broker.rulebook().serves_others() {
            // Any number but the two that are special.
            let other = if boundary.own_uid == 1 { 2 } else { 1 };
            let sentence = boundary.sentence(other);
            lines.push(sentence.replace(&format!("uid {other} "), "another user "));
        }
        lines
    }

    /// Reads the policy file again, through the witness, and puts it in force: it counts at each next
    /// use, and leases of users to whom it grants none of their verbs end. Relative paths in it
    /// count from `dir`. Gives how many leases ended.
    ///
    /// # Errors
    /// If it cannot be read, is wrong, or asks for what cannot change while the broker runs (roots,
    /// limits, the log): then the policy that counted goes on to count.
    pub fn reload(&self, dir: &Path) -> Result<usize, StartError> {
        let exe = &self.broker.exe;
        let read = exe.policy();
        let (text, names) = read.map_err(|error| StartError::failed("the policy", error))?;
        let rulebook = Rulebook::parse_with(&text, dir, exe.knows(), &names)?;
        self.broker.reload(rulebook)
    }

    /// Reads the trust bundle again now; gives whether it is another one.
    ///
    /// # Errors
    /// In words, if it cannot be read: then the one from before goes on to count.
    pub fn read_bundle(&self) -> Result<bool, String> {
        self.broker.read_bundle()
    }

    /// The digest of the policy that counts.
    #[must_use]
    pub fn policy_sha256(&self) -> String {
        self.broker.rulebook().sha256.clone()
    }

    /// Where the log lies.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// What an event of the log has survived when its call is answered, in words.
    #[must_use]
    pub fn log_level(&self) -> String {
        use handfast_ledger::Level;
        let level = self.broker.scribe.journal().level().unwrap_or_default();
        let promise = match level {
            Level::Strict => "a call is answered when its event is on the disk",
            Level::Ordered => {
                "a call is answered when its event is written; it is on the disk within 50 ms"
            }
            Level::Buffered => {
                "reads are answered before their events are written; \
                 if the broker is killed, those of the last 50 ms are lost"
            }
        };
        format!("{level}: {promise}")
    }

    /// A first call that works.
    #[must_use]
    pub fn example(&self) -> crate::ExampleLease {
        self.broker.rulebook().example()
    }

    /// How many leases are in force.
    #[must_use]
    pub fn leases(&self) -> usize {
        self.broker.table.len()
    }

    /// Whether something failed that cannot: nobody is served any more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// What keeps the broker from doing its work now, in words; nothing if it is ready.
    #[must_use]
    pub fn troubles(&self) -> Vec<String> {
        self.broker.troubles()
    }

    /// Whether the broker goes on: its threads run, and the one that ends leases, settles the log and
    /// tells the store was there a moment ago. A disk that hangs stops it.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let seen = self.broker.heartbeat_ns.load(Ordering::Relaxed);
        !self.has_ended() && crate::clock::now_ns() < seen.saturating_add(LIVELY_NS)
    }

    /// Serves until the process ends, or something fails that cannot.
    pub fn wait(mut self) {
        for thread in self.threads.drain(..) {
            // A thread that panicked has told so already.
            drop(thread.join());
        }
    }

    /// Stops accepting. Connections that are open are served on until they close. Gives how many reads were
    /// answered and are in no log, because it could not be written; that is also said on standard error, and in
    /// the log by the next start.
    #[expect(clippy::must_use_candidate, reason = "it stops the broker")]
    pub fn stop(mut self) -> u64 {
        self.broker.reaper.stop();
        let _rung = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
        self.broker.scribe.journal().end()
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("broker", &self.broker)
            .finish_non_exhaustive()
    }
}

fn accept(broker: &Arc<Broker>, listener: &UnixListener, stop: &OwnedFd, probe: &Option<Probe>) {
    let guests = Arc::new(Guests::default());
    loop {
        let mut wanted = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::new(stop, PollFlags::IN),
        ];
        match poll(&mut wanted, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => {
                crate::complain(&format!("waiting for connections failed: {errno}"));
                return;
            }
        }
        if !wanted[1].revents().is_empty() {
            return;
        }
        match listener.accept() {
            Ok((socket, _)) => welcome(broker, &guests, socket, probe),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // No descriptors or memory left: those who are served go on, and free some.
            Err(error) => {
                crate::complain(&format!("a connection could not be accepted: {error}"));
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

/// Has the kernel say who sends, in both ways: which of them is used depends on who connected.
fn say_senders(socket: BorrowedFd<'_>) -> io::Result<()> {
    crate::sys::pass_sender(socket, true)?;
    crate::sys::pass_sender_pid(socket, true)
}

fn welcome(broker: &Arc<Broker>, guests: &Arc<Guests>, socket: UnixStream, probe: &Option<Probe>) {
    let turn_away = |socket: UnixStream, fault: &Fault| {
        if let Ok(channel) = Channel::new(socket, Duration::from_millis(100)) {
            // Somebody who does not listen is turned away all the same.
            drop(connection::send_fault(&channel, fault));
        }
    };
    if broker.check_sender && say_senders(socket.as_fd()).is_err() {
        let why = "this kernel does not say who sends a message";
        return turn_away(socket, &Fault::new(Code::Unavailable, why));
    }
    let peer = match Peer::of(socket.as_fd(), &broker.exe) {
        Ok(peer) => peer,
        Err(error) => {
            crate::complain(&format!("a peer is not known: {error}"));
            return;
        }
    };
    let Some(seat) = guests.seat(broker, &peer) else {
        Tally::add(&broker.tally.turned_away);
        let why = "there are too many connections; close some";
        return turn_away(socket, &Fault::new(Code::Limit, why));
    };
    Tally::add(&broker.tally.connections);
    let (broker, probe) = (Arc::clone(broker), probe.clone());
    let builder = std::thread::Builder::new()
        .name("client".to_owned())
        .stack_size(STACK);
    let spawned = builder.spawn(move || {
        connection::serve(&broker, socket, peer, seat.is_stranger, probe.as_ref());
        drop(seat);
    });
    if let Err(error) = spawned {
        // The socket went with the thread that was not made, and is closed.
        crate::complain(&format!("no thread for a connection: {error}"));
    }
}

impl Guests {
    /// A place for a peer, if there is one. The last ones are the keeper's and root's.
    fn seat(self: &Arc<Self>, broker: &Arc<Broker>, peer: &Peer) -> Option<Seat> {
        let limits = &broker.limits;
        let is_keeper = broker.rulebook().is_keeper(peer);
        let is_stranger = broker.rulebook().is_stranger(peer);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let of_user = counts.per_user.get(&peer.uid).copied().unwrap_or(0);
        let most = match is_keeper {
            true => limits.connections,
            false => limits
                .connections
                .saturating_sub(limits.reserved_connections),
        };
        let most_of_user = match is_stranger {
            true => limits.connections_per_stranger,
            false => limits.connections_per_user,
        };
        let no_room = counts.total >= most
            || of_user >= most_of_user
            || (is_stranger && counts.strangers >= limits.connections_of_strangers);
        if no_room {
            return None;
        }
        counts.total += 1;
        counts.strangers += usize::from(is_stranger);
        counts.per_user.insert(peer.uid, of_user + 1);
        Tally::add(&broker.tally.open_connections);
        Some(Seat {
            guests: Arc::clone(self),
            broker: Arc::clone(broker),
            uid: peer.uid,
            is_stranger,
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let counts = self.guests.counts.lock();
        let mut counts = counts.unwrap_or_else(PoisonError::into_inner);
        counts.total -= 1;
        counts.strangers -= usize::from(self.is_stranger);
        let open = &self.broker.tally.open_connections;
        open.fetch_sub(1, Ordering::Relaxed);
        if let Some(count) = counts.per_user.get_mut(&self.uid) {
            *count -= 1;
            if *count == 0 {
                counts.per_user.remove(&self.uid);
            }
        }
    }
}
