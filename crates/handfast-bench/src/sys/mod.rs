//! The only `unsafe`: a system call that has no safe wrapper, the allocator that counts, and a
//! process of its own for work that may come to harm.

mod access;
mod child;
mod heap;

pub(crate) use access::{making_user, may_write};
pub(crate) use child::succeeds;
pub(crate) use heap::Heap;
