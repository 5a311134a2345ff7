//! What callers have read of files, so that nobody replaces a file of which they know only a part.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use handfast::Version;
use handfast_session::VirtualPath;

use crate::callers;

/// How many files are remembered in all. For the next one, the caller with the most forgets the one that it read first.
const MOST: usize = 1024;

/// How many separate parts of one file are remembered.
const MOST_PARTS: usize = 64;

/// What is known of the files that were read.
#[derive(Debug, Default)]
pub(crate) struct ReadFiles {
    files: Mutex<VecDeque<SeenFile>>,
}

#[derive(Debug)]
struct SeenFile {
    caller: String,
    path: VirtualPath,
    /// The version that was seen, if one was told.
    version: Option<Version>,
    /// From byte to byte, in order and apart; all of it once `whole` is set.
    parts: Vec<(u64, u64)>,
    whole: bool,
}

/// A part of a file that is shown to a caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) len: u64,
    pub(crate) version: Option<Version>,
}

impl ReadFiles {
    /// A part of a file was shown.
    pub(crate) fn part(&self, caller: &str, path: &VirtualPath, shown: Shown) {
        self.with(caller, path, |file| {
            if !same(file.version.as_ref(), shown.version.as_ref()) {
                file.parts.clear();
                file.whole = false;
            }
            file.version = shown.version;
            if !file.whole {
                file.parts.push((shown.from, shown.to));
                merge(&mut file.parts);
                file.whole = matches!(file.parts[..], [(0, to)] if to >= shown.len)
                    && shown.version.is_some();
            }
        });
    }

    /// The caller knows all of a file: it was read, or written, as a whole.
    pub(crate) fn whole(&self, caller: &str, path: &VirtualPath, version: Option<Version>) {
        self.with(caller, path, |file| {
            file.version = version;
            file.whole = true;
        });
    }

    /// The caller changed a passage: it knows as much as before.
    pub(crate) fn edited(&self, caller: &str, path: &VirtualPath, now: Option<Version>) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let known = files
            .iter_mut()
            .find(|file| file.caller == caller && file.path == *path);
        if let Some(file) = known {
            file.version = now;
        }
    }

    /// Whether the caller knows only a part of a file that it is about to replace.
    pub(crate) fn only_a_part(&self, caller: &str, path: &VirtualPath) -> bool {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let known = files
            .iter()
            .find(|file| file.caller == caller && file.path == *path);
        known.is_some_and(|file| !file.whole)
    }

    fn with(&self, caller: &str, path: &VirtualPath, change: impl FnOnce(&mut SeenFile)) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let at = files
            .iter()
            .position(|file| file.caller == caller && file.path == *path);
        let mut file = at
            .and_then(|at| files.remove(at))
            .unwrap_or_else(|| SeenFile {
                caller: caller.to_owned(),
                path: path.clone(),
                version: None,
                parts: Vec::new(),
                whole: false,
            });
        change(&mut file);
        if files.len() == MOST {
            let kept = files
                .iter()
                .map(|file| (callers::caller_of(&file.caller), 1));
            let first = callers::first_of_the_largest(kept, (callers::caller_of(caller), 1));
            first.and_then(|first| files.remove(first));
        }
        files.push_back(file);
    }
}

fn same(one: Option<&Version>, other: Option<&Version>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.differs_from(other).is_none(),
        (None, None) => true,
        _ => false,
    }
}

/// Joins parts that touch.
fn merge(parts: &mut Vec<(u64, u64)>) {
    parts.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (from, to) in parts.drain(..) {
        match joined.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => joined.push((from, to)),
        }
    }
    joined.truncate(MOST_PARTS);
    *parts = joined;
}
