//! `log init DIR`: makes a log and prints its public key.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use handfast_ledger::{CreateOptions, Ledger, Level, OpenOptions};

use super::Answered;
use super::trouble::trouble;
use crate::exit::Exit;
use crate::json::Object;
use crate::output::Output;

/// Make a log and print its public key
///
/// Keep the key elsewhere: `verify --key` with it is what makes the log worth something. The
/// private key goes to a directory of its own beside the log.
#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// The directory; made if its parent is there
    dir: OsString,

    /// Begin the log's origin with this name
    #[arg(long, value_name = "ORIGIN", default_value = "handfast")]
    name: String,

    /// Choose what an answered event has survived
    #[arg(long, value_enum, default_value = "ordered")]
    level: LevelArg,

    /// Keep the private key in this directory [default: DIR.keys]
    #[arg(long, value_name = "DIR")]
    keys: Option<OsString>,

    /// Take the place of a log that cannot be continued
    #[arg(long, value_name = "OLD")]
    after: Option<OsString>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LevelArg {
    /// The disk: survives the death of the machine
    Strict,
    /// The operating system, and the disk within 50 ms: survives the death of the process
    Ordered,
}

impl InitArgs {
    pub(super) fn run(&self, out: &mut Output) -> Answered {
        let mut options = CreateOptions::new()
            .name(self.name.as_str())
            .level(match self.level {
                LevelArg::Strict => Level::Strict,
                LevelArg::Ordered => Level::Ordered,
            });
        if let Some(keys) = &self.keys {
            options = options.keys(keys);
        }
        if let Some(after) = &self.after {
            options = options.after(after);
        }
        let key = options
            .create(&self.dir)
            .and_then(|key| {
                // The first event says what the log is, from the beginning.
                Ledger::open(&self.dir, OpenOptions::new())?.close()?;
                Ok(key)
            })
            .map_err(|error| trouble("log init", &self.dir, &error))?;
        if out.is_json() {
            let fields = Object::new()
                .with("origin", key.name())
                .with("key", key.to_string());
            out.object(true, fields);
        } else {
            out.line(&key.to_string());
            out.note(
                "note: keep this key elsewhere; `handfast log verify DIR --key KEY` asks for it",
            );
        }
        Ok(Exit::Yes)
    }
}
