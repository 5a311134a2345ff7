//! Directories of the host that are watched, so that the kernel may cache names for long.
//!
//! A directory is watched before anything in it is looked up: what changes after the look is told.
//! What cannot be watched has the usual short cache times.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use handfast::files::Watchable;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

/// Everything that changes a directory, its entries or what they hold.
const CHANGES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// So many directories are watched at most, and never more than a quarter of what the user may:
/// editors need some too.
const MAX_WATCHES: usize = 65_536;

/// So many names that lead to nothing are kept in mind. Beyond that, they are cached for a short time.
const MAX_ABSENT: usize = 100_000;

/// The directories that are watched.
pub(crate) struct Watch {
    inotify: OwnedFd,
    watched: Mutex<Watched>,
    /// Whether a directory could not be watched.
    is_short: AtomicBool,
}

#[derive(Default)]
struct Watched {
    /// By the kernel's number of a directory. Nothing if there is nothing to watch: only the files
    /// themselves change it.
    by_number: HashMap<u64, Option<i32>>,
    by_watch: BTreeMap<i32, Vec<u64>>,
    limit: usize,
    /// Names that the kernel was told lead to nothing: it keeps them as it keeps others.
    absent: HashMap<u64, BTreeSet<Vec<u8>>>,
    absent_names: usize,
}

impl Watch {
    pub(crate) fn new() -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self {
            inotify,
            watched: Mutex::new(Watched {
                limit: limit().min(MAX_WATCHES),
                ..Watched::default()
            }),
            is_short: AtomicBool::new(false),
        })
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.inotify)
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether changes to a directory are told.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.watched().by_number.contains_key(&number)
    }

    /// Whether some directory could not be watched.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short.load(Ordering::Relaxed)
    }

    /// Watches a directory from now on. Whether its changes are told.
    pub(crate) fn add(&self, number: u64, what: &Watchable) -> bool {
        let mut watched = self.watched();
        if watched.by_number.contains_key(&number) {
            return true;
        }
        let directory = match what {
            Watchable::Unknown => return false,
            Watchable::Nothing => {
                watched.by_number.insert(number, None);
                return true;
            }
            Watchable::Dir(directory) => directory,
        };
        if watched.by_watch.len() >= watched.limit {
            self.is_short.store(true, Ordering::Relaxed);
            return false;
        }
        // The descriptor itself is watched: no name is looked up.
        let here = format!("/proc/self/fd/{}", directory.as_raw_fd());
        match inotify::add_watch(&self.inotify, here, CHANGES) {
            Ok(watch) => {
                watched.by_number.insert(number, Some(watch));
                watched.by_watch.entry(watch).or_default().push(number);
                true
            }
            Err(errno) => {
                // Otherwise it is gone, or may not be read: what is looked up in it says so.
                if matches!(errno, Errno::NOSPC | Errno::NOMEM) {
                    self.is_short.store(true, Ordering::Relaxed);
                }
                false
            }
        }
    }

    /// The directories that an event is about.
    pub(crate) fn numbers(&self, watch: i32) -> Vec<u64> {
        let watched = self.watched();
        watched.by_watch.get(&watch).cloned().unwrap_or_default()
    }

    /// The directory of a watch is gone, or lies elsewhere.
    pub(crate) fn lose(&self, watch: i32) {
        let mut watched = self.watched();
        for number in watched.by_watch.remove(&watch).unwrap_or_default() {
            watched.by_number.remove(&number);
        }
        drop(watched);
        let _ = inotify::remove_watch(&self.inotify, watch);
    }

    /// Keeps in mind that the kernel is told that a name leads to nothing. Whether it will be told
    /// otherwise.
    pub(crate) fn keep_absent(&self, dir: u64, name: &[u8]) -> bool {
        let mut watched = self.watched();
        if !watched.by_number.contains_key(&dir) {
            return false;
        }
        let is_full = watched.absent_names >= MAX_ABSENT;
        let names = watched.absent.entry(dir).or_default();
        if names.contains(name) {
            return true;
        }
        if is_full {
            return false;
        }
        names.insert(name.to_vec());
        watched.absent_names += 1;
        true
    }

    /// The names of a directory that the kernel may take for missing.
    pub(crate) fn absent_in(&self, dir: u64) -> Vec<Vec<u8>> {
        let watched = self.watched();
        let names = watched.absent.get(&dir);
        names.map_or_else(Vec::new, |names| names.iter().cloned().collect())
    }

    /// The kernel knows a directory no longer.
    pub(crate) fn drop_dir(&self, number: u64) {
        let mut watched = self.watched();
        if let Some(names) = watched.absent.remove(&number) {
            watched.absent_names -= names.len();
        }
        drop(watched);
        self.forget(number);
    }

    /// A directory may be another one from now on, or is of no interest any more.
    pub(crate) fn forget(&self, number: u64) {
        let mut watched = self.watched();
        let Some(Some(watch)) = watched.by_number.remove(&number) else {
            return;
        };
        if let Some(numbers) = watched.by_watch.get_mut(&watch) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                watched.by_watch.remove(&watch);
                let _ = inotify::remove_watch(&self.inotify, watch);
            }
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

/// A quarter of what the user may watch.
#[allow(
    clippy::disallowed_methods,
    reason = "a file of the kernel, by the only path it has"
)]
fn limit() -> usize {
    let text = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
    let most = text.ok().and_then(|text| text.trim().parse::<usize>().ok());
    most.unwrap_or(8192) / 4
}
