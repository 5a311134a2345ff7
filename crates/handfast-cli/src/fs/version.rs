//! `version PATH`: which state of a file this is.

use std::ffi::OsString;

use clap::Args;
use handfast::Version;

use super::answer::{PrintResult, Printable};
use super::asked::Asked;
use super::target::Target;
use crate::failure::Failure;
use crate::json::JsonObject;
use crate::output::Output;

/// Print the version of a file, for a later `write --if-version` or `rm --if-version`
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  SEEN=$(handfast fs --root uploads version notes.txt)
  handfast fs --root uploads write --if-version \"$SEEN\" notes.txt < new"
))]
pub(crate) struct VersionArgs {
    /// The file
    pub(crate) path: OsString,
}

impl VersionArgs {
    pub(super) fn run(&self, target: &Target) -> PrintResult {
        let asked = Asked::new(target, "version", "tell the version of", &self.path);
        let version = asked
            .files()
            .version(&asked.path()?, false)
            .map_err(|error| asked.failed(&error))?
            .to_string();
        Ok(Box::new(VersionLine {
            fields: asked.fields().with("file_version", version.as_str()),
            version,
        }))
    }
}

struct VersionLine {
    fields: JsonObject,
    version: String,
}

impl Printable for VersionLine {
    fn fields(&self) -> JsonObject {
        self.fields.clone()
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        out.line(&self.version);
        Ok(())
    }
}

/// A version as the caller gives it back.
pub(crate) fn parse(asked: &Asked<'_>, text: &str) -> Result<Version, Box<Failure>> {
    text.parse().map_err(|_| {
        asked.misused("`--if-version` takes what `handfast fs version PATH` printed".to_owned())
    })
}
