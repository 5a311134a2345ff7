//! The server: a session, who may reach what, and the log.

use std::sync::{Arc, OnceLock};

use handfast::Identity;
use handfast::harden::Wall;
use handfast_session::Session;

use crate::log::Log;
use crate::options::Options;
use crate::start::{self, StartError};
use crate::view::View;

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

/// An MCP server over one session.
#[derive(Debug)]
pub struct Server {
    session: Session,
    view: View,
    log: Option<Arc<Log>>,
    identity: Identity,
    read_only: bool,
    read_limit: u64,
    audit: bool,
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
        view: View,
        log: Option<Arc<Log>>,
        identity: Identity,
        options: &Options,
    ) -> Self {
        Self {
            session,
            view,
            log,
            identity,
            read_only: options.read_only,
            read_limit: options.read_limit,
            audit: options.audit,
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
    pub(crate) fn view(&self) -> &View {
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

    /// The most that one answer holds of files.
    pub(crate) fn read_limit(&self) -> u64 {
        self.read_limit
    }

    pub(crate) fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    /// The tools as JSON.
    pub(crate) fn tools(&self) -> &str {
        self.tools
            .get_or_init(|| crate::schema::list(self.read_only, self.audit))
    }

    /// Whether the auditor is among the tools.
    pub(crate) fn has_auditor(&self) -> bool {
        self.audit
    }
}
