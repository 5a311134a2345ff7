//! Every call in a log of its own for this server.
//!
//! The log is opened by a thread of its own, so that the first answer does not wait for it; the
//! first call does. What cannot be logged is not done.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use handfast::{Backend, Decision, ErrorKind, Event, Phase, RecordError, Recorder, RelPath, Verb};
use handfast_archive::Telling;
use handfast_ledger::{
    Context, CreateOptions, Error, ErrorKind as LogError, Keep, Ledger, LedgerRecorder, OpenOptions,
};

use handfast_session::Caller;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};

use crate::server::Server;
use crate::trouble::{self, Trouble};

/// More servers than this do not run at a time.
const MOST_LOGS: u32 = 1000;

/// A segment is scanned whole after a crash: small ones keep the start quick.
const SEGMENT_BYTES: u64 = 4 << 20;

/// The log of a running server, open or about to be.
pub(crate) struct Log {
    opening: Mutex<Option<JoinHandle<Result<OpenLog, String>>>>,
    opened: OnceLock<Result<OpenLog, String>>,
}

struct OpenLog {
    recorder: LedgerRecorder,
    name: String,
}

impl Log {
    /// Begins to open a log below a directory that is there: the first that no other server uses.
    pub(crate) fn open(dir: &Path, keep: Keep) -> std::io::Result<Self> {
        let dir = dir.to_owned();
        let opening = std::thread::Builder::new()
            .name("log".to_owned())
            .stack_size(512 * 1024)
            .spawn(move || open_first_free(&dir, keep))?;
        Ok(Self {
            opening: Mutex::new(Some(opening)),
            opened: OnceLock::new(),
        })
    }

    fn get(&self) -> &Result<OpenLog, String> {
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

fn open_first_free(dir: &Path, keep: Keep) -> Result<OpenLog, String> {
    let told = |error: Error| error.to_string();
    // Servers that start together come one after the other; a server that dies lets go.
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
        let how = OpenOptions::new().patience(Duration::ZERO).keep(keep);
        match Ledger::open(&path, how) {
            Ok(ledger) => {
                let recorder =
                    LedgerRecorder::new(Arc::new(ledger), Context::new()).map_err(told)?;
                return Ok(OpenLog { recorder, name });
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

/// One call, as the log sees it. Every event of the call goes through it, with the client's name and
/// the tool's; a call has no other way to the log, so nothing is done that has no call.
pub(crate) struct CallLog {
    log: Option<Arc<Log>>,
    actor: String,
    /// How many events of this call are in the log.
    events: AtomicU32,
    /// The call is tried again if a link is in the way: only the last such refusal is told.
    trying: AtomicBool,
}

impl CallLog {
    /// Begins a call.
    pub(crate) fn begin(log: Option<Arc<Log>>, client: &str, tool: &str) -> Arc<Self> {
        let printable =
            |text: &str| -> String { text.chars().filter(|c| !c.is_control()).take(64).collect() };
        Arc::new(Self {
            log,
            actor: format!("{} / {}", printable(client), printable(tool)),
            events: AtomicU32::new(0),
            trying: AtomicBool::new(false),
        })
    }

    /// On whose behalf the session is asked.
    pub(crate) fn caller(self: &Arc<Self>) -> Caller {
        let caller = Caller::new(self.actor.as_str());
        match &self.log {
            Some(_) => caller.recorder(Arc::clone(self) as Arc<dyn Recorder>),
            None => caller,
        }
    }

    /// Who hears of what is no verb of the session; nobody where nothing is logged.
    pub(crate) fn telling(&self) -> Option<Telling<'_>> {
        self.log.as_ref().map(|_| Telling {
            recorder: self,
            actor: Some(&self.actor),
        })
    }

    /// Runs something that is tried again if a link is in the way.
    pub(crate) fn trying<T>(&self, act: impl FnOnce() -> T) -> T {
        self.trying.store(true, Ordering::Relaxed);
        let done = act();
        self.trying.store(false, Ordering::Relaxed);
        done
    }

    /// Tells that a verb on the whole session was refused, by somebody else than the session. If that
    /// cannot be logged, the answer is an error.
    pub(crate) fn tell_refused(
        &self,
        server: &Server,
        verb: Verb,
        why: &str,
    ) -> Result<(), Trouble> {
        if self.log.is_none() {
            return Ok(());
        }
        let path = RelPath::root();
        let mut event = Event::begin(verb, &path, server.identity(), Backend::Kernel);
        event.actor = Some(&self.actor);
        event.decision = Decision::Refused {
            kind: ErrorKind::Denied,
            why: why.to_owned(),
        };
        self.record(&event).map_err(|error| not_logged(&error))
    }

    /// Ends the call. One that reached no file is told here; if that cannot be logged, the answer
    /// does not leave either.
    pub(crate) fn finish<T>(
        &self,
        server: &Server,
        outcome: Result<T, Trouble>,
        path: &str,
    ) -> Result<T, Trouble> {
        let Some(log) = &self.log else {
            return outcome;
        };
        if self.events.load(Ordering::Relaxed) > 0 {
            return outcome;
        }
        let path = RelPath::clean(path.trim_start_matches('/')).unwrap_or_else(|_| RelPath::root());
        let mut event = Event::begin(Verb::Parse, &path, server.identity(), Backend::Kernel);
        event.actor = Some(&self.actor);
        if let Err(trouble) = &outcome {
            event.decision = Decision::Refused {
                kind: trouble.kind,
                why: trouble.text.chars().take(1000).collect(),
            };
        }
        match log.append(&event) {
            Ok(()) => outcome,
            Err(error) => Err(not_logged(&error)),
        }
    }
}

fn not_logged(error: &RecordError) -> Trouble {
    let text = format!(
        "EIO: the call could not be logged, and was not answered: {error}{}",
        trouble::NOT_LOGGED
    );
    Trouble::new(ErrorKind::Io, text)
}

impl Recorder for CallLog {
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
        let Some(log) = &self.log else {
            return Err(RecordError::Refused("there is no log".to_owned()));
        };
        let is_passing = match &event.decision {
            Decision::Allowed => false,
            Decision::Refused { kind, .. } => trouble::is_passing(*kind),
        };
        if self.trying.load(Ordering::Relaxed) && is_passing && event.phase != Phase::Result {
            return Ok(());
        }
        log.append(event)?;
        self.events.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Log {
    fn append(&self, event: &Event<'_>) -> Result<(), RecordError> {
        match self.get() {
            Ok(opened) => opened.recorder.record(event),
            Err(why) => Err(RecordError::Failed(std::io::Error::other(why.clone()))),
        }
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use handfast::Identity;

    use super::*;

    #[test]
    fn m8_without_a_log_behind_it_a_call_records_nothing_and_says_so() {
        let call = CallLog::begin(None, "client", "tool");
        let path = RelPath::root();
        let root = Identity {
            device: 0,
            inode: 0,
            mount: None,
            born: None,
        };
        let event = Event::begin(Verb::Read, &path, root, Backend::Walk);
        assert!(matches!(call.record(&event), Err(RecordError::Refused(_))));
    }

    #[test]
    fn m8_a_log_that_could_not_be_opened_refuses_every_event() {
        let broken = Arc::new(Log {
            opening: Mutex::new(None),
            opened: OnceLock::new(),
        });
        let call = CallLog::begin(Some(broken), "client", "tool");
        let path = RelPath::root();
        let root = Identity {
            device: 0,
            inode: 0,
            mount: None,
            born: None,
        };
        for verb in [Verb::Read, Verb::Write] {
            let event = Event::begin(verb, &path, root, Backend::Walk);
            assert!(matches!(call.record(&event), Err(RecordError::Failed(_))));
        }
    }
}
