//! Who asks: on whose behalf, within which scope, recorded where.

use std::fmt;
use std::sync::Arc;

use handfast::{FileKind, Process, Recorder};

use crate::error::Error;
use crate::inbox::Asker;
use crate::rules::Access;
use crate::vpath::VirtualPath;

/// What a caller may reach within a session: a lease, or the directories that a client asked for.
///
/// A scope narrows what the session's own rules allow. It is asked about the path that was walked,
/// without links, and again by an overlay under its lock.
pub trait Scope: Send + Sync {
    /// May the caller read the path, or change it?
    ///
    /// # Errors
    /// The error that the caller gets; the session puts in the verb and the path that was asked for.
    fn check(&self, path: &VirtualPath, access: Access) -> Result<(), Error>;

    /// May the caller pass a directory, or follow a link, on the way to something else?
    ///
    /// # Errors
    /// As [`Scope::check`].
    fn check_step(&self, path: &VirtualPath, access: Access) -> Result<(), Error> {
        self.check(path, access)
    }

    /// Whether a listing shows an entry.
    fn shows(&self, path: &VirtualPath, kind: FileKind) -> bool {
        let _ = (path, kind);
        true
    }
}

/// On whose behalf a session is used. Without one nothing is done.
#[derive(Clone)]
pub struct Caller {
    actor: Arc<str>,
    recorder: Option<Arc<dyn Recorder>>,
    scope: Option<Arc<dyn Scope>>,
    asker: Option<Arc<dyn Asker>>,
    never_waits: bool,
    quiet: bool,
    process: Option<u32>,
}

impl Caller {
    /// A named caller that nobody records, with no scope of its own. An empty name stands in no
    /// event: then the recorder itself knows who asks.
    #[must_use]
    pub fn new(actor: impl Into<Arc<str>>) -> Self {
        Self {
            actor: actor.into(),
            recorder: None,
            scope: None,
            asker: None,
            never_waits: false,
            quiet: false,
            process: None,
        }
    }

    /// Tells every decision to a recorder before it takes effect. Paths in events are the
    /// session's, without the leading slash.
    #[must_use]
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Narrows what the caller may reach.
    #[must_use]
    pub fn scope(mut self, scope: Arc<dyn Scope>) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Tells a face of the session when a request of this caller waits for a person. Such a caller is
    /// a program: a review shows it nothing that it would have to ask for.
    #[must_use]
    pub fn asker(mut self, asker: Arc<dyn Asker>) -> Self {
        self.asker = Some(asker);
        self
    }

    /// The same caller, whose requests do not wait: where a person would have to be asked, they are
    /// denied. For those who read many files, one after the other.
    #[must_use]
    pub fn without_asking(mut self) -> Self {
        self.never_waits = true;
        self
    }

    /// The same caller, who only looks ahead of something that is recorded: what reads and lists
    /// is not told. Changes are told all the same.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// The process on whose behalf the caller asks, as a mount observed it.
    #[must_use]
    pub fn process(mut self, pid: u32) -> Self {
        self.process = Some(pid);
        self
    }

    /// That process for an event.
    pub(crate) fn told_process(&self) -> Option<Process<'static>> {
        let pid = self.process?;
        Some(Process { pid, exe: None })
    }

    /// Whether somebody is told what the caller does.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recorder.is_some()
    }

    /// The caller's name, as it stands in events.
    #[must_use]
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// The caller's name for an event.
    pub(crate) fn told_actor(&self) -> Option<&str> {
        Some(&*self.actor).filter(|actor| !actor.is_empty())
    }

    /// The recorder for a verb, if it is told.
    pub(crate) fn recorder_for(&self, changes: bool) -> Option<&dyn Recorder> {
        if self.quiet && !changes {
            return None;
        }
        self.recorder.as_deref()
    }

    pub(crate) fn check(&self, path: &VirtualPath, access: Access) -> Result<(), Error> {
        match &self.scope {
            Some(scope) => scope.check(path, access),
            None => Ok(()),
        }
    }

    pub(crate) fn check_step(&self, path: &VirtualPath, access: Access) -> Result<(), Error> {
        match &self.scope {
            Some(scope) => scope.check_step(path, access),
            None => Ok(()),
        }
    }

    pub(crate) fn shows(&self, path: &VirtualPath, kind: FileKind) -> bool {
        self.scope
            .as_ref()
            .is_none_or(|scope| scope.shows(path, kind))
    }

    pub(crate) fn asker_of(&self) -> Option<&dyn Asker> {
        self.asker.as_deref()
    }

    pub(crate) fn never_waits(&self) -> bool {
        self.never_waits
    }

    pub(crate) fn has_scope(&self) -> bool {
        self.scope.is_some()
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("actor", &self.actor)
            .field("recorder", &self.recorder.is_some())
            .field("scope", &self.scope.is_some())
            .field("quiet", &self.quiet)
            .finish()
    }
}
