//! `rm PATH`: remove an entry.

use std::ffi::OsString;

use clap::Args;
use handfast::TreeLimits;
use handfast::files::WhatToRemove;

use super::answer::{Done, PrintResult};
use super::asked::Asked;
use super::target::Target;
use super::version;

/// Remove an entry
///
/// The entry itself is removed. If it is a link, its target stays.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root uploads rm notes.txt
  handfast fs --root uploads rm -r 2025"
))]
pub(crate) struct RmArgs {
    /// Remove a directory with everything in it
    #[arg(long, short, conflicts_with = "if_version")]
    pub(crate) recursive: bool,

    /// Refuse unless the file is still this version, as `version`, `stat` and `write` print it
    #[arg(long, value_name = "VERSION")]
    pub(crate) if_version: Option<String>,

    /// The entry
    pub(crate) path: OsString,
}

impl RmArgs {
    pub(super) fn run(&self, target: &Target) -> PrintResult {
        let asked = Asked::new(target, "rm", "remove", &self.path);
        let expected = self
            .if_version
            .as_deref()
            .map(|text| version::parse(&asked, text))
            .transpose()?;
        let (files, path) = (asked.files(), asked.path()?);
        let removed = match &expected {
            Some(version) => files.remove(&path, WhatToRemove::FileIf(version)),
            None if self.recursive => files.remove_tree(&path, TreeLimits::new()),
            None => files.remove(&path, WhatToRemove::File),
        };
        removed.map_err(|error| asked.failed(&error))?;
        Done::answer(asked.fields(), format!("removed `{}`", asked.shown_path()))
    }
}
