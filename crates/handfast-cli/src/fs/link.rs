//! `link SRC DST`: give a file another name.

use std::ffi::OsString;

use clap::Args;

use super::answer::{Done, PrintResult};
use super::asked::Asked;
use super::target::Target;

/// Give a file another name (a hard link)
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root uploads link notes.txt also-notes.txt"
))]
pub(crate) struct LinkArgs {
    /// The file
    #[arg(value_name = "SRC")]
    pub(crate) source: OsString,

    /// The other name
    #[arg(value_name = "DST")]
    pub(crate) destination: OsString,
}

impl LinkArgs {
    pub(super) fn run(&self, target: &Target) -> PrintResult {
        let asked = Asked::new(target, "link", "link", &self.source).and("as", &self.destination);
        let (source, new) = (asked.path()?, asked.destination()?);
        asked
            .files()
            .hard_link(&source, &new)
            .map_err(|error| asked.failed(&error))?;
        let note = format!(
            "`{}` is now another name of `{}`",
            asked.shown_destination(),
            asked.shown_path()
        );
        Done::answer(asked.fields(), note)
    }
}
