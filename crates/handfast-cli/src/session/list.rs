//! `session list`: which sessions there are.

use clap::Args;

use super::place::StateArgs;
use super::told;
use crate::failure::Failure;
use crate::fs::answer::{Answer, Answered};
use crate::json::Object;
use crate::output::{self, Output};

/// List the sessions
#[derive(Debug, Args)]
pub(super) struct ListArgs {}

impl ListArgs {
    pub(super) fn run(&self, state: &StateArgs) -> Answered {
        let catalogue = state.catalogue("list")?;
        let names = catalogue
            .list()
            .map_err(|error| told::failed("list", "list the sessions", "", &error))?;
        Ok(Box::new(Names(names)))
    }
}

struct Names(Vec<String>);

impl Answer for Names {
    fn fields(&self) -> Object {
        let names = self
            .0
            .iter()
            .map(|name| Object::new().with("session", name.as_str()));
        Object::new().with("sessions", output::list(names))
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        if self.0.is_empty() {
            out.note(
                "note: there are no sessions; `handfast session new NAME --base DIR` makes one",
            );
        }
        for name in &self.0 {
            out.line(name);
        }
        Ok(())
    }
}
