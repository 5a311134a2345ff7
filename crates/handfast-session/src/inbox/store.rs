//! The directory of questions and answers.
//!
//! `q-ID` is a question, locked by the request that waits; `a-ID` its answer, written once; `x-ID` an
//! attempt to answer that was refused; `g-ID` an answer that holds for more than one request; `t-ID`
//! one that was taken back and is not recorded yet. A lock on the directory is held only as long as names are looked at or written.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use handfast::{ErrorKind, RelPath, Root, WriteOptions};
use rustix::fs::{FlockOperation, Mode, OFlags};

use super::answer::{Answer, AnsweredBy, Given, Grant, GrantScope};
use super::process::Standing;
use super::question::Question;
use super::taken_back::TakenBack;
use crate::error::Error;

const DIRECTORY: &str = "inbox";

/// So many requests of a session wait at one time; the rest are denied.
pub const MAX_WAITING: usize = 32;

/// So many answers are kept.
const MAX_GRANTS: usize = 1000;

/// How long one look at the inbox waits for another.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest name of one who answers.
const MAX_NAME: usize = 120;

/// The questions of a session that lasts, and their answers.
///
/// ```
/// use handfast_session::{Answer, AnsweredBy, Caller, Catalogue, GrantScope};
/// # let dir = std::env::temp_dir().join(format!("handfast-inbox-doc-{}", std::process::id()));
/// # std::fs::create_dir(&dir).unwrap();
/// # let catalogue = Catalogue::open_ambient(dir.join("state"))?;
/// # let base = handfast_session::MountSpec::new(&dir, handfast_session::VirtualPath::parse("/")?)
/// #     .mode(handfast_session::Mode::ReadOnly);
/// # std::fs::create_dir(dir.join("base")).unwrap();
/// # let base = handfast_session::MountSpec::new(dir.join("base"), handfast_session::VirtualPath::parse("/")?);
/// # catalogue.create("review", &handfast_session::SessionSpec::new().mount(base))?;
/// let inbox = catalogue.inbox("review")?;
/// for question in inbox.questions()? {
///     println!("{} wants to {}", question.caller, question.sentence());
///     let answer = Answer {
///         yes: false,
///         scope: GrantScope::Once,
///         by: AnsweredBy::Person("alice".to_owned()),
///     };
///     inbox.answer(&question.digest, &answer)?;
/// }
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), handfast_session::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Inbox {
    home: Root,
}

/// A question that waits. It goes when this is dropped.
pub(crate) struct Waiting<'a> {
    inbox: &'a Inbox,
    dir: Root,
    question: Question,
    /// Locked for as long as the request waits.
    _lock: File,
}

/// What became of a new question.
pub(crate) enum Posted<'a> {
    Waits(Box<Waiting<'a>>),
    /// As many wait as may.
    Full,
}

/// One of us looks at the inbox; dropped, others may.
pub(super) struct Turn(#[allow(dead_code, reason = "unlocked when it is closed")] OwnedFd);

impl Inbox {
    /// How names begin of what was taken back.
    pub(super) const TAKEN_BACK: &'static str = "t-";

    pub(crate) fn new(home: &Root) -> Self {
        Self { home: home.clone() }
    }

    /// The requests that wait for an answer, the oldest first.
    ///
    /// # Errors
    /// `Unsupported` for a question of a newer version; what the disk says.
    pub fn questions(&self) -> Result<Vec<Question>, Error> {
        let Some(dir) = self.existing()? else {
            return Ok(Vec::new());
        };
        let _turn = turn(&dir)?;
        let mut waiting = Vec::new();
        for id in swept(&dir)? {
            if !exists(&dir, &format!("a-{id}"))? {
                waiting.push(Question::parse(&dir.read(&name("q", &id)?)?)?);
            }
        }
        waiting.sort_by_key(|question| question.asked);
        Ok(waiting)
    }

    /// Answers a question by its digest, or by as many digits of it as its ID has.
    ///
    /// # Errors
    /// `NotFound` if no such question waits: it was given up, or waited for too long; `Stale` if it is
    /// answered already; `Denied` if the answer comes from where none may come from; `Limit` if too
    /// many answers are kept; what the disk says.
    pub fn answer(&self, digest: &str, answer: &Answer) -> Result<Question, Error> {
        let gone = || {
            let shown = handfast::escape(digest.as_bytes());
            Error::refused(ErrorKind::NotFound, format!("no question `{shown}` waits"))
        };
        let dir = self.existing()?.ok_or_else(gone)?;
        let _turn = turn(&dir)?;
        let mut found = None;
        for id in swept(&dir)? {
            let is_named = digest.len() >= id.len() && digest.starts_with(&id);
            let question = match is_named {
                true => Question::parse(&dir.read(&name("q", &id)?)?)?,
                false => continue,
            };
            found = (question.digest.starts_with(digest)).then_some(question);
        }
        let question = found.ok_or_else(gone)?;
        if let Err(error) = may_answer(&question, &answer.by) {
            // The one who asks tells its recorder.
            let attempt = format!("{}: {}", answer.by.name(), error.detail());
            drop(put(
                &dir,
                &format!("x-{}", question.id),
                attempt.into_bytes(),
            ));
            return Err(error);
        }
        let given = Given {
            digest: question.digest.clone(),
            yes: answer.yes,
            scope: answer.scope,
            by: who(&answer.by),
        };
        if answer.scope != GrantScope::Once && names(&dir, "g-")?.len() >= MAX_GRANTS {
            let why = format!("a session keeps at most {MAX_GRANTS} answers; take some back");
            return Err(Error::refused(ErrorKind::Limit, why));
        }
        put(&dir, &format!("a-{}", question.id), given.to_bytes()).map_err(|error| match error
            .kind()
        {
            ErrorKind::Exists => Error::refused(ErrorKind::Stale, "it is answered already"),
            _ => error,
        })?;
        if answer.scope != GrantScope::Once {
            let grant = Grant::of(&question, &given);
            put(&dir, &format!("g-{}", question.id), grant.to_bytes())?;
        }
        Ok(question)
    }

    /// The answers that hold for more than one request.
    ///
    /// # Errors
    /// As [`Inbox::questions`].
    pub fn grants(&self) -> Result<Vec<Grant>, Error> {
        let Some(dir) = self.existing()? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for id in names(&dir, "g-")? {
            match dir.read(&name("g", &id)?) {
                Ok(bytes) => found.push(Grant::parse(&bytes)?),
                // Taken back meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Takes an answer back that holds for more than one request. What was opened because of it stays
    /// open. It is an event as soon as a process with a log uses the session: see
    /// [`Session::record_taken_back`](crate::Session::record_taken_back).
    ///
    /// # Errors
    /// `NotFound` if there is none for a question of this ID; what the disk says.
    pub fn take_back(&self, id: &str, by: &AnsweredBy) -> Result<(), Error> {
        let none = || {
            let shown = handfast::escape(id.as_bytes());
            Error::refused(
                ErrorKind::NotFound,
                format!("no answer to `{shown}` is kept"),
            )
        };
        let dir = self.existing()?.ok_or_else(none)?;
        let _turn = turn(&dir)?;
        if !names(&dir, "g-")?.iter().any(|known| known == id) {
            return Err(none());
        }
        let grant = Grant::parse(&dir.read(&name("g", id)?)?)?;
        let taken = TakenBack {
            path: grant.path,
            yes: grant.yes,
            by: who(by),
        };
        // A session that nobody logs keeps the newest.
        let noted = names(&dir, Self::TAKEN_BACK)?;
        if let Some(oldest) = noted.first().filter(|_| noted.len() >= MAX_GRANTS) {
            dir.remove_file(&name("t", oldest)?)?;
        }
        put(&dir, &format!("t-{id}"), taken.to_bytes())?;
        dir.remove_file(&name("g", id)?)
    }

    /// Whether a kept answer covers a question before it is asked.
    pub(crate) fn kept_answer(&self, question: &Question) -> Result<Option<Grant>, Error> {
        let mut grants = self.grants()?;
        grants.retain(|grant| grant.covers(question));
        // A no beats a yes.
        grants.sort_by_key(|grant| grant.yes);
        Ok(grants.into_iter().next())
    }

    /// Puts a question where a person sees it.
    pub(crate) fn post(&self, question: Question) -> Result<Posted<'_>, Error> {
        let dir = self.made()?;
        let turn = turn(&dir)?;
        if swept(&dir)?.len() >= MAX_WAITING {
            return Ok(Posted::Full);
        }
        let path = name("q", &question.id)?;
        put(&dir, &format!("q-{}", question.id), question.to_bytes())?;
        let lock = dir.open(&path)?.into_std();
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        drop(turn);
        Ok(Posted::Waits(Box::new(Waiting {
            inbox: self,
            dir,
            question,
            _lock: lock,
        })))
    }

    pub(super) fn existing(&self) -> Result<Option<Root>, Error> {
        match self.home.open_dir(&RelPath::parse(DIRECTORY)?) {
            Ok(dir) => Ok(Some(dir.into_root())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn made(&self) -> Result<Root, Error> {
        let path = RelPath::parse(DIRECTORY)?;
        match self.home.create_dir_with(&path, 0o700) {
            Ok(dir) => Ok(dir.into_root()),
            Err(error) if error.kind() == ErrorKind::Exists => {
                Ok(self.home.open_dir(&path)?.into_root())
            }
            Err(error) => Err(error),
        }
    }
}

impl Waiting<'_> {
    pub(crate) fn question(&self) -> &Question {
        &self.question
    }

    /// The answer, if it is there: to this question, or one that is kept and covers it.
    pub(crate) fn answer(&self) -> Result<Option<Given>, Error> {
        let path = name("a", &self.question.id)?;
        match self.dir.read(&path) {
            Ok(bytes) => {
                let given = Given::parse(&bytes)?;
                // The one who answered saw this question.
                return Ok((given.digest == self.question.digest).then_some(given));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(self
            .inbox
            .kept_answer(&self.question)?
            .map(|grant| grant.given(&self.question)))
    }

    /// An attempt to answer that was refused since the last look.
    pub(crate) fn attempt(&self) -> Option<String> {
        let path = name("x", &self.question.id).ok()?;
        let bytes = self.dir.read(&path).ok()?;
        drop(self.dir.remove_file(&path));
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The last look: from now on no answer is taken.
    pub(crate) fn close(self) -> Result<Option<Given>, Error> {
        let _turn = turn(&self.dir)?;
        let given = self.answer();
        forget(&self.dir, &self.question.id);
        given
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // In our turn: one who answers right now must not find the question without its answer, and
        // give a second one. Without a turn, the question ends all the same.
        let _turn = turn(&self.dir);
        forget(&self.dir, &self.question.id);
    }
}

/// May this process answer?
fn may_answer(question: &Question, by: &AnsweredBy) -> Result<(), Error> {
    let here = Standing::here().ok_or_else(|| {
        Error::refused(
            ErrorKind::Unsupported,
            "/proc does not tell which process answers, so no answer is taken",
        )
    })?;
    match by {
        AnsweredBy::Person(_) => here.may_answer(&question.asker, &question.barred),
        AnsweredBy::Face(_) if here.process == question.asker.process => Ok(()),
        AnsweredBy::Face(_) => Err(Error::refused(
            ErrorKind::Denied,
            "only the process that asks answers for its own client",
        )),
    }
}

/// Waits until nobody else looks at the inbox.
pub(super) fn turn(dir: &Root) -> Result<Turn, Error> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(dir, c".", flags, Mode::empty())?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Turn(fd)),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Error::refused(
                    ErrorKind::Busy,
                    "another process holds the session's inbox",
                ));
            }
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// The IDs of questions whose request still waits; what the dead left is removed. Our turn.
fn swept(dir: &Root) -> Result<Vec<String>, Error> {
    let mut alive = Vec::new();
    for id in names(dir, "q-")? {
        let file = match dir.open(&name("q", &id)?) {
            Ok(file) => file.into_std(),
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(rustix::io::Errno::WOULDBLOCK) => alive.push(id),
            _ => forget(dir, &id),
        }
    }
    Ok(alive)
}

/// Removes a question with its answer. What stays behind goes with the next look.
fn forget(dir: &Root, id: &str) {
    for kind in ["a", "x", "q"] {
        if let Ok(path) = name(kind, id) {
            drop(dir.remove_file(&path));
        }
    }
}

fn put(dir: &Root, file: &str, content: Vec<u8>) -> Result<(), Error> {
    let private = WriteOptions::new().mode(0o600);
    dir.write_new_with(&RelPath::parse(file)?, content, private)
        .map(drop)
}

fn exists(dir: &Root, file: &str) -> Result<bool, Error> {
    match dir.symlink_metadata(&RelPath::parse(file)?) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

pub(super) fn name(kind: &str, id: &str) -> Result<RelPath, Error> {
    RelPath::parse(format!("{kind}-{id}"))
}

/// The IDs behind a prefix.
pub(super) fn names(dir: &Root, prefix: &str) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    let mut listing = dir.read_dir(&RelPath::root())?;
    while let Some(entry) = listing.next_entry()? {
        let id = entry.name().as_bytes().strip_prefix(prefix.as_bytes());
        if let Some(id) = id
            && id.iter().all(u8::is_ascii_hexdigit)
        {
            found.push(String::from_utf8_lossy(id).into_owned());
        }
    }
    found.sort();
    Ok(found)
}

/// Who answers: the name that was given, and what the system says of a person's process.
fn who(by: &AnsweredBy) -> String {
    let mut name: String = by.name().chars().take(MAX_NAME).collect();
    if by.name().chars().nth(MAX_NAME).is_some() {
        name.push('…');
    }
    match by {
        AnsweredBy::Face(_) => name,
        AnsweredBy::Person(_) => {
            let user = rustix::process::getuid().as_raw();
            format!("{name} (uid {user}, pid {})", std::process::id())
        }
    }
}
