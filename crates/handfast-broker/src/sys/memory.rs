//! What the allocator keeps.

/// Has large buffers given back to the system when they are freed.
///
/// Each mount has buffers of 16 MiB for as long as it is there. The GNU allocator learns from the first one that is
/// freed to take later ones from its pools, one for several threads each, and these keep what they
/// had: a quarter of a gigabyte after some mounts. A threshold that is set is not learned.
pub(crate) fn give_large_buffers_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a number of the allocator's, which takes its own lock for that.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20);
    }
}
