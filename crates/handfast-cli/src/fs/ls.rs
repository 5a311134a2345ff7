//! `ls PATH`: the entries of a directory.

use std::ffi::OsString;

use clap::Args;
use handfast::files::LastLink;
use handfast::{FileKind, escape};

use super::answer::{PrintResult, Printable};
use super::asked::Asked;
use super::target::Target;
use crate::failure::Failure;
use crate::json::JsonObject;
use crate::output::{self, Output};

/// List a directory, in byte order
///
/// Names are escaped, one on a line. A directory's name ends in `/`; other kinds are named behind it.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root uploads ls
  handfast fs --root uploads ls -0 photos | xargs -0 -n 1 echo"
))]
pub(crate) struct LsArgs {
    /// Print names as they are, each ended by NUL
    #[arg(long, short = '0')]
    pub(crate) null: bool,

    /// The directory [default: the top]
    #[arg(default_value = ".", hide_default_value = true)]
    pub(crate) path: OsString,
}

impl LsArgs {
    pub(super) fn run(&self, target: &Target) -> PrintResult {
        let asked = Asked::new_dir(target, "ls", "list", &self.path);
        let path = asked.path_or_root()?;
        let failed = |error| asked.failed(&error);
        let files = asked.files();
        let mut entries = Vec::new();
        for entry in files.entries(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = match entry.kind {
                // Some filesystems do not say in the listing; what is there now does.
                FileKind::Unknown => files
                    .metadata(&path.join(&entry.name), LastLink::Itself)
                    .map_or(FileKind::Unknown, |now| now.kind),
                kind => kind,
            };
            entries.push((entry.name.as_bytes().to_vec(), kind));
        }
        entries.sort_unstable();
        Ok(Box::new(Listing {
            fields: asked.fields(),
            entries,
            null: self.null,
        }))
    }
}

struct Listing {
    fields: JsonObject,
    entries: Vec<(Vec<u8>, FileKind)>,
    null: bool,
}

impl Printable for Listing {
    fn fields(&self) -> JsonObject {
        let entries = self.entries.iter().map(|(name, kind)| {
            JsonObject::new()
                .with_bytes("name", name)
                .with("type", kind.name())
        });
        self.fields.clone().with("entries", output::list(entries))
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        for (name, kind) in &self.entries {
            if self.null {
                out.data(name);
                out.data(b"\0");
            } else {
                out.line(&shown(name, *kind));
            }
        }
        Ok(())
    }
}

/// A name as people see it: escaped, with what it is unless that is a file.
pub(crate) fn shown(name: &[u8], kind: FileKind) -> String {
    let name = escape(name);
    match kind {
        FileKind::File => name,
        // No name holds a slash, so this cannot be a part of it.
        FileKind::Dir => format!("{name}/"),
        other => format!("{name}  ({other})"),
    }
}
