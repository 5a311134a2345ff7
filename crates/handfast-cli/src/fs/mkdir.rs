//! `mkdir PATH`: make a directory.

use std::ffi::OsString;

use clap::Args;

use super::answer::{Done, PrintResult};
use super::asked::Asked;
use super::target::Target;

/// Make a directory
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root uploads mkdir -p 2026/11"
))]
pub(crate) struct MkdirArgs {
    /// Make missing parents too, and accept a directory that is there already
    #[arg(long, short)]
    pub(crate) parents: bool,

    /// The directory
    pub(crate) path: OsString,
}

impl MkdirArgs {
    pub(super) fn run(&self, target: &Target) -> PrintResult {
        let asked = Asked::new(target, "mkdir", "make the directory", &self.path);
        let path = asked.path()?;
        let made = target
            .create_dir(&path, self.parents)
            .map_err(|error| asked.failed(&error))?;
        let fields = match made {
            Some(identity) => asked.fields().with("identity", identity.to_string()),
            None => asked.fields(),
        };
        let note = if self.parents {
            format!("the directory `{}` is there", asked.shown_path())
        } else {
            format!("made the directory `{}`", asked.shown_path())
        };
        Done::answer(fields, note)
    }
}
