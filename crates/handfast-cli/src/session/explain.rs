//! `session explain NAME PATH VERB`: which rule decides.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use handfast_session::{Explanation, Wanted};

use super::place::StateArgs;
use super::told;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fs::answer::{Answer, Answered};
use crate::json::Object;
use crate::output::Output;

/// Say which rule decides about a path; exit 1 if it is refused
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
    pub(super) fn run(&self, state: &StateArgs) -> Answered {
        let Some(wanted) = Wanted::parse(&self.verb) else {
            let why = format!(
                "there is no verb `{}`; say `read`, `write`, `ls`, `mv`, `rm`, or a verb as the log names it",
                handfast::escape(self.verb.as_bytes())
            );
            return Err(told::misused("explain", "explain that", &why));
        };
        let session = state.open("explain", &self.name)?;
        let said = session
            .explain(self.path.as_bytes(), wanted)
            .map_err(|error| {
                told::failed("explain", "explain", &self.path.to_string_lossy(), &error)
            })?;
        Ok(Box::new(Said(said)))
    }
}

struct Said(Explanation);

impl Answer for Said {
    fn fields(&self) -> Object {
        let said = &self.0;
        let mut fields = Object::new()
            .with("allowed", said.allowed)
            .with("why", said.why.as_str())
            .with("rule", said.rule.as_ref().map(ToString::to_string))
            .with("mode", said.mode.map(|mode| mode.name().to_owned()))
            .with("hard_links", said.hard_links);
        if let Some(path) = &said.decided_on {
            fields = fields.with_bytes("decided_on", &told::bytes(path));
        }
        if let Some(mount) = &said.mount {
            fields = fields.with_bytes("mount", &told::bytes(mount));
        }
        fields
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        let said = &self.0;
        let verdict = if said.allowed { "allowed" } else { "refused" };
        out.line(&format!("{verdict}: {}", said.why));
        if let (Some(mount), Some(mode)) = (&said.mount, said.mode) {
            out.line(&format!("mount       {mount}  ({mode})"));
        }
        if let Some(path) = &said.decided_on {
            out.line(&format!("decided on  {path}"));
        }
        out.line(&format!("hard links  {}", said.hard_links));
        Ok(())
    }

    fn verdict(&self) -> Exit {
        match self.0.allowed {
            true => Exit::Yes,
            false => Exit::No,
        }
    }
}
