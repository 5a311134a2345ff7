//! tar: ustar, pax and GNU, through one grammar.
//!
//! An archive is a row of members, each with the extension headers that belong to it, two blocks of
//! zeros, and nothing but zeros after them. Whatever two readers of tar could understand differently is
//! refused.

mod extensions;
mod header;
mod number;
mod pax;
mod reader;

pub(crate) use reader::Tar;

/// Whether a block is a header, with or without a magic.
pub(crate) fn is_header(block: &[u8]) -> bool {
    block
        .try_into()
        .is_ok_and(|block| header::check_sum(block).is_ok())
}
