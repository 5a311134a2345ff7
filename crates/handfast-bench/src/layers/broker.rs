//! Many clients of one broker, beside as many clients of a server that does nothing but pass a
//! descriptor. Both have a thread a connection and run in this process, in turns.

use std::fs::File;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use handfast_broker::{Acquire, Client, Fence, Rulebook, Running, ServeOptions, bind_socket};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::{Amount, Figure};
use crate::Failure;
use crate::buffer::Buffer;
use crate::clock::Stopwatch;
use crate::scale::Scale;
use crate::site::Site;

/// What a client asks, and what it is answered, in bytes: about as much as an `Open`.
const ASKED: usize = 160;
const ANSWERED: usize = 96;

/// How many opens a second there are, beside those of a bare server.
pub(super) fn measure(dir: &Path, amount: Amount) -> Result<Vec<Figure>, Failure> {
    let (clients, turns, time) = match amount {
        Amount::Full => (200, 10, Duration::from_secs(1)),
        Amount::Quick => (200, 4, Duration::from_millis(500)),
        Amount::Once => (4, 1, Duration::from_millis(50)),
    };
    let site = Site::new(dir, Scale::SMALL)?;
    let bare = Bare::start(site.path("bare"))?;
    let broker = Served::start(&site.path("broker"), "ordered")?;
    let buffered = Served::start(&site.path("buffered"), "buffered")?;
    let asks = |_| bare.client();
    let bare_load = Load::start(clients, asks)?;
    let broker_load = Load::start(clients, |_| broker.client())?;
    let buffered_load = Load::start(clients, |_| buffered.client())?;
    let (mut of_bare, mut of_broker) = (Turns::default(), Turns::default());
    let mut of_buffered = Turns::default();
    for _ in 0..turns {
        of_bare.add(bare_load.run(time)?);
        of_broker.add(broker_load.run(time)?);
        of_buffered.add(buffered_load.run(time)?);
    }
    drop((bare_load, broker_load, buffered_load));
    let figure = |what: &str, title: &str, value: f64, unit| {
        Figure::new(
            format!("broker/load/{what}"),
            format!("{clients} clients: {title}"),
            value,
            unit,
        )
    };
    let (rate, floor) = (of_broker.rate(), of_bare.rate());
    Ok(vec![
        figure(
            "bare",
            "a bare server that passes a descriptor",
            floor,
            "opens/s",
        ),
        figure("opens", "opens under a lease, logged", rate, "opens/s"),
        figure(
            "ratio",
            "the broker's opens beside the bare server's",
            rate / floor,
            "times",
        )
        .at_least(0.4),
        figure(
            "cpu",
            "CPU time of an open beside a bare one",
            of_broker.cpu() / of_bare.cpu(),
            "times",
        ),
        figure(
            "buffered",
            "the same beside the bare server's, logged `buffered`",
            of_buffered.rate() / floor,
            "times",
        )
        .at_least(0.4),
        figure(
            "buffered-cpu",
            "CPU time of an open beside a bare one, logged `buffered`",
            of_buffered.cpu() / of_bare.cpu(),
            "times",
        ),
    ])
}

/// What all turns of one server brought together.
#[derive(Default)]
struct Turns {
    opens: f64,
    wall_ns: f64,
    cpu_ns: f64,
}

impl Turns {
    fn add(&mut self, turn: Self) {
        self.opens += turn.opens;
        self.wall_ns += turn.wall_ns;
        self.cpu_ns += turn.cpu_ns;
    }

    fn rate(&self) -> f64 {
        self.opens / self.wall_ns * 1e9
    }

    fn cpu(&self) -> f64 {
        self.cpu_ns / self.opens
    }
}

/// One open.
type Ask = Box<dyn FnMut() -> Result<(), Failure> + Send>;

/// Clients that ask while they are told to.
struct Load {
    shared: Arc<LoadState>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

struct LoadState {
    /// All clients and who measures: once before a turn and once behind it.
    gate: Barrier,
    asking: AtomicBool,
    ends: AtomicBool,
    opens: AtomicU64,
    failure: Mutex<Option<String>>,
}

impl Load {
    fn start(
        clients: usize,
        connect: impl Fn(usize) -> Result<Ask, Failure>,
    ) -> Result<Self, Failure> {
        let shared = Arc::new(LoadState {
            gate: Barrier::new(clients + 1),
            asking: AtomicBool::new(false),
            ends: AtomicBool::new(false),
            opens: AtomicU64::new(0),
            failure: Mutex::new(None),
        });
        let asks: Vec<Ask> = (0..clients).map(connect).collect::<Result<_, _>>()?;
        let mut threads = Vec::with_capacity(clients);
        for ask in asks {
            let shared = Arc::clone(&shared);
            let builder = std::thread::Builder::new().stack_size(256 * 1024);
            threads.push(builder.spawn(move || shared.client(ask))?);
        }
        Ok(Self { shared, threads })
    }

    /// One turn.
    #[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
    fn run(&self, time: Duration) -> Result<Turns, Failure> {
        let shared = &self.shared;
        shared.opens.store(0, Ordering::Relaxed);
        shared.asking.store(true, Ordering::Relaxed);
        shared.gate.wait();
        let watch = Stopwatch::start();
        std::thread::sleep(time);
        shared.asking.store(false, Ordering::Relaxed);
        shared.gate.wait();
        let took = watch.stop(1);
        let failed = shared
            .failure
            .lock()
            .map_err(|_| "a client panicked")?
            .take();
        match failed {
            Some(failure) => Err(failure.into()),
            None => Ok(Turns {
                opens: shared.opens.load(Ordering::Relaxed) as f64,
                wall_ns: took.wall,
                cpu_ns: took.cpu,
            }),
        }
    }
}

impl LoadState {
    fn client(&self, mut ask: Ask) {
        loop {
            self.gate.wait();
            if self.ends.load(Ordering::Relaxed) {
                return;
            }
            let mut opens = 0;
            while self.asking.load(Ordering::Relaxed) {
                match ask() {
                    Ok(()) => opens += 1,
                    Err(failure) => {
                        if let Ok(mut first) = self.failure.lock() {
                            first.get_or_insert_with(|| failure.to_string());
                        }
                        break;
                    }
                }
            }
            self.opens.fetch_add(opens, Ordering::Relaxed);
            self.gate.wait();
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        self.shared.gate.wait();
        for thread in self.threads.drain(..) {
            // A client that panicked has said so.
            drop(thread.join());
        }
    }
}

/// The directory `root` for this user, with a log of a level.
pub(crate) fn rulebook_of(dir: &Path, level: &str) -> Result<Rulebook, Failure> {
    let text = format!(
        "version = 1\n[[root]]\nname = \"root\"\npath = \"root\"\nmount = \"/\"\nmode = \"read-write\"\npreset = \"workspace\"\n[log]\nlevel = \"{level}\"\n"
    );
    Ok(Rulebook::parse(text.as_bytes(), dir, false)?)
}

/// A broker with one file.
struct Served {
    socket: PathBuf,
    running: Option<Running>,
}

impl Served {
    fn start(dir: &Path, level: &str) -> Result<Self, Failure> {
        std::fs::create_dir(dir)?;
        std::fs::create_dir(dir.join("root"))?;
        File::create(dir.join("root/file"))?.write_all_at(&Buffer::filled(), 0)?;
        let socket = dir.join("sock/broker.sock");
        let listener = bind_socket(&socket, false)?;
        let rulebook = rulebook_of(dir, level)?;
        let options = ServeOptions::new(rulebook, dir.join("state")).fence(Fence::Thread);
        // On a thread of its own, which is walled in for good.
        let running = std::thread::spawn(move || options.start(listener))
            .join()
            .map_err(|_| "the broker's thread panicked")??;
        let running = Some(running);
        Ok(Self { socket, running })
    }

    fn client(&self) -> Result<Ask, Failure> {
        let mut client = Client::connect(&self.socket)?;
        let wanted = Acquire::new(["**"], ["read"]).ttl(3600);
        let lease = client.acquire(&wanted)?.lease_id;
        Ok(Box::new(move || {
            client.open(&lease, "file")?;
            Ok(())
        }))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop();
        }
    }
}

/// A server that answers every message with the same descriptor.
struct Bare {
    socket: PathBuf,
}

impl Bare {
    fn start(socket: PathBuf) -> Result<Self, Failure> {
        let listener = UnixListener::bind(&socket)?;
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(socket.with_extension("file"))?;
        file.write_all_at(&Buffer::filled(), 0)?;
        let file = Arc::new(file);
        std::thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                let file = Arc::clone(&file);
                let builder = std::thread::Builder::new().stack_size(256 * 1024);
                if builder.spawn(move || answer(&socket, &file)).is_err() {
                    return;
                }
            }
        });
        Ok(Self { socket })
    }

    fn client(&self) -> Result<Ask, Failure> {
        let socket = UnixStream::connect(&self.socket)?;
        Ok(Box::new(move || round_trip(&socket)))
    }
}

/// Answers every message on a connection with a descriptor.
pub(crate) fn answer(socket: &UnixStream, file: &File) {
    let mut buffer = [0; 256];
    while rustix::io::read(socket, &mut buffer).is_ok_and(|got| got > 0) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = [file.as_fd()];
        let pushed = control.push(SendAncillaryMessage::ScmRights(&fds));
        let part = [IoSlice::new(&buffer[..ANSWERED])];
        if !pushed || sendmsg(socket, &part, &mut control, SendFlags::NOSIGNAL).is_err() {
            return;
        }
    }
}

/// Asks, takes the descriptor and closes it.
pub(crate) fn round_trip(socket: &UnixStream) -> Result<(), Failure> {
    let mut buffer = [b'x'; ASKED];
    rustix::io::write(socket, &buffer)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut part = [IoSliceMut::new(&mut buffer)];
    recvmsg(socket, &mut part, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut came: Vec<OwnedFd> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            came.extend(fds);
        }
    }
    let file = File::from(came.pop().ok_or("no descriptor came")?);
    drop(file);
    Ok(())
}
