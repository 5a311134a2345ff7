//! `log prune DIR --before INDEX`: old events go, their hashes stay.

use std::ffi::OsString;

use clap::Args;
use handfast_ledger::{Ledger, OpenOptions};

use super::Answered;
use super::trouble::trouble;
use crate::exit::Exit;
use crate::json::Object;
use crate::output::Output;

/// Drop old events by a rule that is itself in the log
///
/// Whole bundles of 256 events go, and segments in which nothing is kept; hashes stay, so that proofs
/// and later checkpoints still hold. The rule is logged and published before anything goes. What is
/// dropped cannot be got back: export it first.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log prune log --before 5120 --policy 'older than 90 days'"
))]
pub(super) struct PruneArgs {
    /// The log
    dir: OsString,

    /// Drop the events before this one, rounded down to a bundle
    #[arg(long, value_name = "INDEX")]
    before: u64,

    /// The rule by which this is done, in words; the log records it
    #[arg(long, value_name = "WORDS")]
    policy: String,
}

impl PruneArgs {
    pub(super) fn run(&self, out: &mut Output) -> Answered {
        let first = Ledger::open(&self.dir, OpenOptions::new())
            .and_then(|ledger| {
                let first = ledger.prune(self.before, &self.policy)?;
                ledger.close()?;
                Ok(first)
            })
            .map_err(|error| trouble("log prune", &self.dir, &error))?;
        if out.is_json() {
            out.object(true, Object::new().with("first", first.to_string()));
        } else {
            out.note(&format!("the first event that is kept is {first}"));
        }
        Ok(Exit::Yes)
    }
}
