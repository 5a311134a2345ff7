//! A call that hangs is noticed, and freed.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags};

/// A call that takes longer than this hangs.
pub(crate) const HANG: Duration = Duration::from_secs(1);

/// Opens a FIFO from the other side when a call has been waiting for it for too long.
pub(crate) struct Watchdog {
    begun: Instant,
    /// When the call under way began, in milliseconds and one; zero between calls.
    call: Arc<AtomicU64>,
    done: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watchdog {
    pub(crate) fn new(fifo: PathBuf) -> io::Result<Self> {
        let begun = Instant::now();
        let (call, done) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let thread = std::thread::Builder::new().spawn({
            let (call, done) = (Arc::clone(&call), Arc::clone(&done));
            move || {
                while !done.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(50));
                    let since = call.load(Ordering::Acquire);
                    if since == 0 || millis(begun) < since + as_millis(HANG) + 50 {
                        continue;
                    }
                    // Readers wait for a writer and writers for a reader: this is both. Kept until
                    // the call is over; a reader then sees the end.
                    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
                    let other = rustix::fs::openat(CWD, &fifo, flags, Mode::empty());
                    std::thread::sleep(Duration::from_millis(50));
                    drop(other);
                }
            }
        })?;
        Ok(Self {
            begun,
            call,
            done,
            thread: Some(thread),
        })
    }

    /// Makes a call and says whether it hung.
    pub(crate) fn watch<T>(&self, call: impl FnOnce() -> T) -> (T, bool) {
        let begun = Instant::now();
        self.call.store(millis(self.begun) + 1, Ordering::Release);
        let result = call();
        self.call.store(0, Ordering::Release);
        (result, begun.elapsed() > HANG)
    }
}

fn millis(since: Instant) -> u64 {
    as_millis(since.elapsed())
}

fn as_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
