//! The server: a session, who may reach what, and the log.

use std::sync::{Arc, OnceLock};

use handfast::Identity;
use handfast::harden::Wall;
use handfast_session::{Protect, Session};

use crate::instructions;
use crate::listings::Listings;
use crate::log::Log;
use crate::options::Options;
use crate::refusals::Refusals;
use crate::schema::{Offer, Tool};
use crate::seen::ReadFiles;
use crate::standing::AllowedDirectories;
use crate::start::{self, StartError};
use crate::view::ClientView;

/// A server that has started, and what there is to say about that.
#[derive(Debug)]
pub struct Started {
    /// The server.
    pub server: Server,
    /// What the kernel enforces besides.
    pub wall: Wall,
    /// Directories that were left out, and why.
    pub warnings: Vec<String>,
    /// One line for people.
    pub summary: String,
}

/// What the start found out.
pub(crate) struct StartReport {
    /// The session whose overlay takes the changes.
    pub(crate) overlay: Option<String>,
    /// Where the directories were.
    pub(crate) standing: AllowedDirectories,
    /// What is protected in any of them.
    pub(crate) protect: Protect,
    /// Nothing can be changed.
    pub(crate) read_only: bool,
    /// How many changes wait in the overlay from before.
    pub(crate) waiting: usize,
    /// The name of the session, if others can find it.
    pub(crate) session_name: Option<String>,
    /// The process that started this one, unless everything was started by it.
    pub(crate) parent: Option<u32>,
}

/// An MCP server over one session.
#[derive(Debug)]
pub struct Server {
    session: Session,
    view: ClientView,
    log: Option<Arc<Log>>,
    identity: Identity,
    read_only: bool,
    read_limit: u64,
    answer_limit: u64,
    archive_limit: u64,
    sync: bool,
    trusts_client: bool,
    instructions: String,
    overlay: Option<String>,
    asks: bool,
    session_name: Option<String>,
    parent: Option<u32>,
    seen: ReadFiles,
    listings: Listings,
    refusals: Refusals,
    standing: AllowedDirectories,
    offer: Offer,
    home: Option<String>,
    tools: OnceLock<String>,
}

impl Server {
    /// Pins the directories, opens the session and raises the wall, in this order. Nothing has
    /// been read from anybody when it returns, and no thread but the log's runs.
    ///
    /// # Errors
    /// If the options contradict themselves, nothing can be opened, or the wall cannot be raised.
    ///
    /// # Security
    /// The wall is for the whole process and for good: call it in a process of its own, before
    /// any thread is started.
    pub fn start(options: &Options) -> Result<Started, StartError> {
        start::start(options)
    }

    pub(crate) fn new(
        session: Session,
        view: ClientView,
        log: Option<Arc<Log>>,
        identity: Identity,
        facts: StartReport,
        options: &Options,
    ) -> Self {
        let instructions = instructions::text(&view, &facts);
        let StartReport {
            overlay,
            standing,
            read_only,
            protect,
            waiting: _,
            session_name,
            parent,
        } = facts;
        let offer = Offer {
            read_only,
            audit: options.audit,
            overlay: overlay.is_some(),
            delete: overlay.is_some() || options.delete,
            commits: options.trust_client_approval,
            without: options.without_tools.clone(),
        };
        Self {
            session,
            view,
            log,
            identity,
            read_only,
            read_limit: options.read_limit,
            answer_limit: options.answer_limit,
            archive_limit: options.archive_limit,
            sync: options.sync,
            trusts_client: options.trust_client_approval,
            instructions,
            overlay,
            asks: !protect.ask.is_empty(),
            session_name,
            parent,
            seen: ReadFiles::default(),
            listings: Listings::default(),
            refusals: Refusals::default(),
            standing,
            offer,
            home: options
                .home
                .as_ref()
                .and_then(|home| Some(home.to_str()?.to_owned())),
            tools: OnceLock::new(),
        }
    }

    /// The name of this server's log, once it is open; waits for that.
    ///
    /// # Errors
    /// Why there is none; nothing if none was asked for.
    pub fn log_name(&self) -> Result<Option<&str>, &str> {
        self.log.as_ref().map(|log| log.name()).transpose()
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// What the operator grants.
    pub(crate) fn view(&self) -> &ClientView {
        &self.view
    }

    pub(crate) fn log(&self) -> Option<Arc<Log>> {
        self.log.clone()
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The largest file that is read whole.
    pub(crate) fn read_limit(&self) -> u64 {
        self.read_limit
    }

    /// The most text that one answer holds.
    pub(crate) fn answer_limit(&self) -> u64 {
        self.answer_limit.min(self.read_limit)
    }

    /// Whether an answer says that content is on the disk.
    pub(crate) fn syncs(&self) -> bool {
        self.sync
    }

    /// How many bytes an archive may extract to.
    pub(crate) fn archive_limit(&self) -> u64 {
        self.archive_limit
    }

    /// Whether a client's word commits changes.
    pub(crate) fn trusts_client(&self) -> bool {
        self.trusts_client
    }

    /// What the server says about itself to a model.
    pub(crate) fn instructions(&self) -> &str {
        &self.instructions
    }

    /// The session whose overlay takes the changes.
    pub(crate) fn overlay(&self) -> Option<&str> {
        self.overlay.as_deref()
    }

    /// Whether a rule says that a person is asked.
    pub(crate) fn asks(&self) -> bool {
        self.asks
    }

    /// The name of the session, if others can find it.
    pub(crate) fn session_name(&self) -> Option<&str> {
        self.session_name.as_deref()
    }

    /// The process that started this one, unless everything was started by it.
    pub(crate) fn parent(&self) -> Option<u32> {
        self.parent
    }

    /// What callers have read of files.
    pub(crate) fn seen(&self) -> &ReadFiles {
        &self.seen
    }

    /// Long lists that callers page through.
    pub(crate) fn listings(&self) -> &Listings {
        &self.listings
    }

    /// What callers were refused.
    pub(crate) fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    pub(crate) fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    /// The tools as JSON.
    pub(crate) fn tools(&self) -> &str {
        self.tools.get_or_init(|| crate::schema::list(&self.offer))
    }

    /// The tool of a name, if it is offered.
    pub(crate) fn tool(&self, name: &str) -> Option<&'static Tool> {
        self.offer.find(name)
    }

    /// Where the directories were.
    pub(crate) fn standing(&self) -> &AllowedDirectories {
        &self.standing
    }
}
