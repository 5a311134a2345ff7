//! What all requests share: from the kernel's numbers to handles.

use std::ffi::OsStr;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use fuser::{Errno, FileAttr, Notifier};
use handfast::files::{At, Files, Node};
use handfast::{Error, ErrorKind, FileKind, Metadata, NameRef};

use crate::askers::Askers;
use crate::attr::attr;
use crate::errno::errno;
use crate::open_files::OpenFiles;
use crate::set_ids::SetIds;
use crate::specials::Specials;
use crate::table::{ContentFacts, KnownNumber, TOP, Table, is_replaced};
use crate::threads::{BusyThread, ServerThreads};
use crate::waiting::{self, Names};
use crate::watch::Watch;

/// How long a change waits for somebody who commits.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the kernel believes what it was told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CacheTimes {
    /// That a name leads to an object, or to nothing.
    pub names: Duration,
    /// Facts about an object.
    pub facts: Duration,
    /// Both, where changes that are made past the mount are told at once: see [`Face::watching`].
    pub watched: Duration,
}

impl Default for CacheTimes {
    /// One second: so late is a change seen that somebody makes past the mount. A minute where it is
    /// watched.
    fn default() -> Self {
        Self {
            names: Duration::from_secs(1),
            facts: Duration::from_secs(1),
            watched: Duration::from_secs(60),
        }
    }
}

/// Files as the kernel sees them.
pub struct Face {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) times: CacheTimes,
    pub(crate) open: OpenFiles,
    pub(crate) watch: Option<Arc<Watch>>,
    pub(crate) table: Arc<Mutex<Table>>,
    pub(crate) names: Arc<Names>,
    /// Tells the kernel what it does not ask for. Nothing until the mount is served.
    pub(crate) notifier: Arc<OnceLock<Notifier>>,
    /// Whether a file that the kernel does not cache can be mapped all the same (Linux 6.6).
    pub(crate) can_read_past_the_cache: bool,
    /// One request at a time gives content to the kernel, see [`crate::fill`].
    pub(crate) filling: Mutex<()>,
    /// Which threads wait for requests.
    pub(crate) turns: Arc<ServerThreads>,
    pub(crate) set_ids: SetIds,
    /// So many requests may wait for a person.
    pub(crate) waiting: usize,
    askers: Askers,
    /// FIFOs and sockets, if the mount keeps any.
    pub(crate) specials: Option<Specials>,
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
            watch: None,
            table: Arc::new(Mutex::new(Table::new(top))),
            names: Arc::default(),
            notifier: Arc::default(),
            can_read_past_the_cache: false,
            filling: Mutex::default(),
            turns: ServerThreads::new(0),
            set_ids: SetIds::default(),
            waiting: 0,
            askers: Askers::default(),
            specials: None,
        })
    }

    /// With other cache times.
    #[must_use]
    pub fn cache_times(mut self, times: CacheTimes) -> Self {
        self.times = times;
        self
    }

    /// Watches the directories that programs look at, so that the kernel may cache for long what lies
    /// in them. Changes that are made past the mount are told to it at once; those by another process
    /// of the same session within half a second. Where nothing can be watched, nothing is cached for
    /// long.
    #[must_use]
    pub fn watching(mut self) -> Self {
        self.watch = Watch::new().ok().map(Arc::new);
        self
    }

    /// Lets programs make FIFOs and sockets. They are kept for as long as the mount lasts; the files
    /// hear nothing of them.
    #[must_use]
    pub fn with_fifos_and_sockets(mut self) -> Self {
        self.specials = Some(Specials::default());
        self
    }

    /// Goes on with other requests while so many wait for a person. The files have to call
    /// [`request_waits`](crate::request_waits) and [`request_goes_on`](crate::request_goes_on) around
    /// each wait.
    #[must_use]
    pub fn with_room_for_waiting(mut self, requests: usize) -> Self {
        self.waiting = requests;
        self
    }

    pub(crate) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel has heard facts of an object: to be called after the answer.
    pub(crate) fn heard(&self, attr: &FileAttr, number: u64) {
        self.table().heard(number, ContentFacts::from(attr));
    }

    /// As [`Face::heard`], of many objects.
    pub(crate) fn all_heard(&self, attrs: &[FileAttr]) {
        let mut table = self.table();
        for attr in attrs {
            table.heard(attr.ino.0, ContentFacts::from(attr));
        }
    }

    /// Whether changes of a directory are told.
    pub(crate) fn is_watched(&self, dir: u64) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.has(dir))
    }

    /// How long the kernel believes that a name of a directory leads to nothing.
    pub(crate) fn absent_time(&self, dir: u64, name: &OsStr) -> Duration {
        let name = name.as_encoded_bytes();
        let watch = self.watch.as_ref();
        match watch.is_some_and(|watch| watch.keep_absent(dir, name)) {
            true => self.times.watched,
            false => self.times.names,
        }
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

    /// The FIFO or socket that has a number.
    pub(crate) fn special(&self, number: u64) -> Option<(&Specials, FileAttr)> {
        let specials = self.specials.as_ref()?;
        Some((specials, specials.attr(number)?))
    }

    /// Forgets what the kernel forgot.
    pub(crate) fn forget(&self, number: u64, times: u64) {
        if let Some((specials, _)) = self.special(number) {
            return specials.forget(number, times);
        }
        let mut table = self.table();
        table.forget(number, times);
        let gone = table.take_gone();
        drop(table);
        for number in gone {
            self.open.forget(number);
            if let Some(watch) = &self.watch {
                watch.drop_dir(number);
            }
        }
    }

    /// The face for a process that asks.
    pub(crate) fn asked_by(&self, pid: u32) -> Asked<'_> {
        waiting::set_asking_process(pid);
        Asked {
            face: self,
            files: self.askers.files(&self.files, pid),
            _turn: self.turns.begin(),
        }
    }
}

/// A face, and the files as they are for the process that asks.
pub(crate) struct Asked<'a> {
    face: &'a Face,
    pub(crate) files: Arc<dyn Files>,
    _turn: BusyThread<'a>,
}

impl Deref for Asked<'_> {
    type Target = Face;

    fn deref(&self) -> &Face {
        self.face
    }
}

impl Asked<'_> {
    pub(crate) fn seen(&self, number: u64) -> Result<KnownNumber, Errno> {
        self.table().get(number).ok_or(Errno::ESTALE)
    }

    /// The handle behind a number.
    pub(crate) fn node(&self, number: u64) -> Result<Node, Errno> {
        if let Some(node) = self.table().fresh(number) {
            return Ok(node);
        }
        let seen = self.seen(number)?;
        self.look_again(number, seen)
    }

    /// Looks a known name up again: a directory above was renamed, or the object was committed.
    pub(crate) fn look_again(&self, number: u64, seen: KnownNumber) -> Result<Node, Errno> {
        let Some((dir, name)) = seen.place else {
            // A directory that was removed has no names. The kernel looks nothing up again.
            return Err(match seen.node.kind() {
                FileKind::Dir => Errno::ENOENT,
                _ => Errno::ESTALE,
            });
        };
        let dir = self.node(dir)?;
        let name = name.as_ref();
        let node = self.files.lookup(&dir, name).map_err(|error| {
            let at = At { dir: &dir, name };
            self.files.record_refused_look(at, &error);
            errno(&error)
        })?;
        // A directory that was committed is another one to its layer, and the same to a program
        // that works in it.
        let both_dirs = node.kind() == FileKind::Dir && seen.node.kind() == FileKind::Dir;
        if !both_dirs && !node.is_same(&seen.node) {
            return Err(Errno::ESTALE);
        }
        let mut table = self.table();
        if is_replaced(&seen.node, &node) && table.is_open(number) {
            return Err(Errno::ESTALE);
        }
        table.renew(number, node.clone());
        drop(table);
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
            return match seen.node.kind() {
                // A program may still have it as its working directory.
                FileKind::Dir => {
                    let mut metadata = *seen.node.metadata();
                    metadata.nlink = 0;
                    Ok(metadata)
                }
                _ => self.metadata_of_open(number),
            };
        }
        match self.on_node(number, |node| self.files.metadata_of(node)) {
            // Another process of the session may have removed the name.
            Err(Errno::ESTALE | Errno::ENOENT) => self.metadata_of_open(number),
            // A person may have put another file under the name. Who has the old one open asks about
            // that; the kernel hears from the watch that the name leads elsewhere.
            Ok(now) if self.is_left(&seen.node, number, &now) => self.metadata_of_open(number),
            done => done,
        }
    }

    /// Whether a name of the base leads to another file by now than the one that is open under a
    /// number.
    fn is_left(&self, node: &Node, number: u64, now: &Metadata) -> bool {
        let old = node.metadata().identity;
        node.is_watched_with_its_directory()
            && !now.is_dir()
            && !now.identity.same_object(&old)
            && self.open.files_of(number).iter().any(|file| {
                let held = file.handle();
                held.opened_metadata().identity.same_object(&old)
            })
    }

    fn metadata_of_open(&self, number: u64) -> Result<Metadata, Errno> {
        let open = self.open.files_of(number);
        let file = open.iter().find(|file| file.changes).or(open.first());
        let file = file.ok_or(Errno::ESTALE)?;
        let mut metadata = file.handle().metadata().map_err(|error| errno(&error))?;
        metadata.nlink = 0;
        self.open.put_altered(number, &mut metadata);
        Ok(metadata)
    }

    pub(crate) fn attr(&self, number: u64) -> Result<FileAttr, Errno> {
        let metadata = self.metadata(number)?;
        Ok(self.attr_of(number, &metadata))
    }

    /// As [`Face::attr`], and how long it is believed.
    pub(crate) fn attr_for(&self, number: u64) -> Result<(FileAttr, Duration), Errno> {
        if let Some((_, attr)) = self.special(number) {
            return Ok((attr, self.times.facts));
        }
        // What is watched after the look may have changed before.
        let (parent, was_watched) = (self.table().parent(number), self.is_watched(number));
        let in_watched = parent.is_some_and(|dir| self.is_watched(dir));
        let metadata = self.metadata(number)?;
        let is_told = match metadata.is_dir() {
            true => was_watched,
            false => {
                let node = self.table().fresh(number);
                in_watched && node.is_some_and(|node| is_told_by_name(&node, &metadata))
            }
        };
        let time = match is_told {
            true => self.times.watched,
            false => self.times.facts,
        };
        Ok((self.attr_of(number, &metadata), time))
    }

    /// Watches a directory before something in it is looked up. Whether its changes are told.
    pub(crate) fn watch_dir(&self, number: u64) -> bool {
        let Some(watch) = &self.watch else {
            return false;
        };
        if watch.has(number) {
            return true;
        }
        let found = self.on_node(number, |dir| self.files.watchable(dir));
        found.is_ok_and(|found| watch.add(number, &found))
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
                waiting::request_waits();
                std::thread::sleep(Duration::from_millis(20));
                waiting::request_goes_on();
            }
            done => return done,
        }
    }
}

/// Whether every change of a file is told to who watches its directory. A file with several names may
/// be changed through one that lies elsewhere; and a file that was copied up holds its content
/// elsewhere.
pub(crate) fn is_told_by_name(node: &Node, now: &Metadata) -> bool {
    node.is_watched_with_its_directory()
        && now.nlink == 1
        && now.identity.same_object(&node.metadata().identity)
}

/// Whether the object is not under its name any more.
fn leads_elsewhere(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Raced | ErrorKind::Stale | ErrorKind::NotFound
    )
}

/// A name from the kernel. It never sends `.`, `..` or a slash; a name that is too long is an error.
pub(crate) fn name(text: &OsStr) -> Result<NameRef<'_>, Errno> {
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
