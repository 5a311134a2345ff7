//! `list_allowed_directories`.

use crate::answer::Answer;
use crate::call::Call;

pub(super) fn run(call: &Call<'_>) -> Answer {
    Answer::text(format!(
        "Allowed directories:\n{}",
        call.view.texts().join("\n")
    ))
}
