//! `stat PATH`: what is there.

use std::ffi::OsString;
use std::time::{Duration, SystemTime};

use clap::Args;
use handfast::files::{Files, LastLink};
use handfast::{Metadata, OpenOptions, RelPath};

use super::answer::{PrintResult, Printable};
use super::asked::Asked;
use super::target::Target;
use super::{mode, write};
use crate::failure::Failure;
use crate::json::JsonObject;
use crate::output::Output;
use handfast_ledger::time::rfc3339;

/// The version of a very young file holds the digest of its content. Beyond this size that is more
/// reading than somebody who only wants to look has asked for.
const DIGEST_LIMIT: u64 = 64 << 20;

/// A little more than the age up to which the library digests.
const YOUNG: Duration = Duration::from_secs(4);

/// Show kind, size, mode, times and version of a file, a directory or a link
///
/// Nothing is opened but regular files, for their version.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root uploads stat notes.txt
  handfast fs --root uploads --json stat --no-follow current"
))]
pub(crate) struct StatArgs {
    /// Look at the entry itself: a link is a link
    #[arg(long)]
    pub(crate) no_follow: bool,

    /// The entry; `.` is the root itself
    pub(crate) path: OsString,
}

impl StatArgs {
    pub(super) fn run(&self, target: &Target) -> PrintResult {
        let asked = Asked::new_dir(target, "stat", "look at", &self.path);
        let path = asked.path_or_root()?;
        let last = match self.no_follow {
            true => LastLink::Itself,
            false => LastLink::Follow,
        };
        let metadata = asked
            .files()
            .metadata(&path, last)
            .map_err(|error| asked.failed(&error))?;
        let (metadata, file_version) = match version_of(asked.files(), &path, &metadata) {
            Some((opened, version)) => (opened, Some(version)),
            None => (metadata, None),
        };
        Ok(Box::new(StatFields {
            fields: asked.fields(),
            path: asked.shown_path(),
            metadata,
            file_version,
        }))
    }
}

/// The file's version, and its facts as of the same open file. Nothing where it cannot be told:
/// not a file, not ours to read, another one by now, or too much to digest for a look.
fn version_of(files: &dyn Files, path: &RelPath, seen: &Metadata) -> Option<(Metadata, String)> {
    if !seen.is_file() {
        return None;
    }
    let file = files.open(path, OpenOptions::new()).ok()?;
    let opened = *file.opened_metadata();
    if !opened.identity.same_object(&seen.identity) {
        return None;
    }
    let newest = opened.modified.max(opened.changed).to_system_time();
    let is_young = SystemTime::now()
        .duration_since(newest)
        .map_or(true, |age| age < YOUNG);
    if is_young && opened.len > DIGEST_LIMIT {
        return None;
    }
    let version = file.version(false).ok()?;
    Some((opened, version.to_string()))
}

struct StatFields {
    fields: JsonObject,
    path: String,
    metadata: Metadata,
    file_version: Option<String>,
}

impl Printable for StatFields {
    fn fields(&self) -> JsonObject {
        let facts = &self.metadata;
        self.fields
            .clone()
            .with("type", facts.kind.name())
            .with("size", facts.len)
            .with("mode", mode::shown(facts.mode))
            .with("nlink", facts.nlink)
            .with("mtime", rfc3339(facts.modified.as_nanoseconds()))
            .with("uid", facts.uid)
            .with("gid", facts.gid)
            .with("identity", facts.identity.to_string())
            .with("file_version", self.file_version.clone())
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        let facts = &self.metadata;
        let names = match facts.nlink {
            1 => "1 name".to_owned(),
            names => format!("{names} names"),
        };
        out.line(&format!("path      {}", self.path));
        out.line(&format!("type      {}, {names}", facts.kind));
        out.line(&format!("size      {}", write::bytes(facts.len)));
        out.line(&format!("mode      {}", mode::shown(facts.mode)));
        out.line(&format!("owner     {}:{}", facts.uid, facts.gid));
        out.line(&format!(
            "modified  {}",
            rfc3339(facts.modified.as_nanoseconds())
        ));
        out.line(&format!("identity  {}", facts.identity));
        if let Some(version) = &self.file_version {
            out.line(&format!("version   {version}"));
        }
        Ok(())
    }
}
