//! Archives: `extract`, `list-archive` and `archive`.

mod args;
mod create;
mod extract;
mod input;
mod list;
mod report;

pub(super) use create::ArchiveArgs;
pub(super) use extract::ExtractArgs;
pub(super) use list::ListArchiveArgs;
