//! The process that looks at sessions and commits: it was there before the page, and outlives it.

mod change;
mod commit;
mod image;
mod inbox;
mod knocks;
mod leases;
mod listing;
mod plan;
mod seal;
mod snapshots;
mod text;
mod timeline;
mod watch;
mod witness;

use std::any::Any;
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use handfast::ErrorKind;
use handfast_ledger::note::VerifierKey;
use handfast_session::{Caller, Catalogue, Error, Session, SessionOptions, VirtualPath};

use crate::protocol::{self, KeeperMessage, KeeperReply, MAX_REQUEST, Request};
use inbox::ShownQuestions;
pub use leases::{EndedLeases, HeldLease, LeaseDesk};
use plan::Plan;
use seal::Seal;
use watch::{Looking, Watcher};
use witness::Witness;

/// So many plans are remembered: those of pages that were left are forgotten.
const MAX_PLANS: usize = 16;
/// So many seals are remembered.
const MAX_SEALS: usize = 400_000;

/// A caller whose decisions go to a log.
#[allow(missing_debug_implementations, reason = "what it holds is not ours")]
pub struct Recorded {
    /// The caller.
    pub caller: Caller,
    /// Dropped once everything is recorded.
    pub guard: Box<dyn Any>,
}

/// Opens the log.
struct OpenLog(Box<dyn Fn() -> Result<Recorded, Error> + Send>);

impl fmt::Debug for OpenLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenLog")
    }
}

/// What is reviewed, and on whose behalf.
#[derive(Debug)]
pub struct Keeper {
    looking: Looking,
    key: Option<VerifierKey>,
    begin: Option<OpenLog>,
    /// What was sent to be shown: changes, hunks and commits.
    sent: HashSet<Seal>,
    plans: VecDeque<Plan>,
    questions: ShownQuestions,
    witness: Witness,
    /// How often the page reported a request that it refused.
    knocks: u64,
}

impl Keeper {
    /// Reviews the sessions of a catalogue in the name of a caller.
    #[must_use]
    pub fn new(catalogue: Catalogue, options: SessionOptions, caller: Caller) -> Self {
        Self {
            looking: Looking {
                catalogue,
                options,
                caller,
                only: None,
                log: None,
                desk: None,
            },
            key: None,
            begin: None,
            sent: HashSet::new(),
            plans: VecDeque::new(),
            questions: ShownQuestions::default(),
            witness: Witness::default(),
            knocks: 0,
        }
    }

    /// Shows one session and no other.
    #[must_use]
    pub fn only(mut self, session: impl Into<String>) -> Self {
        self.looking.only = Some(session.into());
        self
    }

    /// Shows what a log holds, and whether a key signed it.
    #[must_use]
    pub fn log(mut self, dir: PathBuf, key: Option<VerifierKey>) -> Self {
        self.looking.log = Some(dir);
        self.key = key;
        self
    }

    /// Shows the leases of a broker.
    #[must_use]
    pub fn leases_of(mut self, desk: Arc<dyn LeaseDesk>) -> Self {
        self.looking.desk = Some(desk);
        self
    }

    /// Says in a line what was done, and what was asked for and never sent to be shown.
    #[must_use]
    pub fn telling(mut self, tell: impl FnMut(&str) + Send + 'static) -> Self {
        self.witness = Witness::new(tell);
        self
    }

    /// Asks for a caller each time that something is changed, so that a log is held for no longer than
    /// that: others write to it meanwhile.
    #[must_use]
    pub fn recording(
        mut self,
        begin: impl Fn() -> Result<Recorded, Error> + Send + 'static,
    ) -> Self {
        self.begin = Some(OpenLog(Box::new(begin)));
        self
    }

    /// Answers requests, one after the other, until the page's process is gone. News about what a browser
    /// shows is sent in between.
    ///
    /// # Errors
    /// What the socket says; a message that is none ends it too.
    pub fn serve(&mut self, page: &mut UnixStream) -> io::Result<()> {
        let out = Mutex::new(page.try_clone()?);
        let watcher = Watcher::new(self.looking.clone());
        std::thread::scope(|scope| {
            scope.spawn(|| watcher.run(&out));
            let served = self.serve_with(page, &out, &watcher);
            watcher.end();
            // A watcher in the middle of a message to a page that reads no more must not wait for it.
            drop(page.shutdown(std::net::Shutdown::Both));
            served
        })
    }

    fn serve_with(
        &mut self,
        page: &mut UnixStream,
        out: &Mutex<UnixStream>,
        watcher: &Watcher,
    ) -> io::Result<()> {
        while let Some(request) = protocol::receive::<Request>(page, MAX_REQUEST)? {
            let reply = match request {
                Request::Watch { topics } => watcher.watch(topics),
                request => self.answer(&request),
            };
            match watch::say(out, &KeeperMessage::Reply(reply)) {
                // Nothing of it was sent: its length is looked at first.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    let why = "this is too long to be shown here".to_owned();
                    let kind = ErrorKind::Limit.name().to_owned();
                    let reply = KeeperReply::Refused { kind, why };
                    watch::say(out, &KeeperMessage::Reply(reply))?;
                }
                said => said?,
            }
        }
        Ok(())
    }

    /// Answers one request.
    pub fn answer(&mut self, request: &Request) -> KeeperReply {
        let answered = match request {
            Request::Sessions => self.sessions(),
            Request::Changes { session, skip } => self.changes(session, *skip),
            // Only where there is somebody to tell.
            Request::Watch { .. } => Ok(KeeperReply::Watching),
            Request::Change {
                session,
                path,
                full,
                skip,
            } => self.change(session, path, *full, *skip),
            Request::Image {
                session,
                path,
                side,
                digest,
            } => self.image(session, path, *side, digest),
            Request::Plan {
                session,
                paths,
                hunks,
                all,
            } => self.plan(session, paths, hunks, *all),
            Request::Commit { plan, message } => self.commit(plan, message),
            Request::Undo { session, seal } => self.undo(session, seal),
            Request::Reject {
                session,
                pick,
                hunk,
                text,
            } => self.reject(session, pick, hunk.as_deref(), text),
            Request::Snapshot { session, label } => self.snapshot(session, label),
            Request::GoBack {
                session,
                label,
                skip,
                seal,
            } => self.go_back(session, label, *skip, seal),
            Request::TurnedAway { why, count } => self.turned_away(*why, *count),
            Request::Timeline => Ok(self.timeline()),
            Request::Inbox => self.inbox(),
            Request::Answer {
                session,
                id,
                digest,
                yes,
                scope,
            } => self.answer_question(session, (id, digest), *yes, scope),
            Request::TakeBack { session, id } => self.take_back(session, id),
            Request::Leases => Ok(self.leases()),
            Request::Revoke { seal } => self.revoke(seal),
        };
        let reply = answered.unwrap_or_else(|error| KeeperReply::Refused {
            kind: error.kind().name().to_owned(),
            why: error.detail().to_owned(),
        });
        self.witness.saw(request, &reply);
        reply
    }

    fn open(&self, name: &str) -> Result<Session, Error> {
        self.looking.open(name)
    }

    /// The same for what changes something, with everything recorded. The log is let go of once the first
    /// part is dropped, which must be after the session.
    fn open_to_change(&self, name: &str) -> Result<(Box<dyn Any>, Session), Error> {
        let session = self.open(name)?;
        let (caller, guard) = match &self.begin {
            Some(begin) => {
                let recorded = (begin.0)()?;
                (recorded.caller, recorded.guard)
            }
            None => (self.looking.caller.clone(), Box::new(()) as Box<dyn Any>),
        };
        Ok((guard, session.for_caller(caller)))
    }

    /// Remembers what is sent.
    fn remember(&mut self, seal: Seal) {
        // A reviewer who looked at so many changes looks at the last ones again.
        if self.sent.len() >= MAX_SEALS {
            self.sent.clear();
        }
        self.sent.insert(seal);
    }

    fn require_sent(&self, seal: &Seal) -> Result<(), Error> {
        match self.sent.contains(seal) {
            true => Ok(()),
            false => Err(Error::refused(
                ErrorKind::Denied,
                "this was never sent to be shown",
            )),
        }
    }
}

/// The page is older than the session.
fn stale(what: impl std::fmt::Display) -> Error {
    Error::refused(
        ErrorKind::Stale,
        format!("{what} was changed since it was shown; look at it again"),
    )
}

/// A path as it is named in requests.
fn key_of(path: &VirtualPath) -> String {
    seal::hex(path.as_rel().as_bytes())
}

fn path_of(key: &str) -> Result<VirtualPath, Error> {
    let invalid = || Error::refused(ErrorKind::Invalid, "this names no path");
    if !key.len().is_multiple_of(2) || !key.is_ascii() {
        return Err(invalid());
    }
    let mut bytes = vec![b'/'];
    for at in (0..key.len()).step_by(2) {
        let byte = u8::from_str_radix(&key[at..at + 2], 16);
        bytes.push(byte.map_err(|_| invalid())?);
    }
    VirtualPath::parse(bytes)
}

fn rfc3339(nanoseconds: u64) -> String {
    handfast_ledger::time::rfc3339(i128::from(nanoseconds))
}
