//! `edit_file`: passages replaced, and the diff.
//!
//! The file is replaced only if it is still the one that was read: an edit never undoes what
//! somebody else wrote meanwhile.

use handfast::ErrorKind;
use handfast::files::Put;
use serde_json::Value;

use super::{content, versions};
use crate::answer::{Cut, ToolResult};
use crate::call::Call;
use crate::text::edit::{self, Edit};
use crate::text::lossless::Lossless;
use crate::text::{diff, nearest};
use crate::trouble::Trouble;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let expected = call.expected_version()?;
    let place = call.place("path")?;
    let shown = call.view.name_of(&call.resolved(&place)?);
    let (bytes, version) =
        content::versioned(call, &place)?.ok_or_else(|| content::too_large(call, &place))?;
    if let Some(expected) = &expected
        && let Some(why) = versions::difference(expected, &version, &bytes)
    {
        return Err(versions::stale(why, &place, Some(version)));
    }
    let invalid = |why: &str| {
        let text = format!("EINVAL: {why}, open '{}'", place.shown);
        Trouble::new(ErrorKind::Invalid, text)
    };
    let original = Lossless::of(bytes).ok_or_else(|| {
        invalid("the file is not UTF-8 and holds private characters; it cannot be edited as text")
    })?;
    let edits = edits(call);
    if !edits
        .iter()
        .all(|edit| original.takes(&edit.old) && original.takes(&edit.new))
    {
        return Err(invalid(
            "the file is not UTF-8 and an edit holds private characters; those cannot be told from its bytes",
        ));
    }
    let edited = edit::apply(original.as_str(), &edits).map_err(|missed| {
        let nearest = nearest::find(&missed.text, &missed.passage);
        let text = format!(
            "Could not find exact match for edit:\n{}\n\n{nearest}",
            missed.passage
        );
        Trouble::new(ErrorKind::Invalid, text)
    })?;
    // What stands for bytes that are not text is nothing to show.
    let readable = |text: &str| String::from_utf8_lossy(&original.bytes_of(text)).into_owned();
    let diff = diff::fenced(&shown, &readable(&edited.before), &readable(&edited.after));
    let mut answer = bounded(call, diff);
    for (number, places) in &edited.ambiguous {
        let places = if *places >= 100 {
            "100 or more".to_owned()
        } else {
            places.to_string()
        };
        answer = answer.with_note(Some(format!(
            "[Edit {number} fits {places} places; the first was taken. Give more of the lines around it to choose another.]"
        )));
    }
    if call.flag("dryRun") {
        return Ok(answer.with_version(Some(version)));
    }
    let bytes = original.bytes_of(&edited.content);
    let written = versions::put(call, &place, &bytes, Put::If(&version))?;
    let now = versions::of_written(&written);
    call.server.seen().edited(call.client, &place.path, now);
    Ok(answer.with_version(now).with_note(call.kept_apart()))
}

/// The diff, as far as one answer holds it.
fn bounded(call: &Call<'_>, mut diff: String) -> ToolResult {
    let limit = usize::try_from(call.server.answer_limit()).unwrap_or(usize::MAX);
    let cut = (diff.len() > limit).then(|| {
        diff.truncate(diff.floor_char_boundary(limit));
        Cut {
            note: format!(
                "[This is not all of the diff: it is longer than the {limit} bytes that one answer holds. Every edit was applied.]"
            ),
            next: None,
        }
    });
    ToolResult::text(diff).with_cut(cut)
}

fn edits(call: &Call<'_>) -> Vec<Edit> {
    let items = call.value("edits").and_then(Value::as_array);
    let items = items.map(Vec::as_slice).unwrap_or_default();
    let text = |item: &Value, name: &str| {
        let text = item.get(name).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    items
        .iter()
        .map(|item| Edit {
            old: text(item, "oldText"),
            new: text(item, "newText"),
            all: call.flag("replaceAll") || item.get("replaceAll") == Some(&Value::Bool(true)),
        })
        .collect()
}
