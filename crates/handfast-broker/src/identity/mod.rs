//! Who is at the other end, as the kernel knows it.

mod exe;
mod names;
mod overflow;
mod peer;
mod process;

pub use exe::{ExeReader, serve_witness, witness_socket_from_stdin};
pub(crate) use exe::{Questions, read_all};
pub(crate) use names::Names;
pub(crate) use overflow::overflow_uid;
pub(crate) use peer::{Peer, Proved};
pub use process::ProcessRef;
pub(crate) use process::{Process, boot_id};
