//! `symlink TARGET PATH`: make a symbolic link.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use handfast::{Links, escape};

use super::answer::{Done, PrintResult};
use super::asked::Asked;
use super::target::Target;

/// Make a symbolic link; its target must be relative and stay beneath the root
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root site symlink releases/7 current"
))]
pub(crate) struct SymlinkArgs {
    /// What the link says, relative to the directory that holds it
    pub(crate) target: OsString,

    /// The link
    pub(crate) path: OsString,
}

impl SymlinkArgs {
    pub(super) fn run(&self, target: &Target) -> PrintResult {
        let asked = Asked::new(target, "symlink", "make the link", &self.path);
        let text = self.target.as_bytes();
        let files = asked.files();
        files
            .symlink(text, &asked.path()?)
            .map_err(|error| asked.failed(&error))?;
        let followed = match files.links() {
            Links::Beneath | Links::InRoot => "",
            Links::Refuse => "; it is followed only with `--links beneath`",
        };
        let note = format!(
            "made the link `{}` to `{}`{followed}",
            asked.shown_path(),
            escape(text)
        );
        Done::answer(asked.fields().with_bytes("target", text), note)
    }
}
