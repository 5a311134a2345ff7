//! `session rollback NAME LABEL`: go back to a snapshot.

use clap::Args;

use super::place::StateArgs;
use super::told;
use crate::fs::answer::{Answered, Done};
use crate::json::Object;
use crate::log::Opening;

/// Go back to a snapshot; what was changed since is gone
#[derive(Debug, Args)]
pub(super) struct RollbackArgs {
    /// The session
    name: String,

    /// The label
    label: String,
}

impl RollbackArgs {
    pub(super) fn run(&self, state: &StateArgs, opening: Opening) -> Answered {
        let session = state.open_with("rollback", &self.name, opening)?;
        session
            .rollback(&self.label)
            .map_err(|error| told::failed("rollback", "roll back", &self.name, &error))?;
        let fields = Object::new()
            .with("session", self.name.as_str())
            .with("label", self.label.as_str());
        let note = format!("`{}` is as it was at `{}`", self.name, self.label);
        Done::answer(fields, note)
    }
}
