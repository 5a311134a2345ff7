//! Where sessions are kept.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use handfast::{ErrorKind, RelPath, Root, Timestamp, escape};
use handfast_session::{Catalogue, Session};

use super::failures;
use crate::failure::Failure;
use crate::log::Opening;

#[derive(Debug, Args)]
pub(crate) struct StateArgs {
    /// Keep sessions in this directory [default: $XDG_STATE_HOME/handfast]
    #[arg(long, global = true, value_name = "DIR", display_order = 800)]
    pub(super) state: Option<OsString>,
}

impl StateArgs {
    /// Whether a directory was named.
    pub(crate) fn is_given(&self) -> bool {
        self.state.is_some()
    }

    /// The directory: as asked, or where the user's programs keep their state.
    pub(crate) fn dir(&self) -> Option<PathBuf> {
        if let Some(dir) = &self.state {
            return Some(dir.into());
        }
        let absolute = |name: &str| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let state = absolute("XDG_STATE_HOME");
        let state = state.or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
        state.map(|state| state.join("handfast"))
    }

    fn found_dir(&self, verb: &'static str) -> Result<PathBuf, Box<Failure>> {
        self.dir().ok_or_else(|| {
            let why = "neither XDG_STATE_HOME nor HOME is set; give `--state DIR`";
            failures::misused(verb, "find the state directory", why)
        })
    }

    /// The sessions, in a directory that is made if it is missing.
    pub(crate) fn catalogue(&self, verb: &'static str) -> Result<Catalogue, Box<Failure>> {
        let dir = self.found_dir(verb)?;
        Catalogue::open_ambient(&dir).map_err(|error| {
            let mut failure = failures::failed(verb, "open the state directory", "", &error);
            let shown = escape(dir.as_os_str().as_encoded_bytes());
            failure.sentence.push_str(&format!(" `{shown}`"));
            let hint = "`--state DIR` or XDG_STATE_HOME names another";
            failure.hints.push(hint.to_owned());
            failure.exit = crate::exit::Exit::Usage;
            failure
        })
    }

    /// The sessions, or nothing where none was ever made: looking makes no directory.
    pub(crate) fn existing(&self, verb: &'static str) -> Result<Option<Catalogue>, Box<Failure>> {
        let dir = self.found_dir(verb)?;
        match std::fs::symlink_metadata(dir.join("sessions")) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            // What else is wrong, the catalogue says better.
            _ => self.catalogue(verb).map(Some),
        }
    }

    /// As [`StateArgs::existing`], for a command about one session.
    pub(super) fn holding(
        &self,
        verb: &'static str,
        name: &str,
    ) -> Result<Catalogue, Box<Failure>> {
        self.existing(verb)?.ok_or_else(|| {
            let why = format!("there is no session `{}`", escape(name.as_bytes()));
            let error = handfast::Error::refused(ErrorKind::NotFound, why);
            not_opened(verb, name, &error, None)
        })
    }

    /// When a session was made: its description is written once.
    pub(super) fn made(&self, name: &str) -> Option<Timestamp> {
        let state = Root::open_ambient(self.dir()?).ok()?;
        let spec = RelPath::parse(format!("sessions/{name}/spec")).ok()?;
        Some(state.metadata(&spec).ok()?.modified)
    }

    pub(super) fn open(&self, verb: &'static str, name: &str) -> Result<Session, Box<Failure>> {
        self.open_with(verb, name, Opening::default())
    }

    pub(crate) fn open_with(
        &self,
        verb: &'static str,
        name: &str,
        opening: Opening,
    ) -> Result<Session, Box<Failure>> {
        let catalogue = self.holding(verb, name)?;
        let opened = catalogue.open_with(name, opening.options, opening.caller);
        opened.map_err(|error| not_opened(verb, name, &error, Some(&catalogue)))
    }
}

/// A session that cannot be opened: there is none, or one of its directories is gone.
fn not_opened(
    verb: &'static str,
    name: &str,
    error: &handfast::Error,
    catalogue: Option<&Catalogue>,
) -> Box<Failure> {
    let mut failure = failures::failed("show", "open the session", name, error);
    failure.verb = verb;
    if error.kind() == ErrorKind::NotFound {
        let is_there = catalogue.is_some_and(|catalogue| catalogue.spec(name).is_ok());
        let hint = match is_there {
            true => format!(
                "put the directory back, or drop the session: \
                 `handfast session rm {name}`"
            ),
            false => "`handfast session list` shows which there are".to_owned(),
        };
        failure.hints.push(hint);
    }
    failure
}
