//! `log prune DIR --before INDEX`: old events go, their hashes stay.

use std::ffi::OsString;

use clap::Args;
use handfast_ledger::{Ledger, OpenOptions};

use super::LogExit;
use super::trouble::trouble;
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::Output;

/// Drop old events by a rule that is itself in the log
///
/// Whole bundles of 256 events are removed, and segments that become empty. Hashes stay, so that
/// proofs and later checkpoints still hold. The rule is logged and published before anything is
/// removed. Removed events cannot be restored: export them first.
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
    pub(super) fn run(&self, out: &mut Output) -> LogExit {
        let first = Ledger::open(&self.dir, OpenOptions::new())
            .and_then(|ledger| {
                let first = ledger.prune(self.before, &self.policy)?;
                ledger.close()?;
                Ok(first)
            })
            .map_err(|error| trouble("log prune", &self.dir, &error))?;
        if out.is_json() {
            out.object(true, JsonObject::new().with("first", first.to_string()));
        } else {
            out.note(&format!("the first event that is kept is {first}"));
        }
        Ok(Exit::Yes)
    }
}
