//! `list_changes`: what waits in the overlay. Not in the reference.

use handfast::ErrorKind;
use handfast_session::{Changed, Error};

use crate::answer::{Cut, ToolResult};
use crate::call::Call;
use crate::trouble::Trouble;
use crate::view::ClientView;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let first = match call.optional_text("cursor") {
        Some(cursor) => cursor.parse().map_err(|_| call.bad_cursor())?,
        None => 0,
    };
    let failed = |error: Error| {
        let text = format!("EIO: the overlay cannot be read: {}", error.detail());
        Trouble::new(ErrorKind::Io, text)
    };
    let changes = call.changes().map_err(failed)?;
    let comments = call.comments().map_err(failed)?;
    if changes.is_empty() {
        return Ok(ToolResult::text("No changes"));
    }
    let mut room = usize::try_from(call.server.answer_limit()).unwrap_or(usize::MAX);
    let mut lines = Vec::new();
    for change in changes.iter().skip(first) {
        let mut line = line(call.view, change);
        let said = comments
            .iter()
            .filter(|comment| comment.path == change.path);
        for comment in said {
            let text = handfast::escape(comment.text.as_bytes());
            line.push_str(&format!("\n  a reviewer rejected it: {text}"));
        }
        if room < line.len() && !lines.is_empty() {
            break;
        }
        room = room.saturating_sub(line.len() + 1);
        lines.push(line);
    }
    let next = first + lines.len();
    let cut = (next < changes.len()).then(|| Cut {
        note: format!(
            "[This is not all: changes {first} to {next} of {}. Give `next` as cursor to go on.]",
            changes.len()
        ),
        next: Some(next.to_string()),
    });
    let waiting = "[None of this is on disk: a person reviews it first.]".to_owned();
    Ok(ToolResult::text(lines.join("\n"))
        .with_cut(cut)
        .with_note(Some(waiting)))
}

/// One change as a line.
pub(crate) fn line(view: &ClientView, change: &Changed) -> String {
    let slash = if change.is_dir { "/" } else { "" };
    let mut line = format!(
        "{} {}{slash}",
        change.kind.name(),
        view.name_of(&change.path)
    );
    if let Some(from) = &change.from {
        line.push_str(&format!(" from {}", view.name_of(from)));
    }
    if let Some((before, after)) = change.mode {
        line.push_str(&format!(" mode {before:03o} to {after:03o}"));
    }
    line
}
