//! `tree PATH`: everything below a directory.

use std::cmp::Ordering;
use std::ffi::OsString;

use clap::Args;
use handfast::{ErrorKind, FileKind, TreeLimits};

use super::answer::{PrintResult, Printable};
use super::asked::Asked;
use super::ls;
use super::target::Target;
use crate::failure::Failure;
use crate::json::JsonObject;
use crate::output::{self, Output};

/// Deeper trees are an attack on the process that lists them: the list grows with the square of the depth.
const MAX_DEPTH: usize = 1_000;
/// The list is sorted, so it is held in memory.
const MAX_BYTES: usize = 1 << 30;

/// List everything below a directory; links are listed and not followed
///
/// Paths count from the root, and in a session from `/`. With `--json` and `-0` the list is flat and in byte order. A
/// directory that cannot be read is reported, and the rest is listed. At most 1000 levels and 1 GiB of
/// paths.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast fs --root uploads tree
  handfast fs --session review tree /src"
))]
pub(crate) struct TreeArgs {
    /// Print paths as they are, each ended by NUL
    #[arg(long, short = '0')]
    pub(crate) null: bool,

    /// The directory [default: the top]
    #[arg(default_value = ".", hide_default_value = true)]
    pub(crate) path: OsString,
}

impl TreeArgs {
    pub(super) fn run(&self, target: &Target) -> PrintResult {
        let asked = Asked::new_dir(target, "tree", "list", &self.path);
        let top = asked.path_or_root()?;
        let limits = TreeLimits::new().with_depth(MAX_DEPTH);
        let mut entries = Vec::new();
        let mut troubles = Vec::new();
        let mut bytes = 0;
        let walked = target.walk(&top, limits, &mut |told| {
            match told {
                Ok((path, kind)) => {
                    bytes += path.len();
                    entries.push(TreeLine { path, kind });
                }
                Err((path, error)) => troubles.push(asked.failed_below(path, &error)),
            }
            bytes <= MAX_BYTES
        });
        walked.map_err(|error| asked.failed(&error))?;
        if bytes > MAX_BYTES {
            return Err(asked.refused(ErrorKind::Limit, "the list is too long"));
        }
        Ok(Box::new(Tree {
            fields: asked.fields(),
            top: match (top.is_root(), target.root()) {
                (true, Some(_)) => "./".to_owned(),
                (true, None) => "/".to_owned(),
                _ => ls::shown(&target.typed(top.as_bytes()), FileKind::Dir),
            },
            prefix: target.typed(b""),
            depth: top.depth(),
            entries,
            troubles,
            null: self.null,
        }))
    }
}

struct TreeLine {
    /// From the top.
    path: Vec<u8>,
    kind: FileKind,
}

impl TreeLine {
    /// Its own name, and how many directories lie above it.
    fn name_and_depth(&self) -> (&[u8], usize) {
        let depth = self.path.iter().filter(|byte| **byte == b'/').count();
        let name = self.path.rsplit(|byte| *byte == b'/').next();
        (name.unwrap_or_default(), depth)
    }
}

/// Byte order in which everything below a directory follows it at once: no name holds NUL, so a
/// slash that counts as NUL comes before all.
fn nested(one: &TreeLine, other: &TreeLine) -> Ordering {
    let key = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    one.path.iter().map(key).cmp(other.path.iter().map(key))
}

struct Tree {
    fields: JsonObject,
    /// What people see as the first line.
    top: String,
    /// What paths begin with.
    prefix: Vec<u8>,
    depth: usize,
    entries: Vec<TreeLine>,
    troubles: Vec<Failure>,
    null: bool,
}

impl Tree {
    /// Byte order of whole paths, for programs.
    fn flat(&self) -> Vec<&TreeLine> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        entries
    }
}

impl Printable for Tree {
    fn fields(&self) -> JsonObject {
        let entries = self.flat().into_iter().map(|entry| {
            JsonObject::new()
                .with_bytes("path", &[&*self.prefix, &*entry.path].concat())
                .with("type", entry.kind.name())
        });
        let fields = self.fields.clone().with("entries", output::list(entries));
        if self.troubles.is_empty() {
            return fields;
        }
        let troubles = self.troubles.iter().map(Failure::to_json);
        fields.with("errors", output::list(troubles))
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        if self.null {
            for entry in self.flat() {
                out.data(&self.prefix);
                out.data(&entry.path);
                out.data(b"\0");
            }
            return Ok(());
        }
        out.line(&self.top);
        self.entries.sort_unstable_by(nested);
        for entry in &self.entries {
            let (name, depth) = entry.name_and_depth();
            let indent = 2 * (depth + 1 - self.depth);
            out.line(&format!("{:indent$}{}", "", ls::shown(name, entry.kind)));
        }
        Ok(())
    }

    fn troubles(&self) -> &[Failure] {
        &self.troubles
    }
}

#[cfg(test)]
mod tests {
    use super::{FileKind, TreeLine, nested};

    #[test]
    fn people_see_a_directory_and_then_what_is_in_it() {
        let entry = |path: &str| TreeLine {
            path: path.as_bytes().to_vec(),
            kind: FileKind::File,
        };
        let mut entries = ["a-b", "a", "a/c", "a/c/d", "a.b"].map(entry);
        entries.sort_unstable_by(nested);
        let paths = entries.each_ref().map(|entry| entry.path.as_slice());
        assert_eq!(paths, [&b"a"[..], b"a/c", b"a/c/d", b"a-b", b"a.b"]);
        assert_eq!(entries[2].name_and_depth(), (&b"d"[..], 2));
    }
}
