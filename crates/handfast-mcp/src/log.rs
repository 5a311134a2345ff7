//! Every call in a log of its own for this server.
//!
//! The log is opened by a thread of its own, so that the first answer does not wait for it; the
//! first call does. What cannot be logged is not done.

use std::cell::RefCell;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use handfast::{Backend, Decision, ErrorKind, Event, Phase, RecordError, Recorder, RelPath, Verb};
use handfast_ledger::{
    Context, CreateOptions, Error, ErrorKind as LogError, Ledger, LedgerRecorder, OpenOptions,
};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};

use crate::answer::Answer;
use crate::server::Server;
use crate::trouble::{self, Trouble};

/// More servers than this do not run at a time.
const MOST_LOGS: u32 = 1000;

/// A segment is scanned whole after a crash: small ones keep the start quick.
const SEGMENT_BYTES: u64 = 4 << 20;

/// The log of a running server, open or about to be.
pub(crate) struct Log {
    opening: Mutex<Option<JoinHandle<Result<Opened, String>>>>,
    opened: OnceLock<Result<Opened, String>>,
}

struct Opened {
    recorder: LedgerRecorder,
    name: String,
}

impl Log {
    /// Begins to open a log below a directory that is there: the first that no other server uses.
    pub(crate) fn open(dir: &Path) -> std::io::Result<Self> {
        let dir = dir.to_owned();
        let opening = std::thread::Builder::new()
            .name("log".to_owned())
            .stack_size(512 * 1024)
            .spawn(move || open_first_free(&dir))?;
        Ok(Self {
            opening: Mutex::new(Some(opening)),
            opened: OnceLock::new(),
        })
    }

    fn get(&self) -> &Result<Opened, String> {
        self.opened.get_or_init(|| {
            let opening = self
                .opening
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            match opening.map(JoinHandle::join) {
                Some(Ok(opened)) => opened,
                _ => Err("the log could not be opened".to_owned()),
            }
        })
    }

    /// The log's name below the state directory, or why there is none.
    pub(crate) fn name(&self) -> Result<&str, &str> {
        match self.get() {
            Ok(opened) => Ok(&opened.name),
            Err(why) => Err(why),
        }
    }
}

fn open_first_free(dir: &Path) -> Result<Opened, String> {
    let told = |error: Error| error.to_string();
    // Servers that start together come one after the other; whoever dies lets go.
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let _turn = rustix::fs::open(dir, flags, Mode::empty())
        .and_then(|fd| flock(&fd, FlockOperation::LockExclusive).map(|()| fd))
        .map_err(|error| format!("the logs cannot be locked: {error}"))?;
    for number in 0..MOST_LOGS {
        let name = format!("mcp-{number}");
        let path = dir.join(&name);
        let create = CreateOptions::new()
            .name("mcp")
            .segment_bytes(SEGMENT_BYTES)
            .create(&path);
        match create {
            Err(error) if error.kind() != LogError::Exists => return Err(told(error)),
            _ => {}
        }
        match Ledger::open(&path, OpenOptions::new().patience(Duration::ZERO)) {
            Ok(ledger) => {
                let recorder =
                    LedgerRecorder::new(Arc::new(ledger), Context::new()).map_err(told)?;
                return Ok(Opened { recorder, name });
            }
            // Another server's; or one that was tampered with, which is not ours to repair.
            Err(error)
                if matches!(
                    error.kind(),
                    LogError::Busy | LogError::NotALog | LogError::Corrupt | LogError::Rollback
                ) => {}
            Err(error) => return Err(told(error)),
        }
    }
    Err(format!("{MOST_LOGS} logs are in use"))
}

/// The place of a log that is opened later: a session wants its recorder when it is opened, and no
/// thread may run before the wall is up.
#[derive(Debug, Default)]
pub(crate) struct Later(OnceLock<Arc<Log>>);

impl Later {
    pub(crate) fn set(&self, log: Arc<Log>) {
        // Set once, by whoever starts the server.
        let _first = self.0.set(log);
    }
}

impl Recorder for Later {
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
        match self.0.get() {
            Some(log) => log.record(event),
            // Nobody has asked for anything yet.
            None => Ok(()),
        }
    }
}

/// The call that this thread is at.
struct Current {
    actor: String,
    events: u32,
    quiet: bool,
    trying: bool,
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// A call that was begun; it ends when this is dropped.
pub(crate) struct Logged(());

/// Begins a call on this thread: its events carry the client's name and the tool's.
pub(crate) fn begin(client: &str, tool: &str) -> Logged {
    let mut actor: String = client
        .chars()
        .filter(|c| !c.is_control())
        .take(64)
        .collect();
    actor.push_str(" / ");
    actor.extend(tool.chars().filter(|c| !c.is_control()).take(64));
    CURRENT.set(Some(Current {
        actor,
        events: 0,
        quiet: false,
        trying: false,
    }));
    Logged(())
}

/// Runs something that only looks: at entries of a listing that is in the log, or ahead of an
/// operation that will be. An event for each would drown the log. Changes are told all the same.
pub(crate) fn quietly<T>(look: impl FnOnce() -> T) -> T {
    with(|current| &mut current.quiet, look)
}

/// Runs something that is tried again if a link is in the way: only the last such refusal is told.
pub(crate) fn trying<T>(act: impl FnOnce() -> T) -> T {
    with(|current| &mut current.trying, act)
}

/// Runs something with a mark set on the current call.
fn with<T>(mark: fn(&mut Current) -> &mut bool, act: impl FnOnce() -> T) -> T {
    let set = |value| {
        CURRENT.with_borrow_mut(|current| {
            let mark = current.as_mut().map(mark)?;
            Some(std::mem::replace(mark, value))
        })
    };
    let before = set(true);
    let done = act();
    let _mark = set(before.unwrap_or(false));
    done
}

impl Logged {
    /// Ends the call. One that reached no file is told here; if that cannot be logged, the answer
    /// does not leave either.
    pub(crate) fn finish(
        self,
        log: &Log,
        server: &Server,
        outcome: Result<Answer, Trouble>,
        path: &str,
    ) -> Result<Answer, Trouble> {
        let told = CURRENT.with_borrow(|current| current.as_ref().is_some_and(|c| c.events > 0));
        if told {
            return outcome;
        }
        let path = RelPath::clean(path.trim_start_matches('/')).unwrap_or_else(|_| RelPath::root());
        let mut event = Event::begin(Verb::Parse, &path, server.identity(), Backend::Kernel);
        if let Err(trouble) = &outcome {
            event.decision = Decision::Refused {
                kind: trouble.kind,
                why: trouble.text.chars().take(1000).collect(),
            };
        }
        match log.record(&event) {
            Ok(()) => outcome,
            Err(error) => Err(Trouble::new(
                ErrorKind::Io,
                format!("EIO: the call could not be logged, and was not answered: {error}"),
            )),
        }
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

impl Recorder for Log {
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
        CURRENT.with_borrow_mut(|current| {
            // Before the first call and after the last nothing is asked for.
            let Some(current) = current else {
                return Ok(());
            };
            if current.quiet && !event.verb.changes() {
                return Ok(());
            }
            let is_passing = match &event.decision {
                Decision::Allowed => false,
                Decision::Refused { kind, .. } => trouble::is_passing(*kind),
            };
            if current.trying && is_passing && event.phase != Phase::Result {
                return Ok(());
            }
            match self.get() {
                Ok(opened) => {
                    let mut event = event.clone();
                    event.actor = Some(&current.actor);
                    opened.recorder.record(&event)?;
                    current.events += 1;
                    Ok(())
                }
                Err(why) => Err(RecordError::Failed(std::io::Error::other(why.clone()))),
            }
        })
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}
