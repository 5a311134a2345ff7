//! `log tail DIR`: the newest events, and those to come.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use handfast_ledger::LogReader;

use super::LogExit;
use super::filter::{FilterArgs, find};
use super::lines::{Widths, line, object, print};
use super::trouble::trouble;
use crate::exit::Exit;
use crate::output::Output;

const PAUSE: Duration = Duration::from_millis(200);

/// Show the newest events
///
/// With `--follow` and `--json` every event is an object on a line of its own.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log tail log -n 20
  handfast log tail log --follow --denied"
))]
pub(super) struct TailArgs {
    /// The log
    dir: OsString,

    /// Show this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    lines: usize,

    /// Wait for more, until it is interrupted
    #[arg(short, long)]
    follow: bool,

    #[command(flatten)]
    filter: FilterArgs,
}

impl TailArgs {
    pub(super) fn run(&self, out: &mut Output) -> LogExit {
        let wanted = self.filter.wanted();
        let open = || {
            LogReader::open_all(&self.dir).map_err(|error| trouble("log tail", &self.dir, &error))
        };
        let mut logs = open()?;
        let (mut found, mut damage) = find("log tail", &self.dir, &logs, &wanted, &[])?;
        let mut next = vec![0; logs.len()];
        for event in &found {
            next[event.log] = next[event.log].max(event.index + 1);
        }
        found.drain(..found.len().saturating_sub(self.lines));
        if !self.follow {
            print(out, &logs, &found, &damage);
            return Ok(damage.exit(Exit::Yes));
        }
        let mut widths = Widths::default();
        let mut exit = Exit::Yes;
        loop {
            widths.take(&logs, &found);
            for event in &found {
                next[event.log] = next[event.log].max(event.index + 1);
                if out.is_json() {
                    let text = object(&logs[event.log].origin(), event);
                    out.line(&text);
                } else {
                    line(out, &logs, event, &widths);
                }
            }
            // Said once: the damage stays, and so does what was said of it.
            if exit == Exit::Yes {
                damage.say(out);
                exit = damage.exit(exit);
            }
            out.flush();
            if !out.is_open() {
                return Ok(exit);
            }
            std::thread::sleep(PAUSE);
            logs = open()?;
            next.resize(logs.len(), 0);
            (found, damage) = find("log tail", &self.dir, &logs, &wanted, &next)?;
        }
    }
}
