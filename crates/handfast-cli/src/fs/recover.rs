//! `recover [PATH]`: clean up after writers that died.

use std::ffi::OsString;

use clap::Args;
use handfast::{Recovered, RecoveryOutcome, escape};

use super::answer::{Answer, Answered};
use super::asked::Asked;
use super::target::Target;
use crate::failure::Failure;
use crate::json::Object;
use crate::output::{self, Output};

/// Clean up what writers that died have left below a directory
///
/// Only what is provably left by a dead writer is removed or put back; everything else is kept
/// and listed with the reason. The merge of an archive that died half-way is finished, or undone where
/// the directory was changed since. Paths count from the root.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root uploads recover"
))]
pub(crate) struct RecoverArgs {
    /// The directory; `.` is the root itself
    #[arg(default_value = ".")]
    path: OsString,
}

impl RecoverArgs {
    pub(super) fn run(&self, target: &Target) -> Answered {
        let asked = Asked::new_dir(target, "recover", "recover", &self.path);
        let Some(root) = target.root() else {
            let why = "only a root is recovered; the next change in a session mends the session";
            return Err(asked.misused(why.to_owned()));
        };
        let top = asked.path_or_root()?;
        let found = handfast_archive::recover(root, &top);
        let mut found = found.map_err(|error| asked.failed(&error))?;
        for leftover in &mut found {
            if !top.is_root() {
                leftover.path = [top.as_bytes(), b"/", &leftover.path].concat();
            }
        }
        found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Ok(Box::new(Report {
            fields: asked.fields(),
            path: asked.shown_path(),
            found,
        }))
    }
}

struct Report {
    fields: Object,
    path: String,
    found: Vec<Recovered>,
}

impl Answer for Report {
    fn fields(&self) -> Object {
        let found = self.found.iter().map(|leftover| {
            Object::new()
                .with_bytes("path", &leftover.path)
                .with("outcome", leftover.outcome.name())
                .with("why", why(leftover.outcome))
        });
        self.fields.clone().with("found", output::list(found))
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        for leftover in &self.found {
            let outcome = leftover.outcome.name();
            let path = escape(&leftover.path);
            match why(leftover.outcome) {
                Some(why) => out.line(&format!("{outcome:<8}  {path}: {why}")),
                None => out.line(&format!("{outcome:<8}  {path}")),
            }
        }
        if self.found.is_empty() {
            out.note(&format!("nothing to recover below `{}`", self.path));
        }
        Ok(())
    }
}

/// Why something was left where it is.
fn why(outcome: RecoveryOutcome) -> Option<&'static str> {
    match outcome {
        RecoveryOutcome::Kept(why) => Some(why),
        RecoveryOutcome::InUse => Some("its writer is alive"),
        _ => None,
    }
}
