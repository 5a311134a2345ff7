//! Copy-on-write over a directory of the host, kept on disk.
//!
//! An overlay's home holds a journal of changes to names ([`tree`]) and a store of files with new
//! content, named by number. Content is written to the store first; one record of the journal then
//! makes the change, whole. A process that is killed before that has changed nothing, and what is left in
//! the store without being named is removed later.
//!
//! Reading needs no lock: the journal is looked at (one system call) and read on if it grew.
//! Changing takes the home's lock, so several processes can work in one overlay.

mod attributes;
mod base;
mod change;
mod commit;
mod diff;
mod dir_times;
mod discard;
mod import;
mod items;
mod kernel_run;
mod keys;
mod links;
mod lock;
mod look;
mod lookup;
mod origin;
mod owner;
mod record;
mod remove;
mod rename;
mod sides;
mod snapshot;
mod store;
mod tree;
mod undo;
mod watch;

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use handfast::{Durability, Effect, ErrorKind, Limits, Metadata, RelPath, Root};

use crate::error::Error;
use crate::gate::{Gate, Locked};
use crate::layer::HiddenFile;
use crate::log::{Log, News};
use crate::meter::{Account, FileMeter, Hold, Temporary};
use crate::place::{Guard, LayerDir, ObjectKey, Spot};
use tree::{Change, NodeEntry, Now, Was};

pub(crate) use tree::{Tree, base_path};

pub(crate) use kernel_run::{KernelRun, make_left_removable, unsupported};
pub(crate) use keys::{DirHandle, FileKey};
pub(crate) use lock::PathLock;
pub(crate) use owner::Owner;
pub(crate) use sides::{FileSide, SideObject};
pub(crate) use store::{Source, fresh_id};

use commit::STAGING;
pub use commit::{CommitOptions, Finished, OnConflict, Shown};
pub(crate) use commit::{CommitReport, Conflict, How, Part};
pub(crate) use diff::DiffChange;
pub use diff::DiffKind;
pub(crate) use undo::Past;

/// Paths of the base may be as long as the base makes them.
pub(crate) const WIDE: Limits = Limits::new()
    .with_depth(usize::MAX)
    .with_total(usize::MAX)
    .with_segment(usize::MAX);

const JOURNAL: &str = "journal";
const OBJECTS: &str = "objects";
const SNAPSHOTS: &str = "snapshots";
/// What the last commits displaced.
const UNDO: &str = "undo";

/// Beyond this a journal is written again from its tree.
const COMPACT_AT: u64 = 8 << 20;

/// Device and inode number of an object, and when it was made.
type LastingIdentity = ((u64, u64), Option<handfast::Timestamp>);

/// An overlay over one directory.
pub(crate) struct Overlay {
    pub(crate) base: Root,
    /// Whether rules speak of files of the base: see [`crate::own_name`].
    is_judged: bool,
    home: Root,
    store: Root,
    gate: Gate<State>,
    account: Arc<Account>,
    /// The number of the mount in its session, for the account.
    mount: u32,
    /// What the umask leaves of all permission bits, once somebody has asked.
    umask: OnceLock<u32>,
    /// Facts of the home, for directories and links that exist in the journal only: device, owner, and
    /// times where none are known.
    template: OnceLock<Metadata>,
    /// How often another process was seen to change the journal.
    others: AtomicU64,
    /// What this process finished for others that were killed, and nobody has been told yet.
    finished: Mutex<Option<Finished>>,
}

/// What this process knows of the journal.
struct State {
    log: Log,
    tree: Tree,
    /// The journal's length when it was last written again.
    compacted: u64,
}

impl Overlay {
    /// Makes the home of a new, empty overlay in a directory.
    pub(crate) fn create(home: &Root) -> Result<(), Error> {
        home.create_dir_with(&RelPath::parse(OBJECTS)?, 0o700)?;
        home.create_dir_with(&RelPath::parse(SNAPSHOTS)?, 0o700)?;
        Log::create(home, JOURNAL, &[])
    }

    pub(crate) fn open(
        base: Root,
        home: Root,
        account: Arc<Account>,
        mount: u32,
    ) -> Result<Self, Error> {
        let store = home.open_dir(&RelPath::parse(OBJECTS)?)?.into_root();
        let state = State::open(&home)?;
        let overlay = Self {
            gate: Gate::new(Some(&home), state)?,
            base,
            is_judged: false,
            home,
            store,
            account,
            mount,
            umask: OnceLock::new(),
            template: OnceLock::new(),
            others: AtomicU64::new(0),
            finished: Mutex::new(None),
        };
        Ok(overlay)
    }

    /// The same over a base whose files are judged by their names.
    pub(crate) fn judged_by_names(mut self, is_judged: bool) -> Self {
        self.is_judged = is_judged;
        self
    }

    /// Cleans up after a process that died here, finishes a commit that was under way, and counts again.
    /// Nobody else may be at it: if somebody is, there is nothing to do.
    pub(crate) fn mend(&self) -> Result<(), Error> {
        let locked = self.begin()?;
        self.collect(&locked)?;
        self.recount(&locked)
    }

    /// A meter for an object that is open for writing.
    pub(crate) fn meter(&self, id: u64, len: u64) -> Result<Option<FileMeter>, Error> {
        self.account.meter(self.key(id), len)
    }

    /// Says that an object is open.
    pub(crate) fn hold(&self, id: u64) -> Option<Hold> {
        self.account.hold(self.key(id))
    }

    /// A file that nobody sees, charged for as long as it is there.
    pub(crate) fn scratch(&self) -> Result<(HiddenFile, Option<Temporary>), Error> {
        HiddenFile::new(&self.store, &RelPath::root(), &self.account, self.mount)
    }

    /// What the overlay uses: bytes and names.
    pub(crate) fn usage(&self) -> Result<(u64, u64), Error> {
        let names = self.with_tree(change::nodes_without_content)?;
        let mut bytes = 0;
        let mut inodes = names.len() as u64;
        let mut listing = self.store.read_dir(&RelPath::root())?;
        while let Some(entry) = listing.next_entry()? {
            match entry.metadata() {
                Ok(status) => {
                    bytes += status.len;
                    inodes += 1;
                }
                Err(error) if error.kind() == handfast::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok((bytes, inodes))
    }

    /// Looks at the tree, after reading what others wrote.
    fn with_tree<T>(&self, look: impl FnOnce(&Tree) -> T) -> Result<T, Error> {
        let mut state = self.gate.peek();
        match state.log.news()? {
            News::None => {}
            News::More => {
                state.catch_up(false)?;
                self.count_others();
            }
            News::Replaced => {
                *state = State::open(&self.home)?;
                self.count_others();
            }
        }
        Ok(look(&state.tree))
    }

    /// Where a spot is now, in the tree.
    fn path_of(&self, tree: &Tree, spot: Spot<'_>) -> Result<RelPath, Error> {
        let path = match spot.dir {
            LayerDir::Top => spot.rest.clone(),
            LayerDir::Overlay(dir) => tree
                .path_of(dir)?
                .join(spot.rest)
                .with_must_be_dir(spot.rest.must_be_dir()),
            LayerDir::Direct(_) => {
                return Err(Error::refused(
                    ErrorKind::Invalid,
                    "the handle belongs to another mount",
                ));
            }
        };
        if let Some(ObjectKey::Overlay(expected)) = spot.expected
            && tree.file_key(&path).as_ref() != Some(expected)
        {
            return Err(Error::refused(
                ErrorKind::Raced,
                "the name leads to another object by now",
            ));
        }
        // A directory that is held may be seen elsewhere by now, under other rules.
        if let (Some(guard), LayerDir::Overlay(_)) = (spot.guard, spot.dir) {
            guard.check_in(&path, tree)?;
        }
        // A name that was allowed because the session made it must still be one.
        if spot.must_own && tree.owner(&path) != Owner::Session {
            return Err(Error::refused(
                ErrorKind::Raced,
                "the name leads to another object by now",
            ));
        }
        Ok(path)
    }

    /// Which file or link a spot leads to.
    pub(crate) fn key_of(&self, spot: Spot<'_>) -> Result<Option<FileKey>, Error> {
        self.with_tree(|tree| {
            let path = self.path_of(tree, spot)?;
            Ok(tree.file_key(&path))
        })?
    }

    /// Whether the overlay has content of its own for a name.
    pub(crate) fn is_copy(&self, spot: Spot<'_>) -> Result<bool, Error> {
        self.with_tree(|tree| {
            let path = self.path_of(tree, spot)?;
            Ok(tree.object(path.as_bytes()).is_some())
        })?
    }

    /// The file of the base that a changed file was, as the base has it now.
    pub(crate) fn base_file_of(&self, spot: Spot<'_>) -> Result<Option<handfast::Metadata>, Error> {
        let at = self.with_tree(|tree| {
            let path = self.path_of(tree, spot)?;
            Ok::<_, Error>(match tree.entry(path.as_bytes()) {
                Some(NodeEntry {
                    was,
                    now: Now::File(file),
                }) => match (&file.origin, was) {
                    (Some((at, _)), _) => Some(at.clone()),
                    (None, Was::File(_)) => tree.base_of(path.as_bytes()),
                    (None, _) => None,
                },
                _ => None,
            })
        })??;
        let Some(at) = at else {
            return Ok(None);
        };
        let found = self.base.symlink_metadata(&tree::base_path(&at)?);
        Ok(found.ok().filter(|file| file.is_file()))
    }

    /// What tells a file of the overlay from others for as long as the session lasts: which object of
    /// the base it is, or its number.
    pub(crate) fn lasting_identity(&self, key: &FileKey) -> Option<LastingIdentity> {
        match key {
            FileKey::Own(id) => Some(((0, *id), None)),
            FileKey::Base(at) => {
                let identity = self.base.symlink_metadata(at).ok()?.identity;
                Some(((identity.device, identity.inode), identity.born))
            }
        }
    }

    /// Where a spot is, once our turn has come, and whether the guard allows it there.
    fn judged(
        &self,
        locked: &Locked<'_, State>,
        spot: Spot<'_>,
        guard: &Guard<'_>,
    ) -> Result<RelPath, Error> {
        let path = self.path_of(&locked.state().tree, spot)?;
        guard.check(&path)?;
        Ok(path)
    }

    /// Takes our turn: nobody else changes anything until it is dropped. A commit that somebody
    /// began and did not live to end is ended first, and what a run left is imported.
    fn begin(&self) -> Result<Locked<'_, State>, Error> {
        let locked = self.lock()?;
        if locked.state().tree.committing.is_some() {
            self.finish_commit(&locked)?;
        }
        self.finish_part(&locked)?;
        self.finish_kernel_run(&locked)?;
        Ok(locked)
    }

    fn lock(&self) -> Result<Locked<'_, State>, Error> {
        let locked = self.gate.lock()?;
        {
            let mut state = locked.state();
            let news = state.log.news()?;
            if news == News::Replaced {
                *state = State::open(&self.home)?;
            }
            state.catch_up(true)?;
            if news != News::None {
                self.count_others();
            }
        }
        Ok(locked)
    }

    /// Waits until what was recorded is on the disk, as far as somebody asked for that.
    fn sync_journal(
        &self,
        locked: &Locked<'_, State>,
        durability: Durability,
    ) -> Result<(), Error> {
        match durability {
            Durability::None => Ok(()),
            Durability::File | Durability::Full => locked.state().log.sync(),
        }
    }

    /// Makes changes, as a whole.
    fn record(&self, locked: &Locked<'_, State>, changes: Vec<Change>) -> Result<(), Error> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut state = locked.state();
        let record = record::write(&changes);
        state.log.append(&record)?;
        state.tree.set_clock(SystemTime::now());
        for change in changes {
            state.tree.apply(change)?;
        }
        let is_settled = state.tree.committing.is_none() && state.tree.part.is_none();
        if state.log.len() > COMPACT_AT + 2 * state.compacted && is_settled {
            let records = record::of_tree(&state.tree);
            match Log::replace(&self.home, JOURNAL, &records) {
                // The change is made. A journal that there is no space to write again stays as long as it is.
                Err(error) if error.effect() == Effect::None => {}
                replaced => {
                    replaced?;
                    *state = State::open(&self.home)?;
                }
            }
        }
        Ok(())
    }
}

impl State {
    fn open(home: &Root) -> Result<Self, Error> {
        let mut state = Self {
            log: Log::open(home, JOURNAL)?,
            tree: Tree::new(),
            compacted: 0,
        };
        state.catch_up(false)?;
        state.compacted = state.log.len();
        Ok(state)
    }

    fn catch_up(&mut self, locked: bool) -> Result<(), Error> {
        let Self { log, tree, .. } = self;
        tree.set_clock(SystemTime::now());
        log.catch_up(locked, |bytes| {
            for change in record::read(bytes)? {
                tree.apply(change)?;
            }
            Ok(())
        })
    }
}

impl fmt::Debug for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overlay")
            .field("base", &self.base.identity())
            .finish_non_exhaustive()
    }
}
