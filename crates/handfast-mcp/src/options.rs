//! What the operator grants.

use std::path::PathBuf;

use handfast::Links;
use handfast_ledger::Keep;

/// Where the directories come from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Source {
    /// Directories of the host, as they were typed.
    Dirs(Vec<PathBuf>),
    /// The roots of a policy file.
    Policy(PathBuf),
    /// A session that exists already.
    Session,
}

/// Whether calls are logged.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LogChoice {
    /// Every call, in a log below the state directory.
    #[default]
    On,
    /// Nothing.
    Off,
}

/// What the operator grants, and how the server behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directories.
    pub source: Source,
    /// The name of the session whose overlay takes the changes; `Some("")` makes a new name.
    pub session: Option<String>,
    /// The directory of the project that `session` belongs to. It is mounted at `/` of the session, as
    /// `handfast run` does it, and protected by the preset `workspace` unless rules are given. What is
    /// served are directories in it.
    pub project: Option<PathBuf>,
    /// Nothing is changed.
    pub read_only: bool,
    /// Patterns that deny, as in gitignore without `!`.
    pub deny: Vec<String>,
    /// A preset of protected patterns.
    pub protect: Option<String>,
    /// What happens at symbolic links, if the operator says it; otherwise those that stay beneath
    /// are followed.
    pub links: Option<Links>,
    /// How many bytes the files may grow in all.
    pub quota: Option<u64>,
    /// Where sessions and logs are kept; needed for either.
    pub state: Option<PathBuf>,
    /// Whether calls are logged.
    pub log: LogChoice,
    /// How much of a log is kept; everything otherwise. It holds from the next start on, also for a
    /// log that is there already.
    pub log_keep: Keep,
    /// What `~` stands for in paths.
    pub home: Option<PathBuf>,
    /// Wait until content is on the disk before a write is answered.
    pub sync: bool,
    /// The largest file that is read whole, in bytes.
    pub read_limit: u64,
    /// The most text that one answer holds, in bytes; never more than `read_limit`.
    pub answer_limit: u64,
    /// How many bytes an archive may extract to, and how large a zip may be.
    pub archive_limit: u64,
    /// Offer to delete files also where they are not kept in an overlay.
    pub delete: bool,
    /// Commit what the person approves in a question that the client asks. The client gives the answer, so
    /// this trusts the client.
    pub trust_client_approval: bool,
    /// Tools that are not offered, by their names.
    pub without_tools: Vec<String>,
    /// Offer the auditor as a tool; only in builds with the feature `audit`.
    pub audit: bool,
}

impl Options {
    /// Read-write access to directories, logged, links followed while they stay beneath.
    #[must_use]
    pub fn new(source: Source) -> Self {
        Self {
            source,
            session: None,
            project: None,
            read_only: false,
            deny: Vec::new(),
            protect: None,
            links: None,
            quota: None,
            state: None,
            log: LogChoice::On,
            log_keep: Keep::new(),
            home: None,
            sync: false,
            read_limit: 8 << 20,
            answer_limit: 48 << 10,
            archive_limit: 256 << 20,
            delete: false,
            trust_client_approval: false,
            without_tools: Vec::new(),
            audit: false,
        }
    }
}
