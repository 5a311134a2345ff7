//! `session discard NAME`: the changes are dropped.

use std::ffi::OsString;

use clap::Args;
use handfast_session::{ReviewOptions, VirtualPath};

use super::place::StateArgs;
use super::{commit, failures, review, rm};
use crate::failure::Failure;
use crate::fs::answer::{Done, PrintResult, Printable};
use crate::json::JsonObject;
use crate::log::Opening;
use crate::output::{self, Output};

/// Drop the changes: all, or those at and below some paths
///
/// The base is not touched. Dropped changes are gone, unless a snapshot has them.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast session discard review /debug.log
  handfast session discard --remove review"
))]
pub(super) struct DiscardArgs {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,

    /// Remove the session itself, as `rm` does
    #[arg(long, conflicts_with = "paths")]
    remove: bool,

    /// The session
    name: String,

    /// Only changes at or below these paths
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
}

impl DiscardArgs {
    pub(super) fn run(&self, state: &StateArgs, opening: Opening, out: &mut Output) -> PrintResult {
        let failed = |error| failures::failed("discard", "discard", &self.name, &error);
        let nothing = || {
            let fields = JsonObject::new().with("discarded", output::list([]));
            Done::answer(fields, "nothing was discarded".to_owned())
        };
        if self.remove {
            return rm::remove("discard", &self.name, self.yes, state, opening, out);
        }
        let session = state.open_with("discard", &self.name, opening)?;
        failures::tell_finished(&session, out).map_err(failed)?;
        let paths = commit::paths("discard", &self.paths)?;
        if !self.yes {
            let options = ReviewOptions {
                paths: paths.clone(),
                ..ReviewOptions::default()
            };
            let mut shown = |change| {
                out.note(&review::line(&change));
                Ok(())
            };
            session.review(&options, &mut shown).map_err(failed)?;
        }
        let question = format!("discard these changes of `{}`?", self.name);
        if !failures::confirm("discard", &question, self.yes, out)? {
            return nothing();
        }
        let dropped = session.discard(&paths).map_err(failed)?;
        Ok(Box::new(Dropped(dropped)))
    }
}

struct Dropped(Vec<VirtualPath>);

impl Printable for Dropped {
    fn fields(&self) -> JsonObject {
        let path =
            |path: &VirtualPath| JsonObject::new().with_bytes("path", &failures::bytes(path));
        JsonObject::new().with("discarded", output::list(self.0.iter().map(path)))
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        for path in &self.0 {
            out.line(&format!("discarded {path}"));
        }
        if self.0.is_empty() {
            out.note("there was nothing to discard");
        }
        Ok(())
    }
}
