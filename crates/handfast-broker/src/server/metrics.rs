//! Counts for Prometheus, in its text format, and whether the broker is well (`/healthz`, `/readyz`),
//! over HTTP on a socket of their own.
//!
//! They name nobody: no lease, no path, no process. One request is answered after the other, each
//! within a moment or not at all, so a client costs little.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use crate::broker::Broker;

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long its head may be.
const MAX_HEAD: usize = 8 * 1024;

/// Where counts are asked for.
#[derive(Debug)]
pub enum MetricsListener {
    /// A Unix socket.
    Unix(UnixListener),
    /// A loopback address.
    Tcp(TcpListener),
}

impl MetricsListener {
    /// Listens on a loopback address. Others are refused: there is no encryption, and nobody is
    /// asked who they are.
    ///
    /// # Errors
    /// `InvalidInput` for other addresses; what the system says.
    pub fn on_loopback(address: SocketAddr) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            let why = "metrics are served on loopback addresses and Unix sockets only";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        TcpListener::bind(address).map(Self::Tcp)
    }

    /// The address, where it is one.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    fn serve(&self, broker: &Broker, stop: &OwnedFd) {
        loop {
            let mut wanted = [
                PollFd::new(self, PollFlags::IN),
                PollFd::new(stop, PollFlags::IN),
            ];
            match poll(&mut wanted, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => {
                    crate::complain(&format!("metrics are not served any more: {errno}"));
                    return;
                }
            }
            if !wanted[1].revents().is_empty() {
                return;
            }
            if wanted[0].revents().is_empty() {
                continue;
            }
            let served = match self {
                Self::Unix(listener) => listener.accept().and_then(|(stream, _)| {
                    stream.set_write_timeout(Some(PATIENCE))?;
                    answer(broker, &stream, |left| stream.set_read_timeout(Some(left)))
                }),
                Self::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                    stream.set_write_timeout(Some(PATIENCE))?;
                    answer(broker, &stream, |left| stream.set_read_timeout(Some(left)))
                }),
            };
            // A bad request gets no answer; a client that cannot be accepted now can be later.
            if served.is_err_and(|error| is_shortage(&error)) {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

impl AsFd for MetricsListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(listener) => listener.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}

fn is_shortage(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS)
    )
}

/// Reads one request and answers it.
fn answer<S>(
    broker: &Broker,
    stream: S,
    wait_at_most: impl Fn(Duration) -> io::Result<()>,
) -> io::Result<()>
where
    S: Copy + Read + Write,
{
    let (mut reader, mut writer) = (stream, stream);
    let deadline = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > MAX_HEAD {
            return Err(io::ErrorKind::TimedOut.into());
        }
        wait_at_most(left)?;
        match reader.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => head.extend_from_slice(&part[..count]),
        }
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (method, target) = (words.next(), words.next());
    let path = target.map(|target| {
        target
            .split(|byte| *byte == b'?')
            .next()
            .unwrap_or_default()
    });
    let (status, body) = match (method, path) {
        (Some(b"GET"), Some(b"/metrics" | b"/")) => ("200 OK", text(broker)),
        // It answers, so it runs; what troubles it, a restart would not mend.
        (Some(b"GET"), Some(b"/healthz")) => ("200 OK", health(broker, "ok")),
        (Some(b"GET"), Some(b"/readyz")) => match broker.troubles().is_empty() {
            true => ("200 OK", health(broker, "ready")),
            false => ("503 Service Unavailable", health(broker, "")),
        },
        (Some(b"GET"), _) => (
            "404 Not Found",
            "there are /metrics, /healthz and /readyz\n".to_owned(),
        ),
        _ => ("405 Method Not Allowed", "only GET\n".to_owned()),
    };
    let message = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    writer.write_all(message.as_bytes())
}

/// What troubles the broker, a line each, or a word if nothing does.
fn health(broker: &Broker, well: &str) -> String {
    let troubles = broker.troubles();
    match troubles.is_empty() {
        true => format!("{well}\n"),
        false => format!("{}\n", troubles.join("\n")),
    }
}

/// The counts.
fn text(broker: &Broker) -> String {
    let tally = &broker.tally;
    let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
    let (drafts, draft_bytes) = broker.drafts.sizes();
    let mut text = String::with_capacity(4096);
    let mut put = |kind: &str, name: &str, help: &str, value: u64| {
        let name = format!("handfast_broker_{name}");
        // Writing to text does not fail.
        let _always = write!(
            text,
            "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n"
        );
    };
    let mut counter = |name: &str, help: &str, value: u64| put("counter", name, help, value);
    counter("calls_total", "Messages taken.", count(&tally.calls));
    counter("denied_total", "Refusals.", count(&tally.denied));
    counter(
        "opened_total",
        "Files opened and handed over.",
        count(&tally.opened),
    );
    counter(
        "committed_total",
        "Files committed.",
        count(&tally.committed),
    );
    counter(
        "leases_acquired_total",
        "Leases given.",
        count(&tally.acquired),
    );
    counter("leases_ended_total", "Leases ended.", count(&tally.ended));
    counter(
        "connections_total",
        "Connections taken.",
        count(&tally.connections),
    );
    counter(
        "connections_refused_total",
        "Connections for which there was no seat.",
        count(&tally.turned_away),
    );
    let journal = broker.scribe.journal();
    let (log_is_open, log_failures) = journal.health();
    counter(
        "log_failures_total",
        "How often the log did not take an event.",
        log_failures,
    );
    counter(
        "refusals_counted_total",
        "Refusals beyond their user's budget, which are counted and not told one by one.",
        journal.budget.folded(),
    );
    if let Some(bundle) = &broker.bundle {
        counter(
            "spiffe_bundle_failures_total",
            "Times that the trust bundle could not be read again.",
            bundle.failures(),
        );
    }
    let mut gauge = |name: &str, help: &str, value: u64| put("gauge", name, help, value);
    gauge("leases", "Leases in force.", broker.table.len() as u64);
    gauge(
        "connections",
        "Connections now.",
        count(&tally.open_connections),
    );
    gauge("log_up", "Whether the log is open.", u64::from(log_is_open));
    gauge(
        "refusals_owed",
        "Refusals that were counted and that the log has not been told of.",
        journal.budget.owed(),
    );
    gauge(
        "mounts",
        "Leases that are shown as mounts.",
        broker.mounts.len() as u64,
    );
    gauge("drafts", "Files begun and not committed.", drafts);
    gauge("draft_bytes", "Bytes reserved for them.", draft_bytes);
    gauge(
        "unkept_ends",
        "Leases that ended and whose end the store has not taken.",
        broker.unkept_ends(),
    );
    let version = env!("CARGO_PKG_VERSION");
    let _always = write!(
        text,
        "# HELP handfast_broker_info Which broker this is.\n# TYPE handfast_broker_info gauge\nhandfast_broker_info{{version=\"{version}\"}} 1\n"
    );
    text
}

/// Starts to answer, until told to stop.
pub(super) fn start(
    broker: &Arc<Broker>,
    listener: MetricsListener,
    stop: &Arc<OwnedFd>,
) -> io::Result<JoinHandle<()>> {
    let (broker, stop) = (Arc::clone(broker), Arc::clone(stop));
    std::thread::Builder::new()
        .name("metrics".to_owned())
        .stack_size(256 * 1024)
        .spawn(move || listener.serve(&broker, &stop))
}
