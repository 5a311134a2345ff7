//! zip, through one grammar: a row of members without gaps, their directory, and its end.
//!
//! A zip says everything twice, and readers choose differently whom they believe. Here local headers, data
//! descriptors and the directory have to agree, every byte belongs to exactly one record, and content has
//! the length and the checksum that the directory says. The whole structure is judged before the first
//! member is extracted or listed.

mod directory;
mod end;
mod extra;
mod fields;
mod kind;
mod local;
mod reader;
mod spool;

pub(crate) use reader::Zip;
pub(crate) use spool::Spool;
