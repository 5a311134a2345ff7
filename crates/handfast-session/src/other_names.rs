//! Other names of protected files.
//!
//! A file with several names has the narrowest rule of all of them. Its names are found by a walk of
//! the base, when the first such file is met and again when a file got a name after the walk. So
//! hard-linked package stores stay readable. A walk that did not see everything refuses files with
//! several names: one of them may be protected. Names that come and go while the file is opened are
//! found out by [`crate::own_name`]. A name in a directory that an outsider moves past the walk, while it
//! runs, may be missed; `hard_links = "refuse"` is certain.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use handfast::{ErrorKind, FileKind, Limits, Metadata, RelPath, Root, Timestamp, TreeLimits};

use crate::error::{Error, ProtectedBy};
use crate::rules::{Access, Protection, Rule};

/// How many entries are looked at.
const MAX_ENTRIES: u64 = 5_000_000;

/// Times of files may lag behind the clock by a tick of the kernel.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// Protected files, as the last walk found them.
#[derive(Default)]
pub(crate) struct OtherNames {
    known: Mutex<Option<Arc<NamesOfFile>>>,
}

struct NamesOfFile {
    protected: BTreeMap<(u64, u64), (Protection, String)>,
    /// The walk looked at everything.
    complete: bool,
    /// When it began, as times of files are told.
    begun: Timestamp,
}

impl OtherNames {
    /// Judges a file with several names by what else it is called.
    pub(crate) fn check(
        &self,
        base: &Root,
        rule_of: impl Fn(&RelPath) -> Option<Rule>,
        file: &Metadata,
        access: Access,
    ) -> Result<(), Error> {
        let known = self.known_for(base, rule_of, file);
        match known.protected.get(&key(file)) {
            Some((Protection::ReadOnly, _)) if access == Access::Read => Ok(()),
            Some((_, pattern)) => Err(Error::refused(
                ErrorKind::Denied,
                "the file is protected under another of its names",
            )
            .because(ProtectedBy(pattern.clone()))),
            None if !known.complete => Err(Error::refused(
                ErrorKind::Denied,
                "the file has several names, and not all directories could be searched for a \
                 protected one",
            )
            .because(crate::error::Reason::Protected)),
            None => Ok(()),
        }
    }

    /// What is known, walked again if the file may have got a name since.
    fn known_for(
        &self,
        base: &Root,
        rule_of: impl Fn(&RelPath) -> Option<Rule>,
        file: &Metadata,
    ) -> Arc<NamesOfFile> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known
            && known.covers(file)
        {
            return Arc::clone(known);
        }
        let walked = Arc::new(NamesOfFile::find(base, rule_of, MAX_ENTRIES));
        *known = Some(Arc::clone(&walked));
        walked
    }

    /// How well they are known, in words.
    pub(crate) fn how_well(&self) -> &'static str {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(known) if !known.complete => {
                "not all directories could be searched for other names of protected files: files with \
                 several names are refused"
            }
            _ => {
                "files with several names are judged by all names that a walk found; a name in a \
                 directory that is moved meanwhile may be missed, and `hard_links = \"refuse\"` is certain"
            }
        }
    }
}

fn key(file: &Metadata) -> (u64, u64) {
    (file.identity.device, file.identity.inode)
}

impl NamesOfFile {
    /// Whether the walk is good enough for a file: giving a file a name changes its change time.
    fn covers(&self, file: &Metadata) -> bool {
        file.changed < self.begun
    }

    fn find(base: &Root, rule_of: impl Fn(&RelPath) -> Option<Rule>, entries: u64) -> Self {
        let mut found = Self {
            protected: BTreeMap::new(),
            complete: false,
            begun: Timestamp::from(SystemTime::now() - CLOCK_TICK),
        };
        found.walk(base, rule_of, entries);
        found
    }

    fn walk(&mut self, base: &Root, rule_of: impl Fn(&RelPath) -> Option<Rule>, entries: u64) {
        let limits = TreeLimits::new().with_entries(entries);
        let Ok(mut walk) = base.walk_with(&RelPath::root(), limits) else {
            return;
        };
        let wide = Limits::new().with_depth(usize::MAX).with_total(usize::MAX);
        let mut missed = false;
        loop {
            let entry = match walk.next_entry() {
                Ok(Some(entry)) => entry,
                Ok(None) => break,
                Err(error) if error.kind() == ErrorKind::Limit => return,
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
                missed = true;
                continue;
            };
            let Some(rule) = rule_of(&path) else {
                continue;
            };
            match entry.metadata() {
                // Also with one name: it may have lost the other one in this moment.
                Ok(object) => self.add(&object, &rule),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(_) => missed = true,
            }
        }
        self.complete = !missed;
    }

    /// The stricter of two rules stays.
    fn add(&mut self, object: &Metadata, rule: &Rule) {
        let protection = match rule.list {
            "deny" => Protection::Deny,
            _ => Protection::ReadOnly,
        };
        let said = self
            .protected
            .entry(key(object))
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
        let whole = NamesOfFile::find(&base, |_| None, 1000);
        let part = NamesOfFile::find(&base, |_| None, 10);
        above.remove_tree(&name).unwrap();
        assert!(whole.complete && !part.complete);
        let names = OtherNames::default();
        assert!(names.how_well().contains("all names"));
        *names.known.lock().unwrap() = Some(Arc::new(part));
        assert!(names.how_well().contains("not all"));
    }
}
