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
