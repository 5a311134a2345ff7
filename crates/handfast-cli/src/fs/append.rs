//! `append PATH`: add what comes on standard input to the end of a file.

use std::ffi::OsString;

use clap::Args;
use handfast::{Durability, WriteOptions};

use super::answer::{Done, PrintResult};
use super::asked::Asked;
use super::target::Target;
use super::{input, write};
use crate::output::Output;

/// Append standard input to a file, creating the file if it is missing
///
/// Standard input is read to its end first and held in memory, so that a full disk is found out
/// before the file is changed.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  echo done | handfast fs --root uploads append progress.txt"
))]
pub(crate) struct AppendArgs {
    /// The file
    pub(crate) path: OsString,
}

impl AppendArgs {
    pub(super) fn run(&self, target: &Target, out: &mut Output) -> PrintResult {
        let asked = Asked::new(target, "append", "append to", &self.path);
        let path = asked.path()?;
        let data = input::read_all(&asked, out)?;
        // As with an append of any program, nothing waits for the disk.
        let options = WriteOptions::new().durability(Durability::None);
        let written = asked
            .files()
            .append(&path, &data, options)
            .map_err(|error| asked.failed(&error))?;
        let size = data.len() as u64;
        let fields = asked
            .fields()
            .with("appended", size)
            .with("file_version", write::version_of(&written, out));
        let note = format!(
            "appended {} to `{}`",
            write::bytes(size),
            asked.shown_path()
        );
        Done::answer(fields, note)
    }
}
