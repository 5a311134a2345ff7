//! Prompts: questions that a person picks in a client, with what the server knows put in.

use handfast::ErrorKind;
use serde_json::{Value, json};

use crate::call::{self, Asking, Call};
use crate::server::Server;
use crate::tools::list_changes;
use crate::trouble::Trouble;

/// One prompt.
struct Prompt {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// Takes a path, which narrows it.
    takes_path: bool,
}

const REVIEW: Prompt = Prompt {
    name: "review_changes",
    title: "Review my changes",
    about: "Go through what waits in the overlay before a person decides about it.",
    takes_path: true,
};

const REFUSED: Prompt = Prompt {
    name: "what_was_refused",
    title: "What was I refused?",
    about: "What this server refused to this client since it started, and what to do about it.",
    takes_path: false,
};

/// The prompts of a server: without an overlay nothing waits for a review.
fn offered(server: &Server) -> impl Iterator<Item = &'static Prompt> {
    let review = server.overlay().map(|_| &REVIEW);
    review.into_iter().chain([&REFUSED])
}

/// Whether a prompt has an argument of this name, which is a path; `None` without such a prompt.
pub(crate) fn takes_path(server: &Server, prompt: &str, argument: &str) -> Option<bool> {
    let prompt = offered(server).find(|known| known.name == prompt)?;
    Some(prompt.takes_path && argument == "path")
}

/// The prompts as JSON.
pub(crate) fn list(server: &Server) -> Value {
    let shown = offered(server).map(|prompt| {
        let mut shown = json!({
            "name": prompt.name,
            "title": prompt.title,
            "description": prompt.about,
        });
        if prompt.takes_path {
            shown["arguments"] = json!([{
                "name": "path",
                "description": "Only what was changed below this path",
                "required": false,
            }]);
        }
        shown
    });
    shown.collect()
}

/// A prompt with everything put in; `None` if there is none of that name.
pub(crate) fn get(
    server: &Server,
    asking: Asking<'_>,
    name: &str,
    arguments: &Value,
) -> Option<Result<Value, Trouble>> {
    let prompt = offered(server).find(|known| known.name == name)?;
    let path = arguments.get("path").and_then(Value::as_str);
    let path = path.filter(|path| prompt.takes_path && !path.is_empty());
    let logged = format!("prompts/get {name}");
    let text = call::perform(
        server,
        asking,
        &logged,
        path.unwrap_or_default(),
        |call| match prompt.takes_path {
            true => review(call, path),
            false => Ok(refused(call)),
        },
    );
    Some(text.map(|text| {
        let content = json!({"type": "text", "text": text});
        json!({
            "description": prompt.about,
            "messages": [{"role": "user", "content": content}],
        })
    }))
}

fn review(call: &Call<'_>, path: Option<&str>) -> Result<String, Trouble> {
    let below = path.map(|path| call.place_of(path)).transpose()?;
    let changes = call.changes().map_err(|error| {
        let text = format!("EIO: the overlay cannot be read: {}", error.detail());
        Trouble::new(ErrorKind::Io, text)
    })?;
    let lines = changes
        .iter()
        .filter(|change| {
            let is_below = |place: &crate::place::Location| change.path.starts_with(&place.path);
            below.as_ref().is_none_or(is_below)
        })
        .map(|change| list_changes::line(call.view, change));
    let (lines, rest) = fitting(call, lines);
    if lines.is_empty() {
        return Ok("Nothing that I changed waits for a review.".to_owned());
    }
    let name = call.server.overlay().unwrap_or_default();
    let more = match rest {
        0 => String::new(),
        rest => format!("\n[{rest} more; `list_changes` names them.]"),
    };
    Ok(format!(
        "These changes wait in the overlay of the session `{name}`; none of them is on disk:\n\n{}{more}\n\nGo through them one by one. Read each file and say what was changed and why. Look for mistakes, for leftovers, and for changes that the task did not ask for, and repair them. Then tell the person who decides, in a few sentences, what to look at.",
        lines.join("\n")
    ))
}

fn refused(call: &Call<'_>) -> String {
    let all = call.server.refusals().of(call.client);
    let (lines, _) = fitting(call, all.into_iter().rev().map(|line| format!("- {line}")));
    if lines.is_empty() {
        return "Nothing was refused to me since this server started.".to_owned();
    }
    format!(
        "These calls of mine were refused since this server started, the latest first:\n\n{}\n\nFor each, say what it was needed for, and how the task can be done without it or what the person would have to grant. Do not look for a way round a refusal.",
        lines.join("\n")
    )
}

/// As many lines as one answer holds, and how many are left.
fn fitting(call: &Call<'_>, lines: impl Iterator<Item = String>) -> (Vec<String>, usize) {
    let mut room = usize::try_from(call.server.answer_limit()).unwrap_or(usize::MAX);
    let (mut shown, mut rest) = (Vec::new(), 0);
    for line in lines {
        match rest == 0 && line.len() < room {
            true => {
                room -= line.len() + 1;
                shown.push(line);
            }
            false => rest += 1,
        }
    }
    (shown, rest)
}
