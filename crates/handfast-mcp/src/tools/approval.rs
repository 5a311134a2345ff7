//! The person is asked through the client, where the client can be asked.
//!
//! The client gives the answer, so its word alone commits nothing. If the operator started the server with
//! `--trust-client-approval`, it does: then the changes that were in the question are committed, byte for
//! byte, and nothing else.

use handfast::{ErrorKind, Verb};
use handfast_session::change::Content;
use handfast_session::{Change, CommitOptions, Committed, DiffKind, ReviewOptions, VirtualPath};
use serde_json::{Value, json};

use super::propose_changes::counted;
use crate::call::Call;
use crate::trouble::Trouble;

/// How much of the changes a question shows. What does not fit is not committed on a client's word.
const MOST_SHOWN: usize = 24 << 10;

/// How much of a comment is handed on, in characters.
const LONGEST_COMMENT: usize = 4_000;

/// What a proposal is about, as the person sees it.
struct Preview {
    text: String,
    /// Every byte that a commit would write is in the text.
    is_whole: bool,
    /// What a commit must be about.
    options: CommitOptions,
}

/// Asks about a proposal. `None` if nobody was asked, or nobody answered.
pub(super) fn ask(call: &Call<'_>, id: &str) -> Result<Option<String>, Trouble> {
    if !call.can_elicit() {
        return Ok(None);
    }
    let preview = preview(call)?;
    let may_commit = call.server.trusts_client() && preview.is_whole && !call.view.narrowed;
    let Some(answer) = call.elicit(&question(call, &preview, may_commit)) else {
        return Ok(None);
    };
    let said = |name: &str| answer.get("content")?.get(name)?.as_str();
    let comment: String = said("comment")
        .unwrap_or_default()
        .trim()
        .chars()
        .take(LONGEST_COMMENT)
        .collect();
    if answer.get("action").and_then(Value::as_str) != Some("accept") {
        return Ok(None);
    }
    match said("decision") {
        Some("commit") if may_commit => commit(call, id, preview.options, &comment).map(Some),
        Some("reject") if may_commit => reject(call, id, &comment).map(Some),
        _ if comment.is_empty() => Ok(None),
        _ => comment_only(call, id, &comment).map(Some),
    }
}

fn preview(call: &Call<'_>) -> Result<Preview, Trouble> {
    let failed = |error: handfast_session::Error| {
        let text = format!("EIO: the overlay cannot be read: {}", error.detail());
        Trouble::new(ErrorKind::Io, text)
    };
    let session = call.session;
    let leave_out = session.ignored(&[]).map_err(failed)?;
    let (chosen, mut shown) = session.chosen(&[], &leave_out).map_err(failed)?;
    let (mut text, mut is_whole) = (String::new(), !chosen.is_empty());
    session
        .review(&ReviewOptions::default(), &mut |change| {
            if !chosen.iter().any(|path| is_about(&change, path)) {
                return Ok(());
            }
            shown.note(&change);
            is_whole &= !matches!(change.content, Content::NotShown { .. });
            let lines = lines(call, &change);
            if text.len() + lines.len() > MOST_SHOWN {
                is_whole = false;
                return Ok(());
            }
            text.push_str(&lines);
            Ok(())
        })
        .map_err(failed)?;
    let options = CommitOptions {
        shown: Some(shown),
        leave_out,
        ..CommitOptions::default()
    };
    Ok(Preview {
        text,
        is_whole,
        options,
    })
}

/// Whether a change is the one that was chosen, or what goes with it.
fn is_about(change: &Change, chosen: &VirtualPath) -> bool {
    match change.kind {
        DiffKind::Deleted => change.path.starts_with(chosen),
        _ => change.path == *chosen,
    }
}

/// A change with its content, hidden characters spelled out.
fn lines(call: &Call<'_>, change: &Change) -> String {
    let mut change = change.clone();
    call.hide_outside(&mut change.from);
    if change.from.is_none() {
        change.from_below = None;
    }
    let slash = if change.is_dir() { "/" } else { "" };
    let name = call.view.name_of(&change.path);
    let mut text = format!("{} {name}{slash}", change.kind.name());
    let facts = change.facts();
    if !facts.is_empty() {
        text.push_str(&format!(" ({facts})"));
    }
    text.push('\n');
    for (_, line) in change.lines() {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// The question, and the form for its answer.
fn question(call: &Call<'_>, preview: &Preview, may_commit: bool) -> Value {
    let name = call.server.overlay().unwrap_or_default();
    let (mut properties, mut required) = (json!({}), json!([]));
    let what = if may_commit {
        properties["decision"] = json!({
            "type": "string",
            "title": "Decision",
            "description": "commit: these changes are written to the disk. reject: they are not, and the comment says why. later: nothing is decided.",
            "enum": ["commit", "reject", "later"],
        });
        required = json!(["decision"]);
        "`commit` writes these changes to the disk, and nothing else.".to_owned()
    } else {
        format!(
            "Your comment goes to the agent. The answer commits nothing: `handfast session commit {name}` does, and `handfast session diff {name}` shows everything."
        )
    };
    properties["comment"] = json!({
        "type": "string",
        "title": "Comment",
        "description": "What the agent should do differently",
        "maxLength": LONGEST_COMMENT,
    });
    let rest = match preview.is_whole {
        true => "",
        false => "\n[Not everything is shown here.]\n",
    };
    json!({
        "message": format!(
            "The agent proposes these changes of the session `{name}`:\n\n{}{rest}\n{what}",
            preview.text
        ),
        "requestedSchema": {"type": "object", "properties": properties, "required": required},
    })
}

fn commit(
    call: &Call<'_>,
    id: &str,
    options: CommitOptions,
    comment: &str,
) -> Result<String, Trouble> {
    let message = match comment {
        "" => "approved through the client".to_owned(),
        comment => format!("approved through the client: {comment}"),
    };
    let options = CommitOptions {
        message: Some(message),
        ..options
    };
    let committed = call.session.commit(&options, &mut |_, _| {});
    let Committed {
        committed,
        conflicts,
        ..
    } = committed.map_err(|error| {
        let text = format!(
            "Not committed - {}. Nothing that waits was lost; propose it again.",
            error.detail()
        );
        Trouble::new(error.kind(), text)
    })?;
    if !conflicts.is_empty() {
        let lines = conflicts
            .iter()
            .map(|(path, why)| format!("{}: {why}", call.view.name_of(path)));
        let lines: Vec<String> = lines.collect();
        let text = format!(
            "Not committed - others changed files meanwhile, so nothing was written:\n{}",
            lines.join("\n")
        );
        return Err(Trouble::new(ErrorKind::Stale, text));
    }
    let remark = match comment {
        "" => String::new(),
        comment => format!(" The person says: {comment}"),
    };
    Ok(format!(
        "The person committed proposal {id}: {} on disk now.{remark}",
        match committed.len() {
            1 => "1 change is".to_owned(),
            _ => format!("{} are", counted(committed.len())),
        }
    ))
}

fn reject(call: &Call<'_>, id: &str, comment: &str) -> Result<String, Trouble> {
    let why = match comment {
        "" => "no reason was given",
        comment => comment,
    };
    call.tell_refused(Verb::Commit, &format!("rejected through the client: {why}"))?;
    Ok(format!(
        "The person rejected proposal {id}: {why}\n\nNothing is on disk. Your changes are still in the overlay: change what the person asks for, then propose again."
    ))
}

fn comment_only(call: &Call<'_>, id: &str, comment: &str) -> Result<String, Trouble> {
    let why = format!("not committed; a comment through the client: {comment}");
    call.tell_refused(Verb::Commit, &why)?;
    Ok(format!(
        "The person says about proposal {id}: {comment}\n\nNothing is on disk, and nothing is decided: the proposal waits."
    ))
}
