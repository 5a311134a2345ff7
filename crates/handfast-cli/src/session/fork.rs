//! `session fork NAME[@LABEL] NEW`: go on in two ways.

use clap::Args;

use super::failures;
use super::place::StateArgs;
use crate::fs::answer::{Done, PrintResult};
use crate::json::JsonObject;
use crate::log::Opening;

/// Make a new session with the state of another, or of one of its snapshots
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast session fork review second-try
  handfast session fork review@before-cleanup second-try"
))]
pub(super) struct ForkArgs {
    /// The session, and the snapshot
    #[arg(value_name = "NAME[@LABEL]")]
    source: String,

    /// The new session's name
    #[arg(value_name = "NEW")]
    new: String,
}

impl ForkArgs {
    pub(super) fn run(&self, state: &StateArgs, opening: Opening) -> PrintResult {
        let (name, label) = match self.source.split_once('@') {
            Some((name, label)) => (name, Some(label)),
            None => (self.source.as_str(), None),
        };
        state
            .holding("fork", name)?
            .fork(name, label, &self.new, opening.caller)
            .map_err(|error| failures::failed("fork", "fork", &self.source, &error))?;
        let fields = JsonObject::new()
            .with("session", self.new.as_str())
            .with("from", self.source.as_str());
        Done::answer(
            fields,
            format!("forked `{}` to `{}`", self.source, self.new),
        )
    }
}
