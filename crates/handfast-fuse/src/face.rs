//! What all requests share: from the kernel's numbers to handles.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use fuser::{Errno, FileAttr};
use handfast::files::{Files, Node};
use handfast::{Error, ErrorKind, FileKind, Metadata, NameRef};

use crate::attr::attr;
use crate::errno::errno;
use crate::open_files::OpenFiles;
use crate::table::{Seen, TOP, Table};

/// How long a change waits for somebody who commits.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the kernel believes what it was told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CacheTimes {
    /// That a name leads to an object, or to nothing.
    pub names: Duration,
    /// Facts about an object.
    pub facts: Duration,
}

impl Default for CacheTimes {
    /// One second: so late is a change seen that somebody makes past the mount.
    fn default() -> Self {
        Self {
            names: Duration::from_secs(1),
            facts: Duration::from_secs(1),
        }
    }
}

/// Files as the kernel sees them.
pub struct Face {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) times: CacheTimes,
    pub(crate) open: OpenFiles,
    table: Mutex<Table>,
    /// Held for writing while a name is taken away or moved: between the look at a name and the
    /// note of what it led to, no rename may happen. The kernel asks about names that it has cached
    /// without its own lock.
    pub(crate) moving: RwLock<()>,
}

impl Face {
    /// Shows what lies below a directory.
    ///
    /// # Errors
    /// `NotADirectory` if it is something else.
    pub fn new(files: Arc<dyn Files>, top: Node) -> Result<Self, Error> {
        if top.kind() != FileKind::Dir {
            return Err(Error::refused(ErrorKind::NotADirectory, ""));
        }
        Ok(Self {
            files,
            times: CacheTimes::default(),
            open: OpenFiles::default(),
            table: Mutex::new(Table::new(top)),
            moving: RwLock::new(()),
        })
    }

    /// With other cache times.
    #[must_use]
    pub fn cache_times(mut self, times: CacheTimes) -> Self {
        self.times = times;
        self
    }

    pub(crate) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn seen(&self, number: u64) -> Result<Seen, Errno> {
        self.table().get(number).ok_or(Errno::ESTALE)
    }

    /// The handle behind a number.
    pub(crate) fn node(&self, number: u64) -> Result<Node, Errno> {
        let seen = self.seen(number)?;
        match seen.is_fresh {
            true => Ok(seen.node),
            false => self.look_again(number, seen),
        }
    }

    /// Looks a known name up again: a directory above was renamed, or the object was committed.
    fn look_again(&self, number: u64, seen: Seen) -> Result<Node, Errno> {
        let Some((dir, name)) = seen.place else {
            return Err(Errno::ESTALE);
        };
        let dir = self.node(dir)?;
        let found = self.files.lookup(&dir, name.as_ref());
        let node = found.map_err(|error| errno(&error))?;
        // A directory that was committed is another one to its layer, and the same to a program
        // that works in it.
        let both_dirs = node.kind() == FileKind::Dir && seen.node.kind() == FileKind::Dir;
        if !both_dirs && !node.is_same(&seen.node) {
            return Err(Errno::ESTALE);
        }
        self.table().renew(number, node.clone());
        Ok(node)
    }

    /// Does something with a handle. Where the name leads elsewhere by now, it is looked up once
    /// more: the kernel hears of it only if that is another object.
    pub(crate) fn on_node<T>(
        &self,
        number: u64,
        act: impl Fn(&Node) -> Result<T, Error>,
    ) -> Result<T, Errno> {
        self.on_node_with(number, act, errno)
    }

    /// As [`Face::on_node`], with numbers for errors of one's own.
    pub(crate) fn on_node_with<T>(
        &self,
        number: u64,
        act: impl Fn(&Node) -> Result<T, Error>,
        told: impl Fn(&Error) -> Errno,
    ) -> Result<T, Errno> {
        let node = self.node(number)?;
        match patiently(|| act(&node)) {
            Err(error) if number != TOP && leads_elsewhere(&error) => {
                let seen = self.seen(number)?;
                let node = self.look_again(number, seen)?;
                patiently(|| act(&node)).map_err(|error| told(&error))
            }
            done => done.map_err(|error| told(&error)),
        }
    }

    /// What an object is now. A file without a name is asked through its open handle.
    pub(crate) fn metadata(&self, number: u64) -> Result<Metadata, Errno> {
        let seen = self.seen(number)?;
        if number != TOP && seen.place.is_none() {
            return self.metadata_of_open(number);
        }
        match self.on_node(number, |node| self.files.metadata_of(node)) {
            // Another process of the session may have removed the name.
            Err(Errno::ESTALE | Errno::ENOENT) => self.metadata_of_open(number),
            done => done,
        }
    }

    fn metadata_of_open(&self, number: u64) -> Result<Metadata, Errno> {
        let open = self.open.files_of(number);
        let file = open.iter().find(|file| file.changes).or(open.first());
        let file = file.ok_or(Errno::ESTALE)?;
        let mut metadata = file.handle().metadata().map_err(|error| errno(&error))?;
        metadata.nlink = 0;
        Ok(metadata)
    }

    pub(crate) fn attr(&self, number: u64) -> Result<FileAttr, Errno> {
        let metadata = self.metadata(number)?;
        Ok(self.attr_of(number, &metadata))
    }

    /// Facts with the number that programs see: the kernel's own number of the top means nothing to
    /// them, so they see the base's.
    pub(crate) fn attr_of(&self, number: u64, metadata: &Metadata) -> FileAttr {
        let shown = match (number, metadata.identity.inode) {
            (TOP, own) if own != 0 => own,
            (number, _) => number,
        };
        attr(shown, metadata)
    }

    /// Forgets what the kernel forgot.
    pub(crate) fn forget(&self, number: u64, times: u64) {
        let mut table = self.table();
        table.forget(number, times);
        if table.get(number).is_none() {
            self.open.forget(number);
        }
    }
}

/// Does something, and again while somebody else commits. Nothing was changed by then.
pub(crate) fn patiently<T>(act: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    let begun = Instant::now();
    loop {
        match act() {
            Err(error)
                if error.kind() == ErrorKind::Busy
                    && error.effect() == handfast::Effect::None
                    && begun.elapsed() < BUSY_TIMEOUT =>
            {
                std::thread::sleep(Duration::from_millis(20));
            }
            done => return done,
        }
    }
}

/// Whether the object is not under its name any more.
fn leads_elsewhere(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Raced | ErrorKind::Stale | ErrorKind::NotFound
    )
}

/// A name from the kernel. It never sends `.`, `..` or a slash; a name that is too long is an error.
pub(crate) fn name(text: &std::ffi::OsStr) -> Result<NameRef<'_>, Errno> {
    use std::os::unix::ffi::OsStrExt;
    NameRef::parse(text.as_bytes()).map_err(|error| errno(&error))
}

impl fmt::Debug for Face {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Face")
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}
