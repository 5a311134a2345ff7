//! Runs over the kernel's own overlay filesystem: where their changes are kept meanwhile.
//!
//! The home has a directory for the kernel for as long as the run lasts, and until its changes were
//! imported. The process that serves the run holds a lock in it. A directory whose lock nobody holds was left by a process
//! that was killed: the next change of the overlay, and the next that opens the session, imports it first.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant, SystemTime};

use handfast::{
    Dir, ErrorKind, FileKind, FilesystemKind, HardLinks, OpenOptions, RelPath, RenameMode, Root,
    Timestamp, WriteOptions,
};
use rustix::fs::{FlockOperation, Mode, OFlags};

use super::import::Modes;
use super::store::fresh_id;
use super::{Overlay, State};
use crate::codec::{Reader, Writer};
use crate::error::Error;
use crate::gate::Locked;

/// The directory that the kernel writes to.
const KERNEL: &str = "kernel";
/// What is left of it while it is removed.
const DONE: &str = "kernel-done-";
/// What was imported in part: what was left out is nowhere else.
const KEPT: &str = "kernel-kept-";
/// When the run began. The process that serves it has it locked.
const BEGUN: &str = "begun";
/// The kernel's directories in it.
pub(crate) const UPPER: &str = "upper";
const WORK: &str = "work";
/// Modes that an import has changed.
const MODES: &str = "modes";
/// What the last imports left out, a line each.
const LEFT_OUT: &str = "left-out";

/// The form of what is written about the beginning.
const FORM: u8 = 2;
/// How long the processes of a run whose server was killed have to end: the kernel kills them with it.
const ENDING: Duration = Duration::from_secs(5);
/// How long the clock of the files may stand still.
const TICK: Duration = Duration::from_micros(500);
const MAX_TICKS: u32 = 200;
/// So much of what was left out is told.
const MAX_TOLD: usize = 64 << 10;

/// A run that is under way. Dropping it lets others import what it left.
pub(crate) struct KernelRun {
    /// The base, as a run mounts it.
    pub(crate) base: OwnedFd,
    /// The directory that holds the kernel's.
    pub(crate) dir: OwnedFd,
    _lock: File,
}

/// When a run began, by the clock that files are marked with.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Beginning {
    time: Timestamp,
    /// The clock less the time since the machine was started, in milliseconds, and which start that was.
    offset: i64,
    boot: Vec<u8>,
    /// The namespace that processes are numbered in, and the first ones of the run, each with its time of
    /// start. The others end before them.
    numbered_in: Vec<u8>,
    first: Vec<(u64, u64)>,
}

impl Overlay {
    /// Makes room for the kernel. Nobody else changes the overlay from here until the import.
    /// `first` are the processes that outlive all others of the run.
    pub(crate) fn begin_kernel_run(&self, first: &[u32]) -> Result<KernelRun, Error> {
        let locked = self.begin()?;
        {
            let state = locked.state();
            if !state.tree.root.children.is_empty() || state.tree.root.mode.is_some() {
                return Err(Error::refused(
                    ErrorKind::NotEmpty,
                    "changes wait in the session, and the kernel's overlay does not show them; commit or \
                     discard them, or use the engine `fuse`",
                ));
            }
        }
        for root in [&self.base, &self.home] {
            refuse_filesystem(root)?;
        }
        if self.account.is_counting() {
            return Err(unsupported("a quota cannot be enforced"));
        }
        drop(self.remove_done());
        self.home.recover(&RelPath::root())?;
        let mut dir = self.home.temp_dir(&RelPath::root())?;
        let top = self.base.symlink_metadata(&RelPath::root())?;
        let upper = RelPath::parse(UPPER)?;
        dir.root().create_dir_with(&upper, 0o700)?;
        dir.root().chmod(&upper, top.mode & 0o777)?;
        dir.root().create_dir_with(&RelPath::parse(WORK)?, 0o700)?;
        let (lock, beginning) = mark_beginning(dir.root(), first)?;
        std::io::Write::write_all(&mut &lock, &beginning.to_bytes())?;
        // What has the name is whole, also after the machine stopped.
        lock.sync_all()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::fsync(rustix::fs::openat(dir.root(), c".", flags, Mode::empty())?)?;
        dir.persist_new(&self.home, &RelPath::parse(KERNEL)?)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let pinned = |root: &Root| rustix::fs::openat(root, c".", flags, Mode::empty());
        Ok(KernelRun {
            base: pinned(&self.base)?,
            dir: pinned(dir.root())?,
            _lock: lock,
        })
    }

    /// Whether a run over the kernel's overlay is under way.
    pub(crate) fn is_kernel_at_it(&self) -> Result<bool, Error> {
        if self.left_by_kernel()?.is_none() {
            return Ok(false);
        }
        // An import and another look hold the lock of the run too, but only with ours.
        let _locked = self.lock()?;
        match self.left_by_kernel()? {
            Some(dir) => Ok(abandoned(&dir)?.is_none()),
            None => Ok(false),
        }
    }

    /// Imports what a run has left, if it is not under way any more. Waits for an import that is.
    pub(crate) fn import_left(&self) -> Result<(), Error> {
        match self.left_by_kernel()? {
            Some(_) if !self.is_kernel_at_it()? => self.begin().map(drop),
            _ => Ok(()),
        }
    }

    fn left_by_kernel(&self) -> Result<Option<Dir>, Error> {
        match self.home.open_dir(&RelPath::parse(KERNEL)?) {
            Ok(dir) => Ok(Some(dir)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Before anything else is changed: what a run left is imported. While it is under way, nobody else
    /// changes anything.
    pub(super) fn finish_kernel_run(&self, locked: &Locked<'_, State>) -> Result<(), Error> {
        let Some(dir) = self.left_by_kernel()? else {
            return Ok(());
        };
        let Some((_lock, beginning)) = abandoned(&dir)? else {
            return Err(Error::refused(
                ErrorKind::Busy,
                "a run with the engine `overlayfs` is under way in this session",
            ));
        };
        let began = beginning.now();
        // All names of a file are ours: to read it, its mode may be changed by any of them.
        let at = RelPath::parse(UPPER)?;
        let mode = dir.symlink_metadata(&at)?.mode & 0o777;
        if mode & 0o700 != 0o700 {
            // A program has shut the project itself.
            dir.chmod(&at, mode | 0o700)?;
        }
        let upper = dir.open_dir(&at)?;
        let options = self.home.options().clone().hard_links(HardLinks::Allow);
        let upper = Root::from_fd(upper.as_fd().try_clone_to_owned()?, options)?.as_dir()?;
        let modes = Modes::open(&self.home, RelPath::parse(format!("{KERNEL}/{MODES}"))?)?;
        let mut left_out = self.import_upper(locked, upper, began, modes)?;
        locked.state().log.sync()?;
        let name = match left_out.has_content {
            true => KEPT,
            false => DONE,
        };
        let name = format!("{name}{:016x}", fresh_id()?);
        if left_out.has_content {
            let place = self.shown_home();
            let line = format!("what was left out stays in {place}/{name}/{UPPER}");
            left_out.lines.insert(0, line);
        }
        self.tell_left_out(&left_out.lines)?;
        // All at once: what is half removed is never taken for what a run has left.
        let at = RelPath::parse(KERNEL)?;
        self.home
            .rename(&at, &RelPath::parse(name)?, RenameMode::NoReplace)?;
        // What cannot be removed now is removed before the next run.
        drop(self.remove_done());
        Ok(())
    }

    /// Where the home is, for the person whose it is.
    fn shown_home(&self) -> String {
        let fd = self.home.as_fd().as_raw_fd();
        let link = rustix::fs::readlink(format!("/proc/self/fd/{fd}"), Vec::new());
        link.map_or_else(
            |_| "the directory of the session".to_owned(),
            |path| handfast::escape(path.as_bytes()).to_string(),
        )
    }

    /// Removes what was imported.
    fn remove_done(&self) -> Result<(), Error> {
        let mut done = Vec::new();
        let mut listing = self.home.read_dir(&RelPath::root())?;
        while let Some(entry) = listing.next_entry()? {
            if entry.name().as_bytes().starts_with(DONE.as_bytes()) {
                done.push(RelPath::from(entry.name()));
            }
        }
        drop(listing);
        for path in done {
            make_removable(&self.home, &path);
            self.home.remove_tree(&path)?;
        }
        Ok(())
    }

    /// Keeps what an import left out until somebody tells it.
    fn tell_left_out(&self, left_out: &[String]) -> Result<(), Error> {
        if left_out.is_empty() {
            return Ok(());
        }
        let mut text = String::new();
        for (told, line) in left_out.iter().enumerate() {
            if text.len() + line.len() > MAX_TOLD {
                text.push_str(&format!("and {} more\n", left_out.len() - told));
                break;
            }
            text.push_str(line);
            text.push('\n');
        }
        let options = WriteOptions::new().mode(0o600);
        let at = RelPath::parse(LEFT_OUT)?;
        self.home.append_with(&at, text.as_bytes(), options)?;
        Ok(())
    }

    /// Tells what imports left out and nobody has been told yet. It is forgotten after that: to
    /// say it twice is better than never.
    pub(crate) fn tell_what_was_left_out(
        &self,
        mut tell: impl FnMut(&str),
    ) -> Result<usize, Error> {
        let at = RelPath::parse(LEFT_OUT)?;
        let is_absent = |error: &Error| error.kind() == ErrorKind::NotFound;
        match self.home.symlink_metadata(&at) {
            Err(error) if is_absent(&error) => return Ok(0),
            looked => looked?,
        };
        // Nobody adds to it meanwhile.
        let _locked = self.lock()?;
        let text = match self.home.read(&at) {
            Err(error) if is_absent(&error) => return Ok(0),
            text => text?,
        };
        let text = String::from_utf8_lossy(&text);
        text.lines().for_each(&mut tell);
        self.home.remove_file(&at)?;
        Ok(text.lines().count())
    }
}

/// What a run cannot enforce.
pub(crate) fn unsupported(why: &str) -> Error {
    Error::refused(
        ErrorKind::Unsupported,
        format!("over the kernel's overlay {why}; the engine `fuse` can"),
    )
}

/// Whether somebody changed a file of the base is told by times that the kernel marks it with: a file
/// that is changed, linked or moved gets another one on these filesystems.
fn refuse_filesystem(root: &Root) -> Result<(), Error> {
    let kind = root.enforcement().filesystem;
    match kind {
        FilesystemKind::Ext
        | FilesystemKind::Xfs
        | FilesystemKind::Btrfs
        | FilesystemKind::Tmpfs
        | FilesystemKind::F2fs => Ok(()),
        _ => Err(unsupported(&format!(
            "nobody knows on {kind} which files others change during the run"
        ))),
    }
}

/// Makes the file that says when the run began, and locks it. What was changed before has an earlier
/// time, and what is changed from now on has this one or a later one.
fn mark_beginning(dir: &Root, first: &[u32]) -> Result<(File, Beginning), Error> {
    let before = SystemTime::now();
    let at = RelPath::parse(BEGUN)?;
    let how = OpenOptions::new().read(true).write(true).create_new(true);
    for _ in 0..MAX_TICKS {
        let file = dir.open_with(&at, how.mode(0o600))?;
        let time = file.metadata().changed;
        if time.to_system_time() > before {
            let file = file.into_std();
            rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            let (offset, boot) = clock();
            let started = |pid: &u32| Some(((*pid).into(), start_of((*pid).into())?));
            let beginning = Beginning {
                time,
                offset,
                boot,
                numbered_in: numbered_in(),
                first: first.iter().filter_map(started).collect(),
            };
            return Ok((file, beginning));
        }
        drop(file);
        dir.remove_file(&at)?;
        std::thread::sleep(TICK);
    }
    Err(unsupported("the clock has to go on, and it stands still"))
}

/// The lock of a run that nobody holds any more, and whose processes are gone.
fn abandoned(dir: &Dir) -> Result<Option<(File, Beginning)>, Error> {
    abandoned_within(dir, ENDING)
}

/// As [`abandoned`]. The processes may live on for a moment.
fn abandoned_within(dir: &Dir, patience: Duration) -> Result<Option<(File, Beginning)>, Error> {
    let how = OpenOptions::new().read(true).write(true);
    let lock = dir.open_with(&RelPath::parse(BEGUN)?, how)?.into_std();
    match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    }
    let beginning = Beginning::read(&lock)?;
    let deadline = Instant::now() + patience;
    while let Some(pid) = beginning.living() {
        if Instant::now() >= deadline {
            return Err(Error::refused(
                ErrorKind::Busy,
                format!(
                    "a run with the engine `overlayfs` was killed, and its process {pid} has not ended yet; \
                     try again"
                ),
            ));
        }
        std::thread::sleep(TICK);
    }
    Ok(Some((lock, beginning)))
}

/// Which namespace processes are numbered in, for us.
fn numbered_in() -> Vec<u8> {
    let link = rustix::fs::readlink("/proc/self/ns/pid", Vec::new());
    link.map(|link| link.into_bytes()).unwrap_or_default()
}

/// When a process was started, in ticks since the machine was; nothing if it has ended.
#[allow(
    clippy::disallowed_methods,
    reason = "a file of the kernel, by the only path it has"
)]
fn start_of(pid: u64) -> Option<u64> {
    let status = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, which may hold anything, ends with the last bracket.
    let end = status.iter().rposition(|byte| *byte == b')')?;
    let text = String::from_utf8_lossy(status.get(end + 1..)?).into_owned();
    let mut fields = text.split_ascii_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X" | "x");
    let start = fields.nth(18)?.parse().ok()?;
    (!is_dead).then_some(start)
}

/// Milliseconds by which the clock is ahead of the time since the machine was started, and which start
/// that was.
#[allow(
    clippy::disallowed_methods,
    reason = "files of the kernel, by the only paths they have"
)]
fn clock() -> (i64, Vec<u8>) {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let since = since.map_or(0, |since| since.as_millis());
    let up = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let up = up
        .split_whitespace()
        .next()
        .and_then(|text| text.parse::<f64>().ok());
    let up = Duration::try_from_secs_f64(up.unwrap_or(0.0)).unwrap_or_default();
    let offset = i128::try_from(since).unwrap_or(0) - i128::try_from(up.as_millis()).unwrap_or(0);
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    (i64::try_from(offset).unwrap_or(0), boot)
}

impl Beginning {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(FORM);
        out.number(self.time.seconds.cast_unsigned());
        out.number(self.time.nanoseconds.into());
        out.number(self.offset.cast_unsigned());
        out.text(&self.boot);
        out.text(&self.numbered_in);
        out.number(self.first.len() as u64);
        for (pid, start) in &self.first {
            out.number(*pid);
            out.number(*start);
        }
        out.bytes
    }

    fn read(file: &File) -> Result<Self, Error> {
        let mut bytes = vec![0; 4096];
        let got = rustix::io::pread(file, &mut bytes[..], 0)?;
        let mut input = Reader::new(&bytes[..got]);
        if input.byte()? != FORM {
            return Err(crate::codec::unknown());
        }
        let mut beginning = Self {
            time: Timestamp {
                seconds: input.number()?.cast_signed(),
                nanoseconds: u32::try_from(input.number()?).unwrap_or(0),
            },
            offset: input.number()?.cast_signed(),
            boot: input.text()?.to_vec(),
            numbered_in: input.text()?.to_vec(),
            first: Vec::new(),
        };
        for _ in 0..input.number()? {
            beginning.first.push((input.number()?, input.number()?));
        }
        Ok(beginning)
    }

    /// A process of the run that is still there. One that has a number in another namespace cannot be
    /// found.
    fn living(&self) -> Option<u64> {
        let (_, boot) = clock();
        if boot != self.boot || numbered_in() != self.numbered_in {
            return None;
        }
        let lives = |(pid, start): &&(u64, u64)| start_of(*pid) == Some(*start);
        self.first.iter().find(lives).map(|(pid, _)| *pid)
    }

    /// The time by today's clock: if it was set back since, files that were changed later may have
    /// earlier times.
    fn now(&self) -> Timestamp {
        let (offset, boot) = clock();
        let back = match boot == self.boot {
            true => (self.offset - offset).max(0),
            false => 0,
        };
        // Both are read in hundredths of a second, one after the other.
        if back <= 100 {
            return self.time;
        }
        Timestamp {
            seconds: self.time.seconds - back / 1000 - 1,
            ..self.time
        }
    }
}

/// Lets us look into directories whose mode keeps us out: the kernel's own, and those of a program. What
/// that fails for, the removal fails for.
pub(crate) fn make_removable(root: &Root, path: &RelPath) {
    let mut pending = vec![path.clone()];
    while let Some(path) = pending.pop() {
        let Ok(status) = root.symlink_metadata(&path) else {
            continue;
        };
        if status.mode & 0o700 != 0o700 {
            drop(root.chmod(&path, status.mode & 0o777 | 0o700));
        }
        let Ok(mut listing) = root.read_dir(&path) else {
            continue;
        };
        while let Ok(Some(entry)) = listing.next_entry() {
            if entry.kind() == FileKind::Dir {
                pending.push(path.join(&RelPath::from(entry.name())));
            }
        }
    }
}

/// As [`make_removable`], for whatever a killed run left in the home of a session.
pub(crate) fn make_left_removable(home: &Root) {
    for number in 0.. {
        let Ok(mount) = crate::state::mount_path(number) else {
            return;
        };
        let Ok(mut listing) = home.read_dir(&mount) else {
            return;
        };
        while let Ok(Some(entry)) = listing.next_entry() {
            if entry.name().as_bytes().starts_with(KERNEL.as_bytes()) {
                make_removable(home, &mount.join(&RelPath::from(entry.name())));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lock of a run is free as soon as its server is killed, and its program may live a little longer.
    #[test]
    fn a_run_is_abandoned_once_its_processes_are_gone() {
        let above = Root::open_ambient(std::env::temp_dir()).unwrap();
        let scratch = above.temp_dir(&RelPath::root()).unwrap();
        let root = scratch.root();
        let mut first = std::process::Command::new("sleep");
        let mut first = first.arg("600").spawn().unwrap();
        let (lock, beginning) = mark_beginning(root, &[first.id()]).unwrap();
        std::io::Write::write_all(&mut &lock, &beginning.to_bytes()).unwrap();
        assert_eq!(Beginning::read(&lock).unwrap(), beginning);
        let dir = root.as_dir().unwrap();
        let look = || abandoned_within(&dir, Duration::from_millis(20));
        assert!(look().unwrap().is_none(), "its server is there");
        drop(lock);
        let error = look().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error:?}");
        assert!(
            error.detail().contains(&first.id().to_string()),
            "{error:?}"
        );
        first.kill().unwrap();
        first.wait().unwrap();
        assert!(look().unwrap().is_some());
        // Another process that has got the same number since is none of the run.
        let mut other = beginning.clone();
        other.first = vec![(std::process::id().into(), 1)];
        assert_eq!(other.living(), None);
        other.first[0].1 = start_of(std::process::id().into()).unwrap();
        assert_eq!(other.living(), Some(std::process::id().into()));
    }
}
