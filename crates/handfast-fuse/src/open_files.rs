//! Files and directories that programs have open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use handfast::files::{Attributes, FileHandle};
use handfast::{Metadata, Timestamp};

use crate::listing::Listing;

/// An open file.
pub(crate) struct OpenFile {
    pub(crate) number: u64,
    pub(crate) changes: bool,
    /// Another handle takes its place when the file is copied up while it is open.
    handle: RwLock<Arc<dyn FileHandle>>,
}

impl OpenFile {
    pub(crate) fn new(number: u64, changes: bool, handle: Box<dyn FileHandle>) -> Self {
        Self {
            number,
            changes,
            handle: RwLock::new(Arc::from(handle)),
        }
    }

    /// The same open file under another number.
    pub(crate) fn again(other: &Self) -> Self {
        Self {
            number: other.number,
            changes: other.changes,
            handle: RwLock::new(other.handle()),
        }
    }

    pub(crate) fn handle(&self) -> Arc<dyn FileHandle> {
        Arc::clone(&self.handle.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn replace(&self, handle: Box<dyn FileHandle>) {
        *self.handle.write().unwrap_or_else(PoisonError::into_inner) = Arc::from(handle);
    }
}

/// What the kernel may have cached of a file that is opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Cached {
    /// Nothing: it was never opened.
    Nothing,
    /// What it holds now.
    Same,
    /// What it held before.
    Other,
}

/// Everything that is open, by the number that the kernel uses for it.
#[derive(Default)]
pub(crate) struct OpenFiles {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    next: u64,
    files: HashMap<u64, Arc<OpenFile>>,
    /// The open files of each object.
    by_object: HashMap<u64, Vec<u64>>,
    dirs: HashMap<u64, Arc<Mutex<Listing>>>,
    /// What a file was when it was opened last, so that the kernel keeps what it has cached.
    seen: HashMap<u64, Metadata>,
    /// Mode and times that programs gave to files without a name, which are open for reading only.
    altered: HashMap<u64, AlteredFacts>,
}

/// What a program changed of a file that only open handles lead to. The file below may be one of the
/// base, which is never changed.
#[derive(Clone, Copy, Default)]
struct AlteredFacts {
    attributes: Attributes,
    changed: Option<Timestamp>,
}

impl Inner {
    fn add(&mut self, file: OpenFile) -> (u64, Cached) {
        let now = *file.handle().opened_metadata();
        self.next += 1;
        let id = self.next;
        let before = self.seen.insert(file.number, now);
        let facts = |of: &Metadata| (of.identity, of.len, of.modified, of.changed);
        let cached = match before {
            None => Cached::Nothing,
            Some(before) if facts(&before) == facts(&now) => Cached::Same,
            Some(_) => Cached::Other,
        };
        self.by_object.entry(file.number).or_default().push(id);
        self.files.insert(id, Arc::new(file));
        (id, cached)
    }
}

impl OpenFiles {
    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in an open file. What the kernel may have cached of it.
    pub(crate) fn add(&self, file: OpenFile) -> (u64, Cached) {
        self.inner().add(file)
    }

    /// The same for a file that is only read, unless another file is open under its number: the kernel
    /// has one cache for both. Then it comes back.
    pub(crate) fn add_reader(&self, file: OpenFile) -> Result<(u64, Cached), OpenFile> {
        let now = file.handle().opened_metadata().identity;
        let mut inner = self.inner();
        let is_it = |id: &u64| {
            inner.files.get(id).is_none_or(|other| {
                let held = other.handle();
                held.opened_metadata().identity.same_object(&now)
            })
        };
        let mut others = inner.by_object.get(&file.number).into_iter().flatten();
        match others.all(is_it) {
            true => Ok(inner.add(file)),
            false => Err(file),
        }
    }

    pub(crate) fn file(&self, id: u64) -> Option<Arc<OpenFile>> {
        self.inner().files.get(&id).cloned()
    }

    /// Keeps mode and times of a file without a name for as long as it is open.
    pub(crate) fn alter(&self, number: u64, attributes: &Attributes) {
        let mut inner = self.inner();
        let altered = inner.altered.entry(number).or_default();
        let old = &mut altered.attributes;
        old.mode = attributes.mode.or(old.mode);
        old.accessed = attributes.accessed.or(old.accessed);
        old.modified = attributes.modified.or(old.modified);
        altered.changed = Some(Timestamp::from(SystemTime::now()));
    }

    /// Facts of a file without a name, with what was changed.
    pub(crate) fn put_altered(&self, number: u64, facts: &mut Metadata) {
        let Some(altered) = self.inner().altered.get(&number).copied() else {
            return;
        };
        let AlteredFacts {
            attributes,
            changed,
        } = altered;
        if let Some(mode) = attributes.mode {
            facts.mode = facts.mode & !0o777 | mode & 0o777;
        }
        facts.accessed = attributes.accessed.unwrap_or(facts.accessed);
        facts.modified = attributes.modified.unwrap_or(facts.modified);
        facts.changed = changed.unwrap_or(facts.changed);
    }

    /// Every open file of an object.
    pub(crate) fn files_of(&self, number: u64) -> Vec<Arc<OpenFile>> {
        let inner = self.inner();
        let ids = inner.by_object.get(&number).map_or(&[][..], Vec::as_slice);
        let found = ids.iter().filter_map(|id| inner.files.get(id));
        found.cloned().collect()
    }

    pub(crate) fn close(&self, id: u64) -> Option<Arc<OpenFile>> {
        let mut inner = self.inner();
        let file = inner.files.remove(&id)?;
        if let Some(ids) = inner.by_object.get_mut(&file.number) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                inner.by_object.remove(&file.number);
                inner.altered.remove(&file.number);
            }
        }
        Some(file)
    }

    /// The kernel has forgotten an object.
    pub(crate) fn forget(&self, number: u64) {
        self.inner().seen.remove(&number);
    }

    pub(crate) fn add_dir(&self, listing: Listing) -> u64 {
        let mut inner = self.inner();
        inner.next += 1;
        let id = inner.next;
        inner.dirs.insert(id, Arc::new(Mutex::new(listing)));
        id
    }

    pub(crate) fn dir(&self, id: u64) -> Option<Arc<Mutex<Listing>>> {
        self.inner().dirs.get(&id).cloned()
    }

    pub(crate) fn close_dir(&self, id: u64) {
        self.inner().dirs.remove(&id);
    }
}
