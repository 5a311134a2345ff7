//! One table over every implementation of [`Files`](handfast::Files).
//!
//! A layer (a session, a broker's client, a root by handles alone) is asked the same things as a
//! plain [`Root`](handfast::Root) on an equal tree. Both must answer alike, and both trees must be
//! equal afterwards. What a layer refuses is listed with its reason; a refusal on the list that
//! turns out to work is an error too, so the list stays true.
//!
//! ```text
//! every verb × every path × both policies for links
//!     answer:  Ok(what was seen) | Err(kind, effect, verb, path)      same on both sides
//!     tree:    names, kinds, modes, owners, contents, link targets    same on both sides
//! ```
//!
//! It is a crate for tests: it sets its scenes with ambient calls and ends with a panic.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::missing_panics_doc,
    reason = "a crate for tests: it sets scenes with ambient calls and judges by panicking"
)]
#![cfg(target_os = "linux")]

mod cases;
mod layer;
mod run;
mod scene;
mod tree;

pub use cases::{CASES, Case};
pub use layer::{Difference, Layer, LayerAnswer, Refusal};
pub use run::{Report, compare, compare_both};
pub use scene::{Scene, paths};
pub use tree::{tree_by_handles, tree_on_disk};
