//! `write_file`: the whole content in one step; the mode of a file that is there stays.

use handfast::ErrorKind;
use handfast::files::Put;

use super::versions;
use crate::answer::ToolResult;
use crate::call::Call;
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let expected = call.expected_version()?;
    let place = call.place("path")?;
    let put = match &expected {
        Some(version) => Put::If(version),
        None => Put::Replace,
    };
    let seen = call.server.seen();
    if !call.flag("overwrite") && seen.only_a_part(call.client, &place.path) {
        return Err(Trouble::new(
            ErrorKind::Stale,
            format!(
                "Refused - you have seen only a part of {}, and this would replace all of it. Read the rest first, use edit_file, or set overwrite to true.",
                place.shown
            ),
        ));
    }
    let written = versions::put(call, &place, call.text("content").as_bytes(), put)?;
    let version = versions::of_written(&written);
    seen.whole(call.client, &place.path, version);
    let text = format!("Successfully wrote to {}", call.text("path"));
    Ok(ToolResult::text(text)
        .with_version(version)
        .with_note(call.kept_apart()))
}
