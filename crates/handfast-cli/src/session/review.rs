//! Changes as a reviewer sees them: for programs, on one line, with their text.

use handfast::FileKind;
use handfast_session::change::{Content, Hunk, NotShown, Side, Tag};
use handfast_session::{Change, DiffKind};

use super::failures;
use crate::json::{Json, JsonObject};
use crate::output::Output;

/// A change for programs: everything that a commit would write.
pub(super) fn to_json(change: &Change) -> JsonObject {
    let mut object = JsonObject::new()
        .with_bytes("path", &failures::bytes(&change.path))
        .with("kind", change.kind.name());
    if let Some(from) = &change.from {
        object = object.with_bytes("from", &failures::bytes(from));
    }
    object = object
        .with("before", change.before.as_ref().map(side))
        .with("after", change.after.as_ref().map(side));
    object = match &change.content {
        Content::Hunks(hunks) => object
            .with("content", "hunks")
            .with("hunks", hunks.iter().map(hunk).collect::<Json>()),
        Content::NotShown { why, bytes } => {
            let mut left_out = JsonObject::new()
                .with("why", not_shown(why))
                .with("bytes", *bytes);
            if let NotShown::Denied(rule) = why {
                left_out = left_out.with("detail", rule.as_str());
            }
            object
                .with("content", "not-shown")
                .with("not_shown", left_out)
        }
        _ => object.with("content", "same"),
    };
    if let Some(why) = &change.meanwhile {
        object = object.with("meanwhile", why.as_str());
    }
    let flags = change.flags.iter().map(|flag| flag.name());
    object
        .with("ignored", change.ignored)
        .with("flags", flags.collect::<Json>())
}

fn not_shown(why: &NotShown) -> &'static str {
    match why {
        NotShown::TooLong => "too-long",
        NotShown::Binary => "binary",
        _ => "denied",
    }
}

fn side(side: &Side) -> JsonObject {
    let kind = side.kind.to_string();
    let mode = side.mode.map(|mode| format!("{mode:04o}"));
    let mut object = JsonObject::new().with("kind", kind).with("mode", mode);
    if let Some(target) = &side.target {
        object = object.with_bytes("target", target);
    }
    if side.kind != FileKind::File {
        return object;
    }
    object = object
        .with("len", side.len)
        .with("sha256", side.digest.clone())
        .with("form", side.form.as_ref().map(|form| form.name()));
    if let Some(why) = side.form.as_ref().and_then(|form| form.why()) {
        object = object.with("form_why", why);
    }
    if let Some(time) = side.modified {
        let text = format!("{}.{:09}", time.seconds, time.nanoseconds);
        object = object.with("modified", text);
    }
    let xattrs = side.xattrs.iter().map(String::as_str);
    object
        .with("names", side.names)
        .with("xattrs", xattrs.collect::<Json>())
}

fn hunk(hunk: &Hunk) -> JsonObject {
    let lines = hunk.lines.iter().map(|line| {
        let tag = match line.tag {
            Tag::Context => "context",
            Tag::Removed => "removed",
            Tag::Added => "added",
        };
        JsonObject::new()
            .with("tag", tag)
            .with_bytes("text", &line.bytes)
    });
    JsonObject::new()
        .with("id", hunk.id.as_str())
        .with("header", hunk.header())
        .with("lines", lines.collect::<Json>())
}

/// Whether the mode of a file keeps its content even from us.
pub(super) fn is_unreadable(change: &Change) -> bool {
    let is_hidden = |side: &Side| {
        let is_closed = side.mode.is_some_and(|mode| mode & 0o400 == 0);
        side.kind == FileKind::File && side.digest.is_none() && is_closed
    };
    let denied = matches!(
        &change.content,
        Content::NotShown {
            why: NotShown::Denied(_),
            ..
        }
    );
    denied
        && [&change.before, &change.after]
            .into_iter()
            .flatten()
            .any(is_hidden)
}

/// How many changes.
pub(super) fn counted(count: usize) -> String {
    match count {
        1 => "1 change".to_owned(),
        _ => format!("{count} changes"),
    }
}

/// A change on one line.
pub(crate) fn line(change: &Change) -> String {
    let slash = if change.is_dir() { "/" } else { "" };
    let mut line = format!("{:<8} {}{slash}", change.kind.name(), change.path);
    let facts = change.facts();
    if !facts.is_empty() {
        line.push_str(&format!(" ({facts})"));
    }
    line
}

/// Prints a change with its text.
pub(super) fn show(change: &Change, out: &mut Output) {
    let paint = Output::is_coloured();
    let colour = match change.kind {
        DiffKind::Added => "32",
        DiffKind::Deleted => "31",
        _ => "33",
    };
    out.line(&painted(&line(change), colour, paint));
    for line in painted_lines(change) {
        out.line(&line);
    }
}

/// The content of a change, in colour on a terminal.
pub(super) fn painted_lines(change: &Change) -> Vec<String> {
    let paint = Output::is_coloured();
    let lines = change.lines().into_iter().map(|(tag, text)| {
        let colour = match tag {
            Some(Tag::Added) => "32",
            Some(Tag::Removed) => "31",
            None if text.starts_with('@') => "36",
            _ => "0",
        };
        painted(&text, colour, paint && colour != "0")
    });
    lines.collect()
}

/// How many lines are added and removed, on one line.
pub(super) fn stat(change: &Change) -> (String, usize, usize) {
    let count = |wanted| {
        let lines = change.hunks().iter().flat_map(|hunk| &hunk.lines);
        lines.filter(|line| line.tag == wanted).count()
    };
    let (added, removed) = (count(Tag::Added), count(Tag::Removed));
    let text = match &change.content {
        Content::NotShown { bytes, .. } => format!("{bytes} bytes not shown"),
        _ => format!("+{added} -{removed}"),
    };
    (format!("{} | {text}", line(change)), added, removed)
}

fn painted(text: &str, colour: &str, paint: bool) -> String {
    match paint {
        true => format!("\u{1b}[{colour}m{text}\u{1b}[0m"),
        false => text.to_owned(),
    }
}
