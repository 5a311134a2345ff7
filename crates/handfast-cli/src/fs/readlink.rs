//! `readlink PATH`: what a symbolic link says.

use std::ffi::OsString;

use clap::Args;
use handfast::SymlinkTarget;

use super::answer::{PrintResult, Printable};
use super::asked::Asked;
use super::target::Target;
use crate::failure::Failure;
use crate::json::JsonObject;
use crate::output::Output;

/// Print the target of a symbolic link, as it is stored
///
/// On a terminal the text is escaped. With `--json` it is `target`, or `target_b64` where it is
/// not UTF-8. The maker of the link chose the text.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root site readlink current"
))]
pub(crate) struct ReadlinkArgs {
    /// The link
    pub(crate) path: OsString,
}

impl ReadlinkArgs {
    pub(super) fn run(&self, target: &Target) -> PrintResult {
        let asked = Asked::new(target, "readlink", "read the link", &self.path);
        let link = asked
            .files()
            .read_link(&asked.path()?)
            .map_err(|error| asked.failed(&error))?;
        Ok(Box::new(LinkText {
            fields: asked.fields(),
            target: link,
        }))
    }
}

struct LinkText {
    fields: JsonObject,
    target: SymlinkTarget,
}

impl Printable for LinkText {
    fn fields(&self) -> JsonObject {
        self.fields
            .clone()
            .with_bytes("target", self.target.as_bytes())
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        if Output::is_terminal() {
            out.line(&self.target.to_string());
        } else {
            out.data(self.target.as_bytes());
            out.data(b"\n");
        }
        Ok(())
    }
}
