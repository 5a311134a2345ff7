//! `recover [PATH]`: clean up after writers that died.

use std::ffi::OsString;

use clap::Args;
use handfast::{Recovered, RecoveryOutcome, escape};

use super::answer::{PrintResult, Printable};
use super::asked::Asked;
use super::target::Target;
use crate::failure::Failure;
use crate::json::JsonObject;
use crate::output::{self, Output};

/// Remove the leftovers of killed writers below a directory
///
/// Only leftovers that provably come from a dead writer are removed or put back; everything else is
/// kept and listed
/// with the reason. If a merge of an archive was killed half-way, it is finished, or undone where
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
    pub(super) fn run(&self, target: &Target) -> PrintResult {
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
    fields: JsonObject,
    path: String,
    found: Vec<Recovered>,
}

impl Printable for Report {
    fn fields(&self) -> JsonObject {
        let found = self.found.iter().map(|leftover| {
            JsonObject::new()
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
