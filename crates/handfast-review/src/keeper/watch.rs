//! Watches the data that a browser shows, so that the browser gets an event when it changes.
//!
//! The watcher has a thread of its own and only looks: it opens sessions again each time, as requests do.
//! It looks at what some page in a browser is about, and sends nothing while that stays the same.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use handfast::{ErrorKind, FileKind};
use handfast_ledger::LogReader;
use handfast_session::{
    Caller, Catalogue, Changed, Comment, Error, Session, SessionOptions, VirtualPath,
};

use super::leases::LeaseDesk;
use super::path_of;
use super::seal::Sealing;
use crate::protocol::{self, KeeperMessage, KeeperReply, MAX_TOPICS, PAGE, Topic};

/// The time between two looks.
const INTERVAL: Duration = Duration::from_millis(400);
/// A look that takes long is not repeated before so many times its length: ten thousand changes must not
/// keep a processor busy.
const REST: u32 = 20;

/// How sessions are looked at, and in whose name.
#[derive(Clone)]
pub(super) struct Looking {
    pub(super) catalogue: Catalogue,
    pub(super) options: SessionOptions,
    pub(super) caller: Caller,
    pub(super) only: Option<String>,
    pub(super) log: Option<PathBuf>,
    pub(super) desk: Option<Arc<dyn LeaseDesk>>,
}

impl fmt::Debug for Looking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Looking")
            .field("only", &self.only)
            .finish_non_exhaustive()
    }
}

impl Looking {
    /// The session is opened for each request: it may be gone, or be another one, by the next.
    pub(super) fn open(&self, name: &str) -> Result<Session, Error> {
        if self.only.as_deref().is_some_and(|only| only != name) {
            return Err(Error::refused(
                ErrorKind::Denied,
                "this page shows another session",
            ));
        }
        self.catalogue
            .open_with(name, self.options.clone(), self.caller.clone().quiet())
    }

    /// The sessions that are shown.
    pub(super) fn names(&self) -> Result<Vec<String>, Error> {
        match &self.only {
            Some(only) => Ok(vec![only.clone()]),
            None => self.catalogue.list(),
        }
    }

    pub(super) fn sessions_stamp(&self) -> Result<String, Error> {
        let mut sealing = Sealing::new("sessions", "");
        for name in self.names()? {
            sealing.text(name.as_bytes());
            let session = self.open(&name);
            let seen = session.and_then(|session| {
                let comments = session.comments()?.len();
                let questions = self.waiting(&name)?.len();
                Ok([session.diff()?.len(), comments, questions])
            });
            match seen {
                Ok(counts) => counts
                    .iter()
                    .for_each(|count| sealing.number(*count as u64)),
                Err(error) => sealing.text(error.detail().as_bytes()),
            }
        }
        Ok(sealing.done().as_str().to_owned())
    }

    /// The log's newest checkpoint, or why there is none.
    pub(super) fn timeline_stamp(&self) -> String {
        let mut sealing = Sealing::new("log", "");
        if let Some(dir) = &self.log {
            let newest = LogReader::open(dir).and_then(|log| log.checkpoint());
            match newest {
                Ok(Some((_, note))) => sealing.text(format!("{note:?}").as_bytes()),
                Ok(None) => sealing.number(0),
                Err(error) => sealing.text(error.to_string().as_bytes()),
            }
        }
        sealing.done().as_str().to_owned()
    }

    /// Something that differs once the page about a topic does.
    fn stamp(&self, topic: &Topic) -> Result<String, Error> {
        match topic {
            Topic::Sessions => self.sessions_stamp(),
            Topic::Changes { session, skip } => {
                changes_stamp(&self.open(session)?, *skip).map(|(stamp, _)| stamp)
            }
            Topic::Change { session, path } => change_stamp(&self.open(session)?, &path_of(path)?),
            Topic::Timeline => Ok(self.timeline_stamp()),
            Topic::Inbox => self.inbox_stamp(),
            Topic::Leases => Ok(self.leases_stamp()),
        }
    }
}

/// A digest of what is changed, of the sizes and times of what is on this page, and of what was said and
/// committed; and how many changes there are.
pub(super) fn changes_stamp(session: &Session, skip: usize) -> Result<(String, usize), Error> {
    let changes = session.diff()?;
    let mut sealing = Sealing::new("stamp", "");
    for change in &changes {
        of_name(&mut sealing, change);
    }
    for change in changes.iter().skip(skip).take(PAGE) {
        of_content(&mut sealing, session, change);
    }
    for comment in session.comments()? {
        sealing.number(comment.made);
    }
    if let Some(last) = session.past_commits()?.first() {
        sealing.number(last.id);
    }
    Ok((sealing.done().as_str().to_owned(), changes.len()))
}

/// The same for one change.
pub(super) fn change_stamp(session: &Session, path: &VirtualPath) -> Result<String, Error> {
    let mut sealing = Sealing::new("change", "");
    let changes = session.diff()?;
    if let Some(change) = changes.iter().find(|change| change.path == *path) {
        of_name(&mut sealing, change);
        of_content(&mut sealing, session, change);
    }
    let is_about = |comment: &&Comment| comment.path == *path;
    for comment in session.comments()?.iter().filter(is_about) {
        sealing.number(comment.made);
    }
    Ok(sealing.done().as_str().to_owned())
}

fn of_name(sealing: &mut Sealing, change: &Changed) {
    sealing.text(change.path.as_rel().as_bytes());
    sealing.text(change.kind.name().as_bytes());
    let from = change.from.as_ref();
    sealing.optional(from.map(|from| from.as_rel().as_bytes()));
    if let Some((_, mode)) = change.mode {
        sealing.number(u64::from(mode));
    }
}

fn of_content(sealing: &mut Sealing, session: &Session, change: &Changed) {
    if change.is_dir {
        return;
    }
    if let Ok(status) = session.metadata(&change.path)
        && status.kind == FileKind::File
    {
        sealing.number(status.len);
        sealing.number(status.modified.seconds.cast_unsigned());
        sealing.number(u64::from(status.modified.nanoseconds));
    }
}

/// What is wanted, and whether the watcher is to end.
#[derive(Debug, Default)]
struct Wanted {
    topics: Vec<Topic>,
    is_over: bool,
    /// Counts the requests: a new one is not kept waiting.
    number: u64,
}

/// Looks at topics again and again.
#[derive(Debug)]
pub(super) struct Watcher {
    looking: Looking,
    wanted: Mutex<Wanted>,
    bell: Condvar,
}

impl Watcher {
    pub(super) fn new(looking: Looking) -> Self {
        Self {
            looking,
            wanted: Mutex::default(),
            bell: Condvar::new(),
        }
    }

    /// From now on, exactly these.
    pub(super) fn watch(&self, topics: Vec<Topic>) -> KeeperReply {
        if topics.len() > MAX_TOPICS {
            return KeeperReply::Refused {
                kind: ErrorKind::Limit.name().to_owned(),
                why: format!("at most {MAX_TOPICS} topics are watched"),
            };
        }
        let mut wanted = self.lock();
        wanted.topics = topics;
        wanted.number += 1;
        self.bell.notify_all();
        KeeperReply::Watching
    }

    pub(super) fn end(&self) {
        self.lock().is_over = true;
        self.bell.notify_all();
    }

    /// Reports changes until [`Watcher::end`], or until no browser is connected.
    pub(super) fn run(&self, out: &Mutex<UnixStream>) {
        let mut told: HashMap<Topic, String> = HashMap::new();
        let (mut rest, mut seen) = (Duration::ZERO, 0);
        while let Some((topics, number)) = self.next(rest, seen) {
            seen = number;
            let begun = Instant::now();
            told.retain(|topic, _| topics.contains(topic));
            for topic in topics {
                // A session that is gone is news too.
                let stamp = self.looking.stamp(&topic).unwrap_or_else(|e| e.detail());
                if told.get(&topic) == Some(&stamp) {
                    continue;
                }
                told.insert(topic.clone(), stamp.clone());
                if say(out, &KeeperMessage::News(topic, stamp)).is_err() {
                    return;
                }
            }
            rest = INTERVAL.max(begun.elapsed() * REST);
        }
    }

    /// Rests, at least until there is something to look at; what to look at, or nothing at the end. What
    /// is newly wanted is looked at without a rest.
    fn next(&self, rest: Duration, seen: u64) -> Option<(Vec<Topic>, u64)> {
        let until = Instant::now() + rest;
        let mut wanted = self.lock();
        while !wanted.is_over {
            let left = until.saturating_duration_since(Instant::now());
            let is_due = left.is_zero() || wanted.number != seen;
            if is_due && !wanted.topics.is_empty() {
                return Some((wanted.topics.clone(), wanted.number));
            }
            wanted = match wanted.topics.is_empty() {
                true => self
                    .bell
                    .wait(wanted)
                    .unwrap_or_else(PoisonError::into_inner),
                false => {
                    let waited = self.bell.wait_timeout(wanted, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends a message as a whole: two threads do.
pub(super) fn say(out: &Mutex<UnixStream>, message: &KeeperMessage) -> io::Result<()> {
    let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
    protocol::send(&mut *out, message)
}
