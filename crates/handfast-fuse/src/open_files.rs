//! Files and directories that programs have open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use handfast::Metadata;
use handfast::files::FileHandle;

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

    pub(crate) fn handle(&self) -> Arc<dyn FileHandle> {
        Arc::clone(&self.handle.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn replace(&self, handle: Box<dyn FileHandle>) {
        *self.handle.write().unwrap_or_else(PoisonError::into_inner) = Arc::from(handle);
    }
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
    dirs: HashMap<u64, Arc<Mutex<Listing>>>,
    /// What a file was when it was opened last, so that the kernel keeps what it has cached.
    seen: HashMap<u64, Metadata>,
}

impl OpenFiles {
    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in an open file. Whether its content is what it was when it was opened last.
    pub(crate) fn add(&self, file: OpenFile) -> (u64, bool) {
        let now = *file.handle().opened_metadata();
        let mut inner = self.inner();
        inner.next += 1;
        let id = inner.next;
        let before = inner.seen.insert(file.number, now);
        let is_same = before.is_some_and(|before| {
            (before.identity, before.len, before.modified, before.changed)
                == (now.identity, now.len, now.modified, now.changed)
        });
        inner.files.insert(id, Arc::new(file));
        (id, is_same)
    }

    pub(crate) fn file(&self, id: u64) -> Option<Arc<OpenFile>> {
        self.inner().files.get(&id).cloned()
    }

    /// Every open file of an object.
    pub(crate) fn files_of(&self, number: u64) -> Vec<Arc<OpenFile>> {
        let inner = self.inner();
        let found = inner.files.values().filter(|file| file.number == number);
        found.cloned().collect()
    }

    pub(crate) fn close(&self, id: u64) -> Option<Arc<OpenFile>> {
        self.inner().files.remove(&id)
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
