//! Where sessions are kept.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use handfast_session::{Catalogue, Session};

use super::told;
use crate::failure::Failure;
use crate::log::Opening;

#[derive(Debug, Args)]
pub(crate) struct StateArgs {
    /// Keep sessions in this directory [default: $XDG_STATE_HOME/handfast]
    #[arg(long, global = true, value_name = "DIR", display_order = 800)]
    pub(super) state: Option<OsString>,
}

impl StateArgs {
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

    pub(super) fn catalogue(&self, verb: &'static str) -> Result<Catalogue, Box<Failure>> {
        let Some(dir) = self.dir() else {
            let why = "neither XDG_STATE_HOME nor HOME is set; give `--state DIR`";
            return Err(told::misused(verb, "find the state directory", why));
        };
        Catalogue::open_ambient(&dir).map_err(|error| {
            let mut failure = told::failed(verb, "open the state directory", "", &error);
            failure.exit = crate::exit::Exit::Usage;
            failure
        })
    }

    pub(super) fn open(&self, verb: &'static str, name: &str) -> Result<Session, Box<Failure>> {
        self.open_with(verb, name, Opening::default())
    }

    pub(super) fn open_with(
        &self,
        verb: &'static str,
        name: &str,
        opening: Opening,
    ) -> Result<Session, Box<Failure>> {
        self.catalogue(verb)?
            .open_with(name, opening.options, opening.caller)
            .map_err(|error| {
                let mut failure = told::failed("show", "open the session", name, &error);
                failure.verb = verb;
                if error.kind() == handfast::ErrorKind::NotFound {
                    let hint = "`handfast session list` shows which there are";
                    failure.hints.push(hint.to_owned());
                }
                failure
            })
    }
}
