//! `log attest DIR INDEX`: a signed statement about one event, for people who have no log.

use std::ffi::OsString;

use clap::Args;
use handfast_ledger::{Attester, LogReader};

use super::LogExit;
use super::trouble::trouble;
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::Output;

/// Sign one event by itself, for one audience
///
/// The statement shows that this decision was made and who signed it. It does not show what else
/// happened: receipts and the log do. The sequence number is the event's index.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log attest log 17 --audience auditor > statement"
))]
pub(super) struct AttestArgs {
    /// The log
    dir: OsString,

    /// The event
    index: u64,

    /// The audience that it is for
    #[arg(long, value_name = "NAME", default_value = "-")]
    audience: String,
}

impl AttestArgs {
    pub(super) fn run(&self, out: &mut Output) -> LogExit {
        let text = LogReader::open(&self.dir)
            .and_then(|log| {
                let event = log.event(self.index)?;
                let signer = log.signer()?;
                Attester::new(&signer, self.index).attest(&event, &self.audience)
            })
            .map_err(|error| trouble("log attest", &self.dir, &error))?;
        if out.is_json() {
            out.object(true, JsonObject::new().with("attestation", text));
        } else {
            out.data(text.as_bytes());
        }
        Ok(Exit::Yes)
    }
}
