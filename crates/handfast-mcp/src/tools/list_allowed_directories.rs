//! `list_allowed_directories`.

use crate::answer::Answer;
use crate::call::Call;

pub(super) fn run(call: &Call<'_>) -> Answer {
    let dirs = call.view.texts().join("\n");
    let none = call.view.why_empty.as_ref().map(|why| format!("[{why}.]"));
    Answer::text(format!("Allowed directories:\n{dirs}")).with_note(none)
}
