//! `--log DIR` and `HANDFAST_LOG`: what every command that touches files does with a log.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
#[cfg(feature = "run")]
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use handfast::{Recorder, Root, RootOptions, escape};
use handfast_archive::Telling;
use handfast_ledger::{Context, Error, Ledger, LedgerRecorder, OpenOptions, lies_inside};
use handfast_session::{Caller, SessionOptions};

use super::trouble::{trouble, usage};
use crate::failure::Failure;
use crate::output::Output;

/// Where decisions are logged, if they are.
#[derive(Clone, Debug, Args)]
pub(crate) struct LogChoice {
    /// Log every decision here; an operation that cannot be logged is not done [env: HANDFAST_LOG]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Log")]
    log: Option<OsString>,

    /// Name the agent that this is done for; every event records it
    #[arg(long, global = true, value_name = "NAME", help_heading = "Log")]
    agent: Option<String>,
}

/// A log that is written to while a command runs.
pub(crate) struct Recording {
    ledger: Arc<Ledger>,
    /// The recorder of the root or the session, and the agent's name.
    recorder: Arc<LedgerRecorder>,
    actor: Option<String>,
    dir: OsString,
}

/// How a session is opened, and on whose behalf.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) options: SessionOptions,
    pub(crate) caller: Caller,
    /// Whether the caller's decisions go to a log.
    pub(crate) logged: bool,
}

impl Default for Opening {
    /// No named agent, not logged.
    fn default() -> Self {
        Self {
            options: SessionOptions::new(),
            caller: Caller::new("handfast"),
            logged: false,
        }
    }
}

impl LogChoice {
    /// The log in a directory.
    pub(crate) fn of(dir: OsString) -> Self {
        Self {
            log: Some(dir),
            agent: None,
        }
    }

    /// Whether anything about a log was asked for on the command line.
    #[cfg(feature = "broker")]
    pub(crate) fn is_given(&self) -> bool {
        self.log.is_some() || self.agent.is_some()
    }

    /// The log's directory: as asked, or from the environment.
    pub(crate) fn dir(&self) -> Option<OsString> {
        let from_env = || std::env::var_os("HANDFAST_LOG").filter(|dir| !dir.is_empty());
        self.log.clone().or_else(from_env)
    }

    /// The directories of the log and of its keys, if a log was asked for: no program may be given
    /// them.
    #[cfg(feature = "run")]
    pub(crate) fn places(&self, verb: &'static str) -> Result<Vec<PathBuf>, Box<Failure>> {
        let Some(dir) = self.dir() else {
            return Ok(Vec::new());
        };
        let path = PathBuf::from(&dir);
        let keys = handfast_ledger::keys_of(&path).map_err(|error| trouble(verb, &dir, &error))?;
        Ok(vec![path, keys])
    }

    /// A session's options with a recorder, if a log was asked for. The log's own directories are
    /// kept out of every mount.
    pub(crate) fn open_session(
        &self,
        verb: &'static str,
    ) -> Result<(Opening, Option<Recording>), Box<Failure>> {
        let mut options = SessionOptions::new();
        let caller = Caller::new(self.agent.as_deref().unwrap_or("handfast"));
        let Some(dir) = self.dir() else {
            let opening = Opening {
                options,
                caller,
                logged: false,
            };
            return Ok((opening, None));
        };
        let (ledger, recorder) =
            begin(&dir, Context::new()).map_err(|error| trouble(verb, &dir, &error))?;
        let caller = caller.recorder(Arc::clone(&recorder) as Arc<dyn Recorder>);
        for place in [Some(Path::new(&dir)), ledger.key_path()]
            .into_iter()
            .flatten()
        {
            let own = Root::open_ambient(place).map_err(|error| {
                usage(verb, "the log's directory cannot be opened", error.detail())
            })?;
            options = options.private(&own);
        }
        let opening = Opening {
            options,
            caller,
            logged: true,
        };
        let recording = Recording {
            ledger,
            recorder,
            actor: Some(self.agent.clone().unwrap_or_else(|| "handfast".to_owned())),
            dir,
        };
        Ok((opening, Some(recording)))
    }

    /// The root with a recorder, if a log was asked for.
    pub(crate) fn open_root(
        &self,
        verb: &'static str,
        path: &OsStr,
        options: RootOptions,
        open: impl Fn(RootOptions) -> Result<Root, Box<Failure>>,
    ) -> Result<(Root, Option<Recording>), Box<Failure>> {
        let options = match &self.agent {
            Some(agent) => options.actor(agent.as_str()),
            None => options,
        };
        let Some(dir) = self.dir() else {
            return Ok((open(options)?, None));
        };
        let root = open(options.clone())?;
        let failed = |error: &Error| trouble(verb, &dir, error);
        let context = Context::new().root_id(name_of(path));
        let (ledger, recorder) = begin(&dir, context).map_err(|error| failed(&error))?;
        let mut options = options.recorder(Arc::clone(&recorder) as Arc<dyn Recorder>);
        let own = ledger.own_directories();
        for identity in &own {
            if lies_inside(Path::new(path), identity).map_err(|error| failed(&error))? {
                let sentence = "the root lies inside the log or its keys";
                let detail = "everything in it would be the log's own".to_owned();
                return Err(usage(verb, sentence, detail));
            }
        }
        let places = [Some(Path::new(&dir)), ledger.key_path()];
        for (place, identity) in places.into_iter().flatten().zip(&own) {
            // Only what lies below the root can be reached through it, and a deny-list costs.
            if lies_inside(place, &root.identity()).map_err(|error| failed(&error))? {
                options = options.deny(*identity);
            }
        }
        let root = open(options)?;
        let recording = Recording {
            ledger,
            recorder,
            actor: self.agent.clone(),
            dir,
        };
        Ok((root, Some(recording)))
    }
}

/// Opens a log for writing.
fn begin(dir: &OsStr, context: Context) -> Result<(Arc<Ledger>, Arc<LedgerRecorder>), Error> {
    let ledger = Arc::new(Ledger::open(dir, OpenOptions::new())?);
    let recorder = LedgerRecorder::new(Arc::clone(&ledger), context)?;
    Ok((ledger, Arc::new(recorder)))
}

/// The root's name in events: numbers of device and inode say little to people.
fn name_of(root: &OsStr) -> String {
    let path = std::path::absolute(root).unwrap_or_else(|_| root.into());
    escape(path.as_os_str().as_bytes())
}

impl Recording {
    /// The recorder of decisions.
    #[cfg(feature = "run")]
    pub(crate) fn recorder(&self) -> Arc<dyn Recorder> {
        Arc::clone(&self.recorder) as Arc<dyn Recorder>
    }

    /// Who hears of what is not a verb of a root or a session.
    pub(crate) fn telling(&self) -> Telling<'_> {
        Telling {
            recorder: &*self.recorder,
            actor: self.actor.as_deref(),
        }
    }

    /// Publishes what was logged. It is logged already, whatever this says.
    pub(crate) fn finish(self, verb: &'static str, out: &mut Output) {
        // The last to let go of the recorder has it write down what it has counted.
        drop(self.recorder);
        if let Err(error) = self.ledger.publish() {
            let failure = trouble(verb, &self.dir, &error);
            out.note(&format!("note: {}: {}", failure.sentence, failure.detail));
        }
    }
}
