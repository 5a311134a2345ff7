//! `log export DIR --format …`: the log in other people's forms.

use std::ffi::OsString;
use std::ops::ControlFlow;

use clap::{Args, ValueEnum};
use handfast_ledger::{LogReader, export};

use super::LogExit;
use super::damage::Damage;
use super::trouble::trouble;
use crate::exit::Exit;
use crate::output::Output;

/// Write the log to standard output in another form
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log export log --format jsonl | jq .type
  handfast log export log --format html > log.html"
))]
pub(super) struct ExportArgs {
    /// The log
    dir: OsString,

    /// Choose the form
    #[arg(long, value_enum)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// One line an event: its index, and the event byte for byte
    Jsonl,
    /// One static page that verifies itself in the browser
    Html,
    /// OCSF File System Activity, one line an event
    Ocsf,
    /// A signed in-toto statement for every lease, one line each
    Dsse,
}

impl ExportArgs {
    pub(super) fn run(&self, out: &mut Output) -> LogExit {
        let failed = |error| trouble("log export", &self.dir, &error);
        let log = LogReader::open(&self.dir).map_err(failed)?;
        let mut damage = Damage::default();
        let read = match self.format {
            Format::Jsonl => export::jsonl(&log, |line| out.data(line)),
            Format::Html => {
                let page = export::html(&log).map_err(failed)?;
                out.data(page.text.as_bytes());
                page.damage.map_or(Ok(()), Err)
            }
            Format::Ocsf => {
                let origin = log.origin();
                log.for_each(0, |index, leaf| {
                    if let Some(event) = export::ocsf(&origin, index, leaf) {
                        out.line(&event.to_string());
                    }
                    Ok(ControlFlow::Continue(()))
                })
            }
            // A signed statement about half a log would be a false one.
            Format::Dsse => {
                let signer = log.signer().map_err(failed)?;
                for envelope in export::dsse(&log, &signer).map_err(failed)? {
                    out.line(&envelope.to_string());
                }
                Ok(())
            }
        };
        damage.take(&log, read).map_err(failed)?;
        damage.say(out);
        Ok(damage.exit(Exit::Yes))
    }
}
