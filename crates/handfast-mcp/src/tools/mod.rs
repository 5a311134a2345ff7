//! The tools: one file each.

mod append_file;
mod approval;
#[cfg(feature = "audit")]
mod audit_paths;
pub(crate) mod content;
mod copy_file;
mod create_directory;
mod delete_file;
mod directory_tree;
mod edit_file;
pub(crate) mod equivalent;
mod extract_archive;
mod get_file_info;
mod ignored;
mod list_allowed_directories;
pub(crate) mod list_changes;
pub(crate) mod list_directory;
mod list_directory_with_sizes;
mod move_file;
pub(crate) mod pages;
mod position;
mod propose_changes;
pub(crate) mod read_media_file;
mod read_multiple_files;
mod read_text_file;
mod search_content;
mod search_files;
mod versions;
mod walk;
mod write_file;

use crate::answer::ToolResult;
use crate::call::Call;
use crate::trouble::Trouble;

/// Runs the tool of a name that the table holds.
pub(crate) fn run(name: &str, call: &Call<'_>) -> Result<ToolResult, Trouble> {
    match name {
        "read_file" | "read_text_file" => read_text_file::run(call),
        "read_media_file" => read_media_file::run(call),
        "read_multiple_files" => read_multiple_files::run(call),
        "write_file" => write_file::run(call),
        "edit_file" => edit_file::run(call),
        "append_file" => append_file::run(call),
        "copy_file" => copy_file::run(call),
        "extract_archive" => extract_archive::run(call),
        "delete_file" => delete_file::run(call),
        "list_changes" => list_changes::run(call),
        "propose_changes" => propose_changes::run(call),
        "create_directory" => create_directory::run(call),
        "list_directory" => list_directory::run(call),
        "list_directory_with_sizes" => list_directory_with_sizes::run(call),
        "directory_tree" => directory_tree::run(call),
        "move_file" => move_file::run(call),
        "search_files" => search_files::run(call),
        "search_content" => search_content::run(call),
        "get_file_info" => get_file_info::run(call),
        #[cfg(feature = "audit")]
        "audit_paths" => audit_paths::run(call),
        "list_allowed_directories" => Ok(list_allowed_directories::run(call)),
        other => Err(Trouble::new(
            handfast::ErrorKind::Unsupported,
            format!("{other} is listed and not built in"),
        )),
    }
}
