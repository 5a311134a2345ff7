//! What ignore files name.

use handfast::NameRef;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::call::Call;
use crate::place::Location;

const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// What ignore files name, in the directories from the top to where we are.
#[derive(Default)]
pub(super) struct Ignored(Vec<Rules>);

struct Rules {
    /// The directory below the top.
    dir: String,
    /// How deep its entries are.
    depth: usize,
    rules: Gitignore,
}

impl Ignored {
    /// Reads the ignore files of a directory that is entered.
    pub(super) fn enter(&mut self, call: &Call<'_>, dir: &Location, relative: &str, depth: usize) {
        self.0.retain(|rules| rules.depth < depth);
        let mut builder = GitignoreBuilder::new("");
        let mut any = false;
        for name in IGNORE_FILES {
            let Ok(name) = NameRef::parse(name.as_bytes()) else {
                continue;
            };
            let path = dir.path.join(name);
            let Ok(bytes) = call.looking().read(path.as_rel(), 1 << 20) else {
                continue;
            };
            for line in String::from_utf8_lossy(&bytes).lines() {
                // A line that is no pattern names nothing.
                any |= builder.add_line(None, line).is_ok();
            }
        }
        if any && let Ok(rules) = builder.build() {
            self.0.push(Rules {
                dir: relative.to_owned(),
                depth,
                rules,
            });
        }
    }

    /// Whether an entry is ignored: the innermost directory that says something decides. `.git`
    /// always is.
    pub(super) fn holds(&self, relative: &str, is_dir: bool, depth: usize) -> bool {
        if is_dir && relative.rsplit('/').next() == Some(".git") {
            return true;
        }
        for rules in self.0.iter().rev().filter(|rules| rules.depth <= depth) {
            let below = match rules.dir.as_str() {
                "" => relative,
                dir => match relative
                    .strip_prefix(dir)
                    .and_then(|rest| rest.strip_prefix('/'))
                {
                    Some(rest) => rest,
                    None => continue,
                },
            };
            let said = rules.rules.matched(below, is_dir);
            if !said.is_none() {
                return said.is_ignore();
            }
        }
        false
    }
}
