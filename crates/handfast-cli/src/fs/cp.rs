//! `cp SRC DST`: copy a file or a tree.

use std::ffi::OsString;

use clap::Args;
use handfast::files::LastLink;
use handfast::{Error, ErrorKind, RelPath};

use super::answer::{Done, PrintResult};
use super::asked::Asked;
use super::target::Target;
use crate::failure::Failure;

/// Copy a file, or with `-r` a directory
///
/// DST is the new name; nothing is ever copied into a directory that is there. A file there is
/// replaced all at once. A directory appears whole or not at all.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root uploads cp notes.txt copy.txt
  handfast fs --root uploads cp -r photos backup"
))]
pub(crate) struct CpArgs {
    /// Copy a directory with everything in it
    #[arg(long, short)]
    pub(crate) recursive: bool,

    /// The file or directory
    #[arg(value_name = "SRC")]
    pub(crate) source: OsString,

    /// The name of the copy
    #[arg(value_name = "DST")]
    pub(crate) destination: OsString,
}

impl CpArgs {
    pub(super) fn run(&self, target: &Target) -> PrintResult {
        let asked = Asked::new(target, "cp", "copy", &self.source).and("to", &self.destination);
        let (from, to) = (asked.path()?, asked.destination()?);
        let failed = |error: Error| asked.failed(&error);
        // The look only chooses the verb: either refuses what is not its kind.
        let files = asked.files();
        let is_dir = || {
            files
                .metadata(&from, LastLink::Follow)
                .map(|found| found.is_dir())
        };
        if self.recursive && is_dir().map_err(failed)? {
            target
                .copy_tree(&from, &to)
                .map_err(|error| name_taken(&asked, &to, &error))?;
        } else {
            target.copy(&from, &to).map_err(failed)?;
        }
        let note = format!(
            "copied `{}` to `{}`",
            asked.shown_path(),
            asked.shown_destination()
        );
        Done::answer(asked.fields(), note)
    }
}

/// A directory that is there already is not copied into; a second look names that.
fn name_taken(asked: &Asked<'_>, to: &RelPath, error: &Error) -> Box<Failure> {
    let is_dir = || {
        let found = asked.files().metadata(to, LastLink::Itself);
        found.is_ok_and(|found| found.is_dir())
    };
    if error.kind() == ErrorKind::Exists && is_dir() {
        let detail = "a directory is there already, and nothing is copied into it";
        return asked.refused(ErrorKind::IsADirectory, detail);
    }
    asked.failed(error)
}
