//! `log prove DIR INDEX`: the receipt of one event.

use std::ffi::OsString;

use clap::Args;
use handfast_ledger::LogReader;

use super::LogExit;
use super::trouble::{event_index, trouble};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::Output;

/// Print the receipt of one event: a proof that it is in the log
///
/// The receipt contains the event. Anybody with the log's public key can check it, without the log.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log prove log 17 > receipt"
))]
pub(super) struct ProveArgs {
    /// The log
    dir: OsString,

    /// The event
    #[arg(value_parser = event_index)]
    index: u64,
}

impl ProveArgs {
    pub(super) fn run(&self, out: &mut Output) -> LogExit {
        let proof = LogReader::open(&self.dir)
            .and_then(|log| log.prove(self.index))
            .map_err(|error| trouble("log prove", &self.dir, &error))?;
        if out.is_json() {
            out.object(true, JsonObject::new().with("receipt", proof.to_text()));
        } else {
            out.data(proof.to_text().as_bytes());
        }
        Ok(Exit::Yes)
    }
}
