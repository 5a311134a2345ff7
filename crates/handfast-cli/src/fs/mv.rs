//! `mv SRC DST`: rename an entry, or exchange two.

use std::ffi::OsString;

use clap::Args;
use handfast::RenameMode;

use super::answer::{Done, PrintResult};
use super::asked::Asked;
use super::target::Target;

/// Rename an entry, or exchange two
///
/// The entry itself is renamed: a link moves, and its target stays. DST is the new name
/// itself: nothing is moved into a directory that is there. A file at DST is replaced; an empty
/// directory is replaced only by a directory.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root uploads mv draft.txt final.txt
  handfast fs --root site mv --exchange current next"
))]
pub(crate) struct MvArgs {
    /// Refuse if anything is there already
    #[arg(long, short, conflicts_with = "exchange")]
    pub(crate) no_replace: bool,

    /// Let both entries change places; both must exist
    #[arg(long)]
    pub(crate) exchange: bool,

    /// The entry
    #[arg(value_name = "SRC")]
    pub(crate) source: OsString,

    /// Its new name
    #[arg(value_name = "DST")]
    pub(crate) destination: OsString,
}

impl MvArgs {
    pub(super) fn run(&self, target: &Target) -> PrintResult {
        let (deed, joint, mode) = match (self.no_replace, self.exchange) {
            (true, _) => ("move", "to", RenameMode::NoReplace),
            (_, true) => ("exchange", "with", RenameMode::Exchange),
            _ => ("move", "to", RenameMode::Replace),
        };
        let asked = Asked::new(target, "mv", deed, &self.source).and(joint, &self.destination);
        let (from, to) = (asked.path()?, asked.destination()?);
        asked
            .files()
            .rename(&from, &to, mode)
            .map_err(|error| asked.failed(&error))?;
        let (from, to) = (asked.shown_path(), asked.shown_destination());
        let note = match mode {
            RenameMode::Exchange => format!("exchanged `{from}` and `{to}`"),
            _ => format!("moved `{from}` to `{to}`"),
        };
        Done::answer(asked.fields(), note)
    }
}
