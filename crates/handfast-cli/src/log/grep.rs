//! `log grep DIR …`: the events that fit.

use std::ffi::OsString;

use clap::Args;
use handfast_ledger::LogReader;

use super::Answered;
use super::filter::{FilterArgs, find};
use super::lines::print;
use super::trouble::{trouble, usage};
use crate::exit::Exit;
use crate::output::Output;

/// Show the events that fit; exit 1 if none does
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log grep log --denied
  handfast log grep log --agent robot --path src --since 2026-11-16T10
  handfast log grep log --handle fe00:131"
))]
pub(super) struct GrepArgs {
    /// The log
    dir: OsString,

    #[command(flatten)]
    filter: FilterArgs,
}

impl GrepArgs {
    pub(super) fn run(&self, out: &mut Output) -> Answered {
        if self.filter.is_empty() {
            let detail = "say what to look for; `log show` shows everything".to_owned();
            return Err(usage("log grep", "nothing to look for", detail));
        }
        let logs = LogReader::open_all(&self.dir)
            .map_err(|error| trouble("log grep", &self.dir, &error))?;
        let found = find("log grep", &self.dir, &logs, &self.filter.wanted(), &[])?;
        print(out, &logs, &found);
        Ok(if found.is_empty() {
            Exit::No
        } else {
            Exit::Yes
        })
    }
}
