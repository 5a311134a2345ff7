//! A local page on which a person reviews what an agent changed in a session.
//!
//! ```text
//!  browser ──HTTP──▶ page process ──closed set of requests──▶ keeper process ──▶ sessions, log
//!                    no files, no network                      looks, plans, commits, undoes
//! ```
//!
//! * [`page`] speaks HTTP and makes HTML. It runs in a process of its own, behind a wall: it opens no
//!   file, connects to nothing and starts nothing. All that it shows comes from the keeper.
//! * [`keeper`] runs in the process that was there first. It answers the requests of [`protocol`] and no
//!   others. A commit names a plan, which is a digest of everything that the keeper sent to be shown; the
//!   keeper looks again before it commits, and a plan that is no longer true is refused.
//!
//! # Does not
//! Make sure that a person looked: a page process that was taken over can press its own buttons. It can
//! commit only what lies in a session and was sent to it to be shown.
//!
//! # Platform
//! Linux. Elsewhere the crate is empty.
#![deny(unsafe_code)]
#![cfg(supported)]

pub mod keeper;
pub mod page;
pub mod protocol;
mod start;
mod sys;

pub use start::{Started, start, start_with};
