//! `session explain NAME PATH VERB`: which rule decides.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use handfast_session::{Explanation, Wanted};

use super::failures;
use super::place::StateArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fs::answer::{PrintResult, Printable};
use crate::json::JsonObject;
use crate::output::Output;

/// Show which rule decides about a path; exit 1 if it is refused
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast session explain review /.env read"
))]
pub(super) struct ExplainArgs {
    /// The session
    name: String,

    /// The virtual path
    path: OsString,

    /// What would be done: `read`, `write`, `ls`, `mv`, `rm`, or a verb as the log names it
    verb: String,
}

impl ExplainArgs {
    pub(super) fn run(&self, state: &StateArgs) -> PrintResult {
        let Some(wanted) = Wanted::parse(&self.verb) else {
            let why = format!(
                "there is no verb `{}`; say `read`, `write`, `ls`, `mv`, `rm`, or a verb as the log names it",
                handfast::escape(self.verb.as_bytes())
            );
            return Err(failures::misused("explain", "explain that", &why));
        };
        let session = state.open("explain", &self.name)?;
        let said = session
            .explain(self.path.as_bytes(), wanted)
            .map_err(|error| {
                failures::failed("explain", "explain", &self.path.to_string_lossy(), &error)
            })?;
        Ok(Box::new(Said(said)))
    }
}

struct Said(Explanation);

impl Printable for Said {
    fn fields(&self) -> JsonObject {
        let said = &self.0;
        let mut fields = JsonObject::new()
            .with("allowed", said.allowed)
            .with("why", said.why.as_str())
            .with("asks", said.asks.as_ref().map(ToString::to_string))
            .with("rule", said.rule.as_ref().map(ToString::to_string))
            .with("mode", said.mode.map(|mode| mode.name().to_owned()))
            .with("hard_links", said.hard_links);
        if let Some(path) = &said.decided_on {
            fields = fields.with_bytes("decided_on", &failures::bytes(path));
        }
        if let Some(mount) = &said.mount {
            fields = fields.with_bytes("mount", &failures::bytes(mount));
        }
        fields
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        let said = &self.0;
        let verdict = match (said.allowed, &said.asks) {
            (true, Some(_)) => "asked",
            (true, None) => "allowed",
            (false, _) => "refused",
        };
        out.folded(&format!("{verdict}: {}", said.why), 4);
        if let (Some(mount), Some(mode)) = (&said.mount, said.mode) {
            out.line(&format!("mount       {mount}  ({mode})"));
        }
        if let Some(path) = &said.decided_on {
            out.line(&format!("decided on  {path}"));
        }
        out.folded(&format!("hard links  {}", said.hard_links), 12);
        Ok(())
    }

    fn verdict(&self) -> Exit {
        match self.0.allowed {
            true => Exit::Yes,
            false => Exit::No,
        }
    }
}
