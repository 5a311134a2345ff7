//! `log show DIR [INDEX]`: events in order.

use std::ffi::OsString;

use clap::Args;
use handfast_ledger::LogReader;

use super::LogExit;
use super::filter::{Wanted, find};
use super::lines::print;
use super::trouble::{event_index, trouble, usage};
use crate::exit::Exit;
use crate::output::Output;

/// Show all events, or one
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log show log
  handfast log show log 17"
))]
pub(super) struct ShowArgs {
    /// The log
    dir: OsString,

    /// Show only the event at this index
    #[arg(value_parser = event_index)]
    index: Option<u64>,
}

impl ShowArgs {
    pub(super) fn run(&self, out: &mut Output) -> LogExit {
        let logs = LogReader::open_all(&self.dir)
            .map_err(|error| trouble("log show", &self.dir, &error))?;
        let wanted = Wanted::default();
        let (mut found, damage) = find("log show", &self.dir, &logs, &wanted, &[])?;
        if let Some(index) = self.index {
            found.retain(|event| event.index == index);
            if found.is_empty() && damage.is_empty() {
                let detail = "the log does not have it, or it was pruned".to_owned();
                let sentence = format!("cannot show event {index}");
                let mut failure = usage("log show", &sentence, detail);
                let hint = "`handfast log stat DIR` says how many events there are";
                failure.hints.push(hint.to_owned());
                return Err(failure);
            }
        }
        print(out, &logs, &found, &damage);
        Ok(damage.exit(Exit::Yes))
    }
}
