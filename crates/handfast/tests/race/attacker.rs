//! Who swaps.

use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A thread that swaps, and counts.
pub(crate) struct Attacker {
    pub done: Arc<AtomicBool>,
    pub swaps: Arc<AtomicU64>,
    /// How many times longer it pauses than at first.
    pub calm: Arc<AtomicU64>,
    pub thread: Option<std::thread::JoinHandle<()>>,
}

impl Attacker {
    pub(crate) fn start(mut swap: impl FnMut() + Send + 'static) -> Self {
        let (done, swaps) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let calm = Arc::new(AtomicU64::new(1));
        let thread = std::thread::spawn({
            let (done, swaps) = (Arc::clone(&done), Arc::clone(&swaps));
            let calm = Arc::clone(&calm);
            move || {
                // On a core that both share, a pause that spins would leave the victim none.
                let alone =
                    std::thread::available_parallelism().is_ok_and(|cores| cores.get() == 1);
                let mut random = 0x9e37_79b9_7f4a_7c15_u64;
                while !done.load(Ordering::Relaxed) {
                    swap();
                    swaps.fetch_add(1, Ordering::Release);
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let pause = (20 + random % 60) * calm.load(Ordering::Relaxed);
                    let until = Instant::now() + Duration::from_micros(pause);
                    while Instant::now() < until {
                        if alone {
                            std::thread::yield_now();
                        } else {
                            std::hint::spin_loop();
                        }
                    }
                }
            }
        });
        Self {
            done,
            swaps,
            calm,
            thread: Some(thread),
        }
    }

    /// Waits until something was swapped just now, but not for ever.
    pub(crate) fn wait_for_swap(&self) {
        let seen = self.swaps.load(Ordering::Acquire);
        let begun = Instant::now();
        while self.swaps.load(Ordering::Acquire) == seen {
            match begun.elapsed().as_micros() {
                0..100 => std::hint::spin_loop(),
                // The attacker has no core of its own: let it have ours.
                100..5000 => std::thread::yield_now(),
                _ => return,
            }
        }
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(
            ended.is_ok() || std::thread::panicking(),
            "the attacker died"
        );
    }
}

pub(crate) fn exchange(one: &Path, other: &Path) -> bool {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}
