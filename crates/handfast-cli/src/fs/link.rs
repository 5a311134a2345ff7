//! `link SRC DST`: give a file another name.

use std::ffi::OsString;

use clap::Args;
use handfast::Root;

use super::answer::{Answered, Done};
use super::asked::Asked;

/// Give a file another name (a hard link)
#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// The file
    #[arg(value_name = "SRC")]
    pub(crate) source: OsString,

    /// The other name
    #[arg(value_name = "DST")]
    pub(crate) destination: OsString,
}

impl LinkArgs {
    pub(super) fn run(&self, root: &Root) -> Answered {
        let asked = Asked::new(root, "link", "link", &self.source).and("as", &self.destination);
        let (source, new) = (asked.path()?, asked.destination()?);
        root.hard_link(&source, &new)
            .map_err(|error| asked.failed(&error))?;
        let note = format!(
            "`{}` is now another name of `{}`",
            asked.shown_destination(),
            asked.shown_path()
        );
        Done::answer(asked.fields(), note)
    }
}
