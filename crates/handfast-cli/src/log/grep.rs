//! `log grep DIR …`: the events that fit.

use std::ffi::OsString;

use clap::Args;
use handfast_ledger::LogReader;

use super::LogExit;
use super::filter::{FilterArgs, find};
use super::lines::print;
use super::trouble::{trouble, usage};
use crate::exit::Exit;
use crate::output::Output;

/// Show the events that fit; exit 1 if none does
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log grep log --denied
  handfast log grep log --agent robot --path src --since 2h
  handfast log grep log --handle fe00:131"
))]
pub(super) struct GrepArgs {
    /// The log
    dir: OsString,

    #[command(flatten)]
    filter: FilterArgs,
}

impl GrepArgs {
    pub(super) fn run(&self, out: &mut Output) -> LogExit {
        if self.filter.is_empty() {
            let detail = "say what to look for; `log show` shows everything".to_owned();
            return Err(usage("log grep", "nothing to look for", detail));
        }
        let logs = LogReader::open_all(&self.dir)
            .map_err(|error| trouble("log grep", &self.dir, &error))?;
        let wanted = self.filter.wanted();
        let (found, damage) = find("log grep", &self.dir, &logs, &wanted, &[])?;
        print(out, &logs, &found, &damage);
        Ok(damage.exit(match found.is_empty() {
            true => Exit::No,
            false => Exit::Yes,
        }))
    }
}
