//! `list_allowed_directories`.

use crate::answer::ToolResult;
use crate::call::Call;

pub(super) fn run(call: &Call<'_>) -> ToolResult {
    let dirs = call.view.texts().join("\n");
    let none = call.view.why_empty.as_ref().map(|why| format!("[{why}.]"));
    ToolResult::text(format!("Allowed directories:\n{dirs}")).with_note(none)
}
