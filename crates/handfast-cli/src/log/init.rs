//! `log init DIR`: makes a log and prints its public key.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use handfast_ledger::{CreateOptions, Keep, Ledger, Level, OpenOptions};

use super::LogExit;
use super::trouble::trouble;
use crate::exit::Exit;
use crate::json::JsonObject;
use crate::output::Output;

/// Make a log and print its public key
///
/// Keep the key on another machine: only `verify --key` with that key shows that nobody replaced
/// the log. The private key goes to a directory of its own beside the log.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast log init log > log.key
  handfast log init log --keep-bytes 200M --keep-for 30d > log.key"
))]
pub(super) struct InitArgs {
    /// The directory; made if its parent is there
    dir: OsString,

    /// Begin the log's origin with this name
    #[arg(long, value_name = "ORIGIN", default_value = "handfast")]
    name: String,

    /// Choose which crashes an event survives
    #[arg(long, value_enum, default_value = "ordered")]
    level: LevelArg,

    /// Keep the private key in this directory [default: DIR.keys]
    #[arg(long, value_name = "DIR")]
    keys: Option<OsString>,

    /// Keep at most this much on the disk, such as 200M; older events go by themselves
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    keep_bytes: Option<u64>,

    /// Keep events for this long, such as 30d; older ones go by themselves as the log grows
    #[arg(long, value_name = "TIME", value_parser = age)]
    keep_for: Option<std::time::Duration>,

    /// Replace this log, which cannot be continued
    #[arg(long, value_name = "OLD")]
    after: Option<OsString>,
}

/// A size with K, M or G, or bytes. A log cannot do with less than a mebibyte.
fn bytes(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M') => (&text[..text.len() - 1], 1 << 20),
        Some(b'G') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    let number: Option<u64> = digits.parse().ok();
    match number.and_then(|number| number.checked_mul(factor)) {
        Some(bytes) if bytes >= 1 << 20 => Ok(bytes),
        Some(_) => Err("a log needs at least 1M".to_owned()),
        None => Err("a size is a number with K, M or G, such as 200M".to_owned()),
    }
}

/// How long events are kept. The unit must be there: `30`, meant as days, would keep thirty seconds.
fn age(text: &str) -> Result<std::time::Duration, String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("a unit is missing: s, m, h, d or w, such as 30d".to_owned());
    }
    handfast_ledger::time::duration(text)
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LevelArg {
    /// The disk: survives the death of the machine
    Strict,
    /// The operating system, and the disk within 50 ms: survives the death of the process
    Ordered,
}

impl InitArgs {
    pub(super) fn run(&self, out: &mut Output) -> LogExit {
        let mut options = CreateOptions::new()
            .name(self.name.as_str())
            .level(match self.level {
                LevelArg::Strict => Level::Strict,
                LevelArg::Ordered => Level::Ordered,
            });
        let mut keep = Keep::new();
        if let Some(bytes) = self.keep_bytes {
            keep = keep.bytes(bytes);
        }
        if let Some(time) = self.keep_for {
            keep = keep.time(time);
        }
        if keep != Keep::new() {
            options = options.keep(keep);
        }
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
            let fields = JsonObject::new()
                .with("origin", key.name())
                .with("key", key.to_string());
            out.object(true, fields);
        } else {
            out.line(&key.to_string());
            out.note(
                "note: keep this key elsewhere; `handfast log verify DIR --key KEY` checks with it",
            );
        }
        Ok(Exit::Yes)
    }
}
