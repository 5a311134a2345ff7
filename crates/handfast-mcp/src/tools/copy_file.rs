//! `copy_file`: a file with its permissions, to a free name. Not in the reference.

use handfast::files::Put;

use super::move_file::{copy, two_failed};
use super::versions;
use crate::answer::ToolResult;
use crate::call::Call;
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let from = call.place("source")?;
    let to = call.place("destination")?;
    let copied = match call.waits_in_overlay() {
        // A session's own copy does not wait for the disk there.
        true => copy(call, &from, &to).map(|(_, copied)| copied),
        false => call.files().copy(from.rel(), to.rel(), Put::New),
    };
    let copied = copied.map_err(|error| two_failed(call, &error, &from, &to))?;
    let text = format!(
        "Successfully copied {} to {}",
        call.text("source"),
        call.text("destination")
    );
    Ok(ToolResult::text(text)
        .with_version(versions::of_written(&copied))
        .with_note(call.kept_apart()))
}
