//! Completions of paths, for the template of resources and for prompts that take one.

use serde_json::{Value, json};

use crate::call::{self, Asking, Call};
use crate::prompts;
use crate::resources::TEMPLATE;
use crate::server::Server;
use crate::text::names;
use crate::tools::list_directory;
use crate::trouble::Trouble;

/// More values than this are not given, by the protocol.
const MOST: usize = 100;

/// What a text may become; `Err` says what is wrong with the question.
pub(crate) fn complete(
    server: &Server,
    asking: Asking<'_>,
    params: &Value,
) -> Result<Value, &'static str> {
    let text = |one: &str, other: &str| params.get(one)?.get(other)?.as_str();
    let argument = text("argument", "name").ok_or("`argument` needs a `name`")?;
    let value = text("argument", "value").ok_or("`argument` needs a `value`")?;
    let is_path = match text("ref", "type") {
        Some("ref/resource") => match text("ref", "uri") {
            Some(TEMPLATE) => argument == "path",
            _ => return Err("there is no such template"),
        },
        Some("ref/prompt") => {
            let name = text("ref", "name").unwrap_or_default();
            prompts::takes_path(server, name, argument).ok_or("there is no such prompt")?
        }
        _ => return Err("`ref` must be a prompt or a resource"),
    };
    let mut values = match is_path {
        true => call::perform(server, asking, "completion/complete", value, |call| {
            paths(call, value)
        })
        // A path that is refused or missing has no completions; the log has the refusal.
        .unwrap_or_default(),
        false => Vec::new(),
    };
    let total = values.len();
    values.truncate(MOST);
    Ok(json!({"values": values, "total": total, "hasMore": total > MOST}))
}

/// The paths that begin with a text: allowed directories, and entries of the directory that it names.
fn paths(call: &Call<'_>, value: &str) -> Result<Vec<String>, Trouble> {
    let mut found = call.view.texts();
    found.retain(|dir| dir.starts_with(value) && dir != value);
    let (dir, start) = match value.rfind('/') {
        Some(slash) => value.split_at(slash + 1),
        None => ("", value),
    };
    let is_above = dir.starts_with('/') && !found.is_empty();
    let entries = match call.place_of(dir) {
        Ok(place) => {
            let entries = list_directory::read(call, call.files(), &place)?;
            let named = entries.iter().filter_map(|entry| {
                let name = names::shown(entry.name.as_bytes());
                let is_dir = || list_directory::is_dir(call, &place, entry);
                name.starts_with(start)
                    .then(|| format!("{dir}{name}{}", if is_dir() { "/" } else { "" }))
            });
            named.collect()
        }
        // On the way to an allowed directory there is nothing to list.
        Err(_) if is_above => Vec::new(),
        Err(trouble) => return Err(trouble),
    };
    found.extend(entries);
    Ok(found)
}
