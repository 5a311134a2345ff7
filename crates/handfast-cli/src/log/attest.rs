//! `log attest DIR INDEX`: a signed statement about one event, for people who have no log.

use std::ffi::OsString;

use clap::Args;
use handfast_ledger::{Attester, LogReader};

use super::Answered;
use super::trouble::trouble;
use crate::exit::Exit;
use crate::json::Object;
use crate::output::Output;

/// Sign one event by itself, for one audience
///
/// It shows that this was decided and by whom it is signed, not what else happened: for that there
/// are receipts and the log. The sequence number is the event's index.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log attest log 17 --audience auditor > statement"
))]
pub(super) struct AttestArgs {
    /// The log
    dir: OsString,

    /// The event
    index: u64,

    /// For whom it is made
    #[arg(long, value_name = "NAME", default_value = "-")]
    audience: String,
}

impl AttestArgs {
    pub(super) fn run(&self, out: &mut Output) -> Answered {
        let text = LogReader::open(&self.dir)
            .and_then(|log| {
                let event = log.event(self.index)?;
                let signer = log.signer()?;
                Attester::new(&signer, self.index).attest(&event, &self.audience)
            })
            .map_err(|error| trouble("log attest", &self.dir, &error))?;
        if out.is_json() {
            out.object(true, Object::new().with("attestation", text));
        } else {
            out.data(text.as_bytes());
        }
        Ok(Exit::Yes)
    }
}
