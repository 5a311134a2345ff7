//! An allocator that counts when it is told to.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static ENABLED: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator. While nobody counts, it costs one look at a flag more.
struct Counting;

/// Notes that so many bytes more are in use.
#[cold]
fn note(bytes: i64) {
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(live, Relaxed);
    if bytes > 0 {
        CALLS.fetch_add(1, Relaxed);
    }
}

fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

// SAFETY: every call goes to the system's allocator unchanged; the counters touch no memory that
// was given out.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if ENABLED.load(Relaxed) {
            note(signed(layout.size()));
        }
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if ENABLED.load(Relaxed) {
            note(signed(layout.size()));
        }
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if ENABLED.load(Relaxed) {
            note(-signed(layout.size()));
        }
        // SAFETY: the pointer came from the system's allocator with this layout, through us.
        unsafe { System.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if ENABLED.load(Relaxed) {
            note(signed(size) - signed(layout.size()));
        }
        // SAFETY: the pointer came from the system's allocator with this layout, through us.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// What was asked of the heap.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Heap {
    /// The most bytes that were in use at once, beyond those before.
    pub(crate) peak: u64,
    /// How often memory was asked for, or more of it.
    pub(crate) calls: u64,
}

impl Heap {
    /// What `work` asks of the heap. Other threads are counted with it, so there should be none at
    /// work; one count at a time.
    pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (Self, T) {
        LIVE.store(0, Relaxed);
        PEAK.store(0, Relaxed);
        CALLS.store(0, Relaxed);
        ENABLED.store(true, Relaxed);
        let result = work();
        ENABLED.store(false, Relaxed);
        let heap = Self {
            peak: u64::try_from(PEAK.load(Relaxed)).unwrap_or(0),
            calls: CALLS.load(Relaxed),
        };
        (heap, result)
    }
}
