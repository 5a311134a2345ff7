//! Where logs are damaged: said on standard error and by the exit code, whatever else is shown.

use handfast::escape;
use handfast_ledger::{Error, ErrorKind, LogReader};

use crate::exit::Exit;
use crate::json::{Json, JsonObject};
use crate::output::{Output, list};

/// What does not hold in the logs that were read.
#[derive(Debug, Default)]
pub(super) struct Damage {
    found: Vec<(String, Error)>,
}

impl Damage {
    /// Takes what reading a log came to. Only damage is kept: everything that is intact has been
    /// told then. Any other trouble ends the command.
    pub(super) fn take(&mut self, log: &LogReader, read: Result<(), Error>) -> Result<(), Error> {
        match read {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                self.found.push((log.path().display().to_string(), error));
                Ok(())
            }
            other => other,
        }
    }

    /// Says it to people, and to those who read a program's standard error.
    pub(super) fn say(&self, out: &mut Output) {
        for (log, error) in &self.found {
            let log = escape(log.as_bytes());
            out.alarm(&format!(
                "error: the log `{log}`: {error}\nhint: `handfast log verify DIR` says what is damaged\n"
            ));
        }
    }

    pub(super) fn to_json(&self) -> Json {
        list(self.found.iter().map(|(log, error)| {
            JsonObject::new()
                .with("log", log.as_str())
                .with("index", error.index().map(|index| index.to_string()))
                .with("what", error.to_string())
        }))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// A damaged log is never a yes.
    pub(super) fn exit(&self, otherwise: Exit) -> Exit {
        match self.found.is_empty() {
            true => otherwise,
            false => Exit::No,
        }
    }
}
