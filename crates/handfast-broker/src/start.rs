//! From options to a running broker, in the one order that is safe.
//!
//! 1. What is served and where state lies is opened, while the process has one thread.
//! 2. The wall goes up.
//! 3. Only then are database, log and roots opened, threads started, and the first connection
//!    accepted.

use std::fmt;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;

use handfast_session::{Caller, Session, SessionOptions};

use crate::boundary::Boundary;
use crate::broker::{Broker, Tally};
use crate::budget::RefusalBudget;
use crate::drafts::Drafts;
use crate::identity::{ExeReader, boot_id};
use crate::in_force::InForce;
use crate::journal::Journal;
use crate::lease::{LeaseTable, Room};
use crate::limits::Limits;
use crate::log::Scribe;
use crate::mount::Mounts;
use crate::ops::Copies;
use crate::pace::Pace;
use crate::reaper::Reaper;
use crate::rulebook::Rulebook;
use crate::server::{MetricsListener, Probe, Running};
use crate::site::Site;
use crate::spiffe::{BundleReader, TrustBundle};
use crate::store::{LeaseStore, SqliteStore};

/// How far the wall reaches.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Fence {
    /// The whole process, which must have one thread. For a program that is the broker.
    #[default]
    Process,
    /// The calling thread and all that the broker starts. For a program that embeds it; the
    /// calling thread is restricted for good.
    Thread,
}

/// How a broker is started.
pub struct ServeOptions {
    pub(crate) rulebook: Rulebook,
    pub(crate) state: PathBuf,
    pub(crate) log: Option<PathBuf>,
    pub(crate) limits: Limits,
    pub(crate) fence: Fence,
    pub(crate) exe: ExeReader,
    pub(crate) check_sender: Option<bool>,
    pub(crate) store: Option<Arc<dyn LeaseStore>>,
    pub(crate) probe: Option<Probe>,
    pub(crate) metrics: Option<MetricsListener>,
    pub(crate) bundle: Option<TrustBundle>,
    pub(crate) bundle_reader: Option<BundleReader>,
}

impl ServeOptions {
    /// A broker for a rulebook, with its leases and its log below a state directory.
    #[must_use]
    pub fn new(rulebook: Rulebook, state: impl Into<PathBuf>) -> Self {
        Self {
            rulebook,
            state: state.into(),
            log: None,
            limits: Limits::default(),
            fence: Fence::default(),
            exe: ExeReader::none(),
            check_sender: None,
            store: None,
            probe: None,
            metrics: None,
            bundle: None,
            bundle_reader: None,
        }
    }

    /// Keeps the log elsewhere. It is made if it is not there.
    #[must_use]
    pub fn log(mut self, dir: impl Into<PathBuf>) -> Self {
        self.log = Some(dir.into());
        self
    }

    /// Sets limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how far the wall reaches.
    #[must_use]
    pub fn fence(mut self, fence: Fence) -> Self {
        self.fence = fence;
        self
    }

    /// Reads programs of peers with this.
    #[must_use]
    pub fn exe(mut self, reader: ExeReader) -> Self {
        self.exe = reader;
        self
    }

    /// Takes only messages that were sent by the process that connected: a connection that was
    /// passed on, or inherited, is of no use to others. This is so by default where the kernel
    /// tells who sends; `true` serves nobody where it does not.
    #[must_use]
    pub fn check_sender(mut self, check: bool) -> Self {
        self.check_sender = Some(check);
        self
    }

    /// Keeps leases in this store instead of the state directory.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn LeaseStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Takes SVIDs that this bundle vouches for as proof of a SPIFFE id.
    #[must_use]
    pub fn trust_bundle(mut self, bundle: TrustBundle) -> Self {
        self.bundle = Some(bundle);
        self
    }

    /// Reads the bundle again with this, every few seconds.
    #[must_use]
    pub fn bundle_reader(mut self, reader: BundleReader) -> Self {
        self.bundle_reader = Some(reader);
        self
    }

    /// Serves metrics here.
    #[must_use]
    pub fn metrics(mut self, listener: MetricsListener) -> Self {
        self.metrics = Some(listener);
        self
    }

    /// Something that runs inside the broker when `io.handfast.Broker.Probe` is called. For tests
    /// of the wall.
    #[doc(hidden)]
    #[must_use]
    pub fn probe(mut self, probe: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.probe = Some(Arc::new(probe));
        self
    }

    /// Where the log lies.
    #[must_use]
    pub fn log_dir(&self) -> PathBuf {
        self.log.clone().unwrap_or_else(|| self.state.join("log"))
    }

    /// Starts the broker on a socket that is bound and listens.
    ///
    /// # Errors
    /// If anything of it cannot be opened, or the kernel refuses the wall. Nothing is accepted
    /// then.
    pub fn start(self, listener: UnixListener) -> Result<Running, StartError> {
        start(self, listener)
    }
}

impl fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServeOptions")
            .field("rulebook", &self.rulebook)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

fn start(options: ServeOptions, listener: UnixListener) -> Result<Running, StartError> {
    let log_dir = options.log_dir();
    let rulebook = options.rulebook;
    rulebook.check(options.bundle.as_ref())?;
    let boot_id = boot_id().map_err(|error| StartError::failed("the boot id", error))?;
    let mut site = Site::open(&rulebook, &options.state, &log_dir)?;
    site.keep_socket_private(&listener);
    if options.fence == Fence::Process {
        raise_descriptor_limit();
        crate::sys::give_large_buffers_back();
    }
    let wall = match options.fence {
        Fence::Process => site.hardening.harden_process(),
        Fence::Thread => site.hardening.harden_thread(),
    };
    let wall = wall.map_err(|error| StartError::Wall(error.to_string()))?;

    let store: Arc<dyn LeaseStore> = match options.store {
        Some(store) => store,
        None => Arc::new(SqliteStore::open_ambient(&options.state.join("leases.db"))?),
    };
    let limits = options.limits.with_policy(&rulebook.limits);
    let budget = RefusalBudget::new(limits.refusal_bytes, limits.refusal_bytes_per_second);
    let journal = Journal::open(&log_dir, &site.state, budget, rulebook.log)?;
    let journal = Arc::new(journal);
    journal
        .policy_loaded(None, &rulebook.sha256)
        .map_err(|error| StartError::Log(error.to_string()))?;
    let tokens = crate::token::TokenKey::open(&site.state)?;
    let spec = rulebook.session();
    let private = site.private.iter();
    let session_options = private.fold(SessionOptions::new(), SessionOptions::private);
    let looking = Session::with_options(&spec, session_options, Caller::new("broker"))
        .map_err(StartError::config)?;
    let boundary = Boundary {
        wall,
        own_uid: rustix::process::geteuid().as_raw(),
        roots: site.doors,
    };
    let check_sender = options
        .check_sender
        .unwrap_or_else(|| crate::sys::pass_sender(listener.as_fd(), true).is_ok());
    let reaper = Reaper::new().map_err(|error| StartError::failed("epoll", error))?;
    let (root_identity, backend) = site.first;
    let broker = Arc::new_cyclic(|this| Broker {
        this: this.clone(),
        mounts: Mounts::default(),
        scribe: Scribe::new(journal, rulebook.sha256.clone(), root_identity, backend),
        in_force: Arc::new(InForce::new(rulebook, looking)),
        private: site.private,
        table: LeaseTable::new(Room {
            total: limits.leases,
            per_user: limits.leases_per_user,
        }),
        store,
        drafts: Drafts::default(),
        copies: Copies::default(),
        unkept: std::sync::Mutex::default(),
        reaper,
        exe: options.exe,
        pace: Pace::new(limits.refusals_per_second),
        limits,
        boot_id,
        tally: Tally::default(),
        heartbeat_ns: crate::clock::now_ns().into(),
        tokens,
        bundle: options.bundle,
        bundle_reader: options.bundle_reader,
        refusals: crate::refusals::Refusals::default(),
        boundary,
        above: site.above,
        check_sender,
    });
    broker.restore()?;
    crate::cleanup::start(site.writable);
    broker
        .keep_bundle_fresh()
        .map_err(|error| StartError::failed("the thread that reads the trust bundle", error))?;
    Running::new(broker, listener, log_dir, options.probe, options.metrics)
        .map_err(|error| StartError::failed("the first threads", error))
}

/// A connection costs two descriptors and a draft two more; the usual soft limit of 1024 is for
/// programs that use `select`. Where it cannot be raised, fewer connections are served.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(errno) = setrlimit(Resource::Nofile, raised) {
        crate::complain(&format!("the limit of descriptors stays: {errno}"));
    }
}

/// Why a broker did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// What was asked for cannot be served.
    Config(String),
    /// The kernel refused the wall.
    Wall(String),
    /// The log cannot be written.
    Log(String),
    /// The lease store cannot be used.
    Store(crate::store::StoreError),
    /// What the system says.
    Failed(String),
}

impl StartError {
    pub(crate) fn config(error: impl fmt::Display) -> Self {
        Self::Config(error.to_string())
    }

    pub(crate) fn failed(what: &str, error: impl fmt::Display) -> Self {
        Self::Failed(format!("{what}: {error}"))
    }
}

impl From<crate::store::StoreError> for StartError {
    fn from(error: crate::store::StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(why) | Self::Failed(why) => f.write_str(why),
            Self::Wall(why) => write!(f, "the wall could not be raised: {why}"),
            Self::Log(why) => write!(f, "the log: {why}"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {}
