//! `log rotate-key DIR`: another key signs from now on.

use std::ffi::OsString;

use clap::Args;
use handfast_ledger::{Ledger, OpenOptions};

use super::LogExit;
use super::trouble::trouble;
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::Output;

/// Let another key sign from now on, and erase the one that signed so far
///
/// The next key is written into the log under the current one, so the key that `init` printed still
/// verifies everything. A thief of the new key cannot sign older events. Prints the new public key.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log rotate-key log > log.key.new"
))]
pub(super) struct RotateKeyArgs {
    /// The log
    dir: OsString,
}

impl RotateKeyArgs {
    pub(super) fn run(&self, out: &mut Output) -> LogExit {
        let key = Ledger::open(&self.dir, OpenOptions::new())
            .and_then(|ledger| {
                let key = ledger.rotate_key()?;
                ledger.close()?;
                Ok(key.to_string())
            })
            .map_err(|error| trouble("log rotate-key", &self.dir, &error))?;
        if out.is_json() {
            out.object(true, JsonObject::new().with("key", key));
        } else {
            out.line(&key);
        }
        Ok(Exit::Yes)
    }
}
