//! `log check-attestation FILE --key VKEY`: decodes and verifies a statement about one event.

use std::ffi::OsString;

use clap::Args;
use handfast::escape;
use handfast_ledger::Attestation;

use super::LogExit;
use super::key::given;
use super::trouble::read_given;
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::Output;

/// Check a statement about one event, offline
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log check-attestation statement --key log.key --audience auditor"
))]
pub(super) struct CheckAttestationArgs {
    /// The statement
    file: OsString,

    /// The public key of the signer, or a file with it
    #[arg(long, value_name = "KEY")]
    key: String,

    /// The audience that it must name
    #[arg(long, value_name = "NAME", default_value = "-")]
    audience: String,
}

impl CheckAttestationArgs {
    pub(super) fn run(&self, out: &mut Output) -> LogExit {
        const VERB: &str = "log check-attestation";
        let key = given(VERB, &self.key)?;
        let text = read_given(VERB, &self.file)?;
        let checked = Attestation::verify(&text, &[key], &self.audience);
        let (exit, fields, line) = match &checked {
            Ok(found) => (
                Exit::Yes,
                JsonObject::new()
                    .with("nonce", found.nonce.as_str())
                    .with("sequence", found.sequence.to_string())
                    .with("audience", found.audience.as_str())
                    .with("key", found.key.as_str())
                    .with_bytes("event", &found.event),
                format!(
                    "signed: sequence {}, nonce {}\n{}",
                    found.sequence,
                    escape(found.nonce.as_bytes()),
                    escape(&found.event)
                ),
            ),
            Err(error) => (
                Exit::No,
                JsonObject::new().with("why", error.to_string()),
                format!("the statement does not hold: {error}"),
            ),
        };
        if out.is_json() {
            out.object(exit == Exit::Yes, fields);
        } else {
            out.line(&line);
        }
        Ok(exit)
    }
}
