//! Handfast's files as a filesystem: a face of [`handfast::Files`] for the kernel.
//!
//! ```text
//!  program ──system call──▶ kernel ──FUSE──▶ Face ──handles──▶ dyn Files (a root, a session)
//! ```
//!
//! The face keeps a tree of nodes. Every object that the kernel knows has a number, the handle that
//! [`Files`](handfast::Files) gave for it, and its name in the directory above. Nothing here is a
//! path: each request of the kernel becomes one verb on handles, and the files behind it judge it.
//!
//! # Does not
//! Confine anybody. The kernel follows links in the namespace of the program that asks, so whatever
//! else a program can reach is not this crate's. `handfast-run` builds the wall.
//!
//! # Platform
//! Linux. Elsewhere the crate is empty.
#![deny(unsafe_code)]
#![cfg(supported)]

mod askers;
mod attr;
mod content;
mod device;
mod errno;
mod face;
mod fill;
mod follow;
mod kernel;
mod listing;
mod names;
mod open_files;
mod reply;
mod serve;
mod set_ids;
mod specials;
mod table;
mod threads;
mod waiting;
mod watch;

pub use device::{MountSettings, mount_at, mount_over, open_device};
pub use face::{CacheTimes, Face};
pub use serve::{Served, serve};
pub use waiting::{asking_process, request_goes_on, request_waits};
