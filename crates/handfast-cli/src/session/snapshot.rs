//! `session snapshot NAME [LABEL]`: keep a state.

use clap::Args;

use super::failures;
use super::place::StateArgs;
use crate::fs::answer::{Done, PrintResult};
use crate::json::JsonObject;
use crate::log::Opening;

/// Keep the session's state under a label
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast session snapshot review before-cleanup"
))]
pub(super) struct SnapshotArgs {
    /// The session
    name: String,

    /// The label [default: the next free number]
    label: Option<String>,
}

impl SnapshotArgs {
    pub(super) fn run(&self, state: &StateArgs, opening: Opening) -> PrintResult {
        let session = state.open_with("snapshot", &self.name, opening)?;
        let failed = |error| failures::failed("snapshot", "keep the state of", &self.name, &error);
        let label = match &self.label {
            Some(label) => label.clone(),
            None => {
                let taken = session.labels().map_err(failed)?;
                let free = (1_u64..).map(|number| number.to_string());
                let mut free = free.filter(|label| !taken.contains(label));
                free.next().unwrap_or_default()
            }
        };
        session.snapshot(&label).map_err(failed)?;
        let fields = JsonObject::new()
            .with("session", self.name.as_str())
            .with("label", label.as_str());
        Done::answer(fields, format!("kept `{}` as `{label}`", self.name))
    }
}
