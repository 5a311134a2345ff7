//! `log check-proof [DIR] FILE`: whether a receipt holds.

use std::ffi::OsString;

use clap::Args;
use handfast::escape;
use handfast_ledger::{LogReader, Proof};

use super::LogExit;
use super::key::given;
use super::trouble::{read_given, trouble, usage};
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::Output;

/// Check a receipt, offline
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log check-proof receipt --key log.key"
))]
pub(super) struct CheckProofArgs {
    /// The log, if its keys are to be taken from there, and the receipt
    #[arg(value_names = ["DIR", "FILE"], num_args = 1..=2, required = true)]
    paths: Vec<OsString>,

    /// The public key of the log, learned elsewhere, or a file with it
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// The event, if the receipt does not contain it
    #[arg(long, value_name = "FILE")]
    event: Option<OsString>,
}

impl CheckProofArgs {
    pub(super) fn run(&self, out: &mut Output) -> LogExit {
        const VERB: &str = "log check-proof";
        let (dir, file) = match &self.paths[..] {
            [dir, file] => (Some(dir), file),
            [file] => (None, file),
            _ => return Err(usage(VERB, "nothing to check", "name a receipt".to_owned())),
        };
        let keys = match (&self.key, dir) {
            (Some(key), _) => vec![given(VERB, key)?],
            (None, Some(dir)) => LogReader::open(dir)
                .and_then(|log| log.keys())
                .map_err(|error| trouble(VERB, dir, &error))?,
            (None, None) => {
                let detail = "give the log's public key with `--key`, or the log".to_owned();
                let mut failure = usage(VERB, "cannot tell whose receipt it is", detail);
                failure.exit = Exit::CannotTell;
                return Err(failure);
            }
        };
        let text = read_given(VERB, file)?;
        let event = match &self.event {
            Some(path) => Some(read_given(VERB, path)?),
            None => None,
        };
        let not_checked = match self.key {
            Some(_) => None,
            None => Some("whose key it is: taken from the log itself"),
        };
        let checked = String::from_utf8(text)
            .map_err(|_| "not text".to_owned())
            .and_then(|text| {
                let proof = Proof::parse(&text, event.as_deref()).map_err(|e| e.to_string())?;
                let (checkpoint, key) = proof.verify(&keys).map_err(|e| e.to_string())?;
                Ok((proof.clone(), checkpoint, key.to_string()))
            });
        let (fields, line, exit) = match &checked {
            Ok((proof, checkpoint, key)) => (
                JsonObject::new()
                    .with("index", proof.index.to_string())
                    .with("size", checkpoint.size.to_string())
                    .with("origin", checkpoint.origin.as_str())
                    .with("key", key.as_str())
                    .with_bytes("event", &proof.event),
                format!(
                    "event {} of {} is in {}\n{}",
                    proof.index,
                    checkpoint.size,
                    escape(checkpoint.origin.as_bytes()),
                    escape(&proof.event)
                ),
                Exit::Yes,
            ),
            Err(why) => (
                JsonObject::new().with("why", why.as_str()),
                format!("the receipt does not hold: {why}"),
                Exit::No,
            ),
        };
        if out.is_json() {
            let fields = fields.with(
                "not_checked",
                not_checked.into_iter().collect::<crate::json::Json>(),
            );
            out.object(exit == Exit::Yes, fields);
        } else {
            out.line(&line);
            if let Some(what) = not_checked {
                out.line(&format!("not checked: {what}"));
            }
        }
        Ok(exit)
    }
}
