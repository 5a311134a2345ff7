//! `mkdir PATH`: make a directory.

use std::ffi::OsString;

use clap::Args;
use handfast::Root;

use super::answer::{Answered, Done};
use super::asked::Asked;

/// Make a directory
#[derive(Debug, Args)]
pub(crate) struct MkdirArgs {
    /// Make missing parents too, and accept a directory that is there already
    #[arg(long, short)]
    pub(crate) parents: bool,

    /// The directory
    pub(crate) path: OsString,
}

impl MkdirArgs {
    pub(super) fn run(&self, root: &Root) -> Answered {
        let asked = Asked::new(root, "mkdir", "make the directory", &self.path);
        let path = asked.path()?;
        let made = if self.parents {
            root.create_dir_all(&path)
        } else {
            root.create_dir(&path)
        };
        let dir = made.map_err(|error| asked.failed(&error))?;
        let fields = asked.fields().with("identity", dir.identity().to_string());
        let note = if self.parents {
            format!("the directory `{}` is there", asked.shown_path())
        } else {
            format!("made the directory `{}`", asked.shown_path())
        };
        Done::answer(fields, note)
    }
}
