//! `session rollback NAME LABEL`: go back to a snapshot.

use clap::Args;
use handfast_session::ReviewOptions;

use super::place::StateArgs;
use super::{failures, review};
use crate::fs::answer::{Done, PrintResult};
use crate::json::JsonObject;
use crate::log::Opening;
use crate::output::Output;

/// Return to a snapshot; later changes are lost
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast session rollback review before-cleanup"
))]
pub(super) struct RollbackArgs {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,

    /// The session
    name: String,

    /// The label
    label: String,
}

impl RollbackArgs {
    pub(super) fn run(&self, state: &StateArgs, opening: Opening, out: &mut Output) -> PrintResult {
        let session = state.open_with("rollback", &self.name, opening)?;
        let failed = |error| failures::failed("rollback", "roll back", &self.name, &error);
        if !self.yes {
            // Which of them the snapshot has too is not known before.
            let mut shown = |change| {
                out.note(&review::line(&change));
                Ok(())
            };
            session
                .review(&ReviewOptions::default(), &mut shown)
                .map_err(failed)?;
        }
        let question = format!(
            "go back to `{}`? What `{}` changed since is gone",
            self.label, self.name
        );
        if !failures::confirm("rollback", &question, self.yes, out)? {
            let fields = JsonObject::new().with("session", self.name.as_str());
            return Done::answer(fields, "nothing was rolled back".to_owned());
        }
        session.rollback(&self.label).map_err(failed)?;
        let fields = JsonObject::new()
            .with("session", self.name.as_str())
            .with("label", self.label.as_str());
        let note = format!("`{}` is as it was at `{}`", self.name, self.label);
        Done::answer(fields, note)
    }
}
