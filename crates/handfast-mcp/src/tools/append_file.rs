//! `append_file`: more at the end. Not in the reference.

use handfast::ErrorKind;

use super::versions;
use crate::answer::ToolResult;
use crate::call::Call;
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let place = call.place("path")?;
    let data = call.text("content").as_bytes();
    let written = call
        .files()
        .append(place.rel(), data, call.write_options())
        .map_err(|error| {
            let verb = match error.kind() {
                ErrorKind::NotADirectory => "realpath",
                _ => "open",
            };
            call.trouble(&error, verb, &place)
        })?;
    let version = versions::of_written(&written);
    let seen = call.server.seen();
    match version {
        // Nothing but this text is in it.
        Some(now) if now.len() == data.len() as u64 => {
            seen.whole(call.client, &place.path, version);
        }
        _ => seen.edited(call.client, &place.path, version),
    }
    let text = format!("Successfully appended to {}", call.text("path"));
    Ok(ToolResult::text(text)
        .with_version(version)
        .with_note(call.kept_apart()))
}
