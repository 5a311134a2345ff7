//! Other names of protected files.
//!
//! A file with several names is judged by all that one walk of the mount found, when the first such
//! file is met. So hard-linked package stores stay readable. What appears later, from outside of the
//! session, is not known; who wants certainty refuses files with several names.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use handfast::{ErrorKind, FileKind, Limits, Metadata, RelPath, Root, TreeLimits};

use crate::error::Error;
use crate::rules::{Access, Protection, Rule};

/// How many entries are looked at.
const WALK_LIMIT: u64 = 5_000_000;

/// Protected objects that have several names, found when first needed.
#[derive(Default)]
pub(crate) struct OtherNames {
    known: OnceLock<Known>,
}

struct Known {
    protected: BTreeMap<(u64, u64), (Protection, String)>,
    /// The walk looked at everything.
    complete: bool,
}

impl OtherNames {
    /// Judges an object with several names by what else it is known as.
    pub(crate) fn check(
        &self,
        base: &Root,
        rule_of: impl Fn(&RelPath) -> Option<Rule>,
        object: &Metadata,
        access: Access,
    ) -> Result<(), Error> {
        let known = self
            .known
            .get_or_init(|| Known::find(base, rule_of, WALK_LIMIT));
        let identity = (object.identity.device, object.identity.inode);
        match known.protected.get(&identity) {
            Some((Protection::ReadOnly, _)) if access == Access::Read => Ok(()),
            Some((_, pattern)) => Err(Error::new(
                ErrorKind::Denied,
                "the file is protected under another of its names",
            )
            .with_rule(pattern.clone())),
            None => Ok(()),
        }
    }

    /// How well they are known, in words.
    pub(crate) fn how_well(&self) -> &'static str {
        match self.known.get() {
            Some(known) if !known.complete => {
                "other names of protected files are known in part: the walk stopped after 5,000,000 \
                 entries, or could not read a directory; `hard_links = \"refuse\"` is certain"
            }
            _ => "other names of protected files are known from one walk: as good as that walk",
        }
    }
}

impl Known {
    fn find(base: &Root, rule_of: impl Fn(&RelPath) -> Option<Rule>, entries: u64) -> Self {
        let mut found = Self {
            protected: BTreeMap::new(),
            complete: false,
        };
        let limits = TreeLimits::new().with_entries(entries);
        let Ok(mut walk) = base.walk_with(&RelPath::root(), limits) else {
            return found;
        };
        let wide = Limits::new().with_depth(usize::MAX).with_total(usize::MAX);
        let mut missed = false;
        loop {
            let entry = match walk.next_entry() {
                Ok(Some(entry)) => entry,
                Ok(None) => break,
                Err(error) if error.kind() == ErrorKind::Limit => return found,
                // One directory cannot be read; the walk goes on beside it.
                Err(_) => {
                    missed = true;
                    continue;
                }
            };
            if !matches!(entry.kind(), FileKind::File | FileKind::Unknown) {
                continue;
            }
            let Ok(path) = entry.rel_path(&wide) else {
                continue;
            };
            let Some(rule) = rule_of(&path) else {
                continue;
            };
            let Ok(object) = entry.metadata() else {
                continue;
            };
            if object.has_other_names() {
                found.add(&object, &rule);
            }
        }
        found.complete = !missed;
        found
    }

    /// The stricter of two rules stays.
    fn add(&mut self, object: &Metadata, rule: &Rule) {
        let protection = match rule.list {
            "deny" => Protection::Deny,
            _ => Protection::ReadOnly,
        };
        let key = (object.identity.device, object.identity.inode);
        let said = self
            .protected
            .entry(key)
            .or_insert((protection, rule.to_string()));
        if protection < said.0 {
            *said = (protection, rule.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_that_stops_says_so() {
        let dir = std::env::temp_dir().join(format!("handfast-names-{}", std::process::id()));
        let above = Root::open_ambient(std::env::temp_dir()).unwrap();
        let name = RelPath::parse(dir.file_name().unwrap().as_encoded_bytes()).unwrap();
        above.create_dir(&name).unwrap();
        let base = Root::open_ambient(&dir).unwrap();
        for number in 0..20 {
            let path = RelPath::parse(format!("f{number}")).unwrap();
            base.write(&path, "").unwrap();
        }
        let whole = Known::find(&base, |_| None, 1000);
        let part = Known::find(&base, |_| None, 10);
        above.remove_tree(&name).unwrap();
        assert!(whole.complete && !part.complete);
        let names = OtherNames::default();
        assert!(names.how_well().contains("as good as"));
        assert!(names.known.set(part).is_ok());
        assert!(names.how_well().contains("in part"));
    }
}
