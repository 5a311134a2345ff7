//! Other Unix systems: no `O_PATH`, no `openat2`, no `statx`.
