//! `chmod MODE PATH`: change permission bits.

use std::ffi::OsString;

use clap::Args;
use handfast::files::Attributes;

use super::answer::{Done, PrintResult};
use super::asked::Asked;
use super::mode;
use super::target::Target;

/// Change the permission bits of a file or directory
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root uploads chmod 640 notes.txt"
))]
pub(crate) struct ChmodArgs {
    /// The bits, in octal: for example 644
    #[arg(value_parser = mode::parse)]
    pub(crate) mode: u32,

    /// The file or directory
    pub(crate) path: OsString,
}

impl ChmodArgs {
    pub(super) fn run(&self, target: &Target) -> PrintResult {
        let asked = Asked::new(target, "chmod", "change the mode of", &self.path);
        let attributes = Attributes::new().mode(self.mode);
        asked
            .files()
            .set_attributes(&asked.path()?, &attributes)
            .map_err(|error| asked.failed(&error))?;
        let mode = mode::shown(self.mode);
        let note = format!("`{}` has mode {mode}", asked.shown_path());
        Done::answer(asked.fields().with("mode", mode), note)
    }
}
