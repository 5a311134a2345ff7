//! The tree of RFC 6962: hashes, the growing edge, proofs.

mod frontier;
mod hash;
mod memory;
mod proof;

pub use frontier::Frontier;
pub use hash::Hash;
pub use memory::MemoryTree;
pub use proof::{Subtrees, consistency, inclusion, root, verify_consistency, verify_inclusion};
