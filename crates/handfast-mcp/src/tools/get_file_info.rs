//! `get_file_info`: one fact a line; links are followed.

use handfast::files::LastLink;
use handfast::{ErrorKind, Timestamp};

use crate::answer::ToolResult;
use crate::call::Call;
use crate::text::date;
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let place = call.place("path")?;
    let status = call.files().metadata(place.rel(), LastLink::Follow);
    let status = status.map_err(|error| {
        let verb = match error.kind() {
            ErrorKind::NotADirectory => "realpath",
            _ => "stat",
        };
        call.trouble(&error, verb, &place)
    })?;
    let zero = Timestamp {
        seconds: 0,
        nanoseconds: 0,
    };
    let facts = [
        ("size", status.len.to_string()),
        (
            "created",
            date::javascript(status.identity.born.unwrap_or(zero)),
        ),
        ("modified", date::javascript(status.modified)),
        ("accessed", date::javascript(status.accessed)),
        ("isDirectory", status.is_dir().to_string()),
        ("isFile", status.is_file().to_string()),
        ("permissions", format!("{:03o}", status.mode & 0o777)),
    ];
    let lines: Vec<String> = facts
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    Ok(ToolResult::text(lines.join("\n")))
}
