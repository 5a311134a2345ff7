//! The thread that tells the kernel what it may not believe any longer.
//!
//! It is none of those that answer requests: a notification may wait for a request that one of
//! them has to answer.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fuser::{INodeNo, Notifier};
use handfast::NameRef;
use handfast::files::Files;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{ReadFlags, Reader};

use crate::table::{TOP, Table};
use crate::watch::Watch;

/// How often somebody looks whether another process changed the session.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A name is told a second time after this. An answer that was on its way to the kernel when the
/// first notification overtook it is not believed for longer.
const TELL_AGAIN: Duration = Duration::from_millis(400);

/// Changes that come in this time are told together.
const GATHER: Duration = Duration::from_millis(4);

/// Beyond so many names, everything is told instead.
const MAX_PENDING: usize = 20_000;

/// What does not hold any more.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Outdated {
    /// What a name of a directory leads to.
    Name(u64, Vec<u8>),
    /// What is known of the object under a name.
    Facts(u64, Vec<u8>),
    /// What is known of a directory itself.
    Itself(u64),
    /// Every name of a directory.
    Below(u64),
    /// Everything.
    All,
}

/// Whether something is told for the first time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Time {
    First,
    Again,
}

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Follower {
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    pub(crate) fn start(
        watch: Arc<Watch>,
        table: Arc<Mutex<Table>>,
        files: Arc<dyn Files>,
        notifier: Notifier,
    ) -> io::Result<Self> {
        let (stopped, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let others = files.changes_by_others().unwrap_or(0);
        let mut following = Following {
            watch,
            table,
            files,
            notifier,
            others,
            again: VecDeque::new(),
        };
        let thread = std::thread::Builder::new()
            .name("handfast-watch".to_owned())
            .spawn(move || following.run(&stopped))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

struct Following {
    watch: Arc<Watch>,
    table: Arc<Mutex<Table>>,
    files: Arc<dyn Files>,
    notifier: Notifier,
    others: u64,
    again: VecDeque<(Instant, BTreeSet<Outdated>)>,
}

impl Following {
    fn run(&mut self, stopped: &OwnedFd) {
        loop {
            let wait = match self.again.front() {
                Some((due, _)) => due
                    .saturating_duration_since(Instant::now())
                    .min(LOOK_EVERY),
                None => LOOK_EVERY,
            };
            let watch = Arc::clone(&self.watch);
            let mut both = [
                PollFd::from_borrowed_fd(watch.descriptor(), PollFlags::IN),
                PollFd::from_borrowed_fd(stopped.as_fd(), PollFlags::IN),
            ];
            let wait = Timespec::try_from(wait).ok();
            let _ = poll(&mut both, wait.as_ref());
            if !both[1].revents().is_empty() {
                return;
            }
            let mut outdated = BTreeSet::new();
            if !both[0].revents().is_empty() {
                std::thread::sleep(GATHER);
                self.read_events(&mut outdated);
            }
            self.look_at_others(&mut outdated);
            if !outdated.is_empty() {
                self.tell(&outdated, Time::First);
                let due = Instant::now() + TELL_AGAIN;
                self.again.push_back((due, outdated));
            }
            while let Some((due, _)) = self.again.front()
                && *due <= Instant::now()
            {
                if let Some((_, outdated)) = self.again.pop_front() {
                    self.tell(&outdated, Time::Again);
                }
            }
        }
    }

    fn read_events(&self, outdated: &mut BTreeSet<Outdated>) {
        let mut buffer = [const { MaybeUninit::uninit() }; 16 * 1024];
        let mut reader = Reader::new(self.watch.descriptor(), &mut buffer);
        while let Ok(event) = reader.next() {
            let flags = event.events();
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) || outdated.len() > MAX_PENDING {
                outdated.clear();
                outdated.insert(Outdated::All);
            }
            let gone = ReadFlags::IGNORED
                | ReadFlags::DELETE_SELF
                | ReadFlags::MOVE_SELF
                | ReadFlags::UNMOUNT;
            let name = event.file_name().map(|name| name.to_bytes().to_vec());
            for number in self.watch.numbers(event.wd()) {
                outdated.insert(Outdated::Itself(number));
                if flags.intersects(gone) {
                    outdated.insert(Outdated::Below(number));
                }
                let entries = ReadFlags::CREATE
                    | ReadFlags::DELETE
                    | ReadFlags::MOVED_FROM
                    | ReadFlags::MOVED_TO;
                match name.clone() {
                    Some(name) if flags.intersects(entries) => {
                        outdated.insert(Outdated::Name(number, name));
                    }
                    Some(name) => {
                        outdated.insert(Outdated::Facts(number, name));
                    }
                    None => {}
                }
            }
            if flags.intersects(gone) {
                self.watch.lose(event.wd());
            }
        }
    }

    /// Another process that commits, discards or rolls back may have changed any name.
    fn look_at_others(&mut self, outdated: &mut BTreeSet<Outdated>) {
        // A journal that cannot be read is told to the program with its next request.
        let others = self.files.changes_by_others().unwrap_or(u64::MAX);
        if others != self.others {
            self.others = others;
            outdated.clear();
            outdated.insert(Outdated::All);
        }
    }

    /// Tells the kernel. It may have forgotten the object already; and when the mount is gone, the
    /// thread is about to be stopped.
    fn tell(&self, outdated: &BTreeSet<Outdated>, time: Time) {
        for what in outdated {
            match what {
                Outdated::Name(dir, name) => self.name(*dir, name, time),
                Outdated::Facts(dir, name) => self.facts(*dir, name),
                Outdated::Itself(number) => self.inode(*number),
                Outdated::Below(dir) => self.below(*dir, time),
                Outdated::All => self.below(TOP, time),
            }
        }
    }

    /// Another object may have the name. If it is a directory that takes the place of one, what lies
    /// below is another directory too, under the same names.
    fn name(&self, dir: u64, name: &[u8], time: Time) {
        let child = NameRef::parse(name)
            .ok()
            .and_then(|name| self.locked(|table| table.child(dir, name)));
        if let Some(number) = child {
            self.below(number, time);
        }
        self.entry(dir, name);
    }

    /// Every name below a directory, and it itself.
    fn below(&self, number: u64, time: Time) {
        for dir in self.locked(|table| table.below(number)) {
            let absent = self.watch.absent_in(dir);
            if time == Time::First {
                // What is looked up from now on is watched again.
                self.watch.forget(dir);
            }
            for name in self.locked(|table| table.names_in(dir)) {
                self.entry(dir, name.as_bytes());
            }
            for name in absent {
                self.entry(dir, &name);
            }
            self.inode(dir);
        }
    }

    fn locked<T>(&self, look: impl FnOnce(&Table) -> T) -> T {
        look(&self.table.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn entry(&self, dir: u64, name: &[u8]) {
        drop(
            self.notifier
                .inval_entry(INodeNo(dir), OsStr::from_bytes(name)),
        );
    }

    fn facts(&self, dir: u64, name: &[u8]) {
        let Ok(name) = NameRef::parse(name) else {
            return;
        };
        if let Some(number) = self.locked(|table| table.child(dir, name)) {
            self.inode(number);
        }
    }

    /// Facts and content, or what a directory lists.
    fn inode(&self, number: u64) {
        drop(self.notifier.inval_inode(INodeNo(number), 0, 0));
    }
}
