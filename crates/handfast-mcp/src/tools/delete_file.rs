//! `delete_file`: one file, or a link itself. Not in the reference, and offered only where changes
//! are kept in an overlay or the operator says so.

use handfast::ErrorKind;
use handfast::files::WhatToRemove;

use crate::answer::ToolResult;
use crate::call::Call;
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let expected = call.expected_version()?;
    let place = call.place("path")?;
    let what = match &expected {
        Some(version) => WhatToRemove::FileIf(version),
        None => WhatToRemove::File,
    };
    call.files().remove(place.rel(), what).map_err(|error| {
        let verb = match error.kind() {
            ErrorKind::NotADirectory => "realpath",
            _ => "unlink",
        };
        call.trouble(&error, verb, &place)
    })?;
    let text = format!("Successfully deleted {}", call.text("path"));
    Ok(ToolResult::text(text).with_note(call.kept_apart()))
}
