//! What a model is told about where it is, before it calls anything.

use crate::options::Options;
use crate::view::View;

/// The sentences for `instructions`.
pub(crate) fn text(view: &View, overlay: Option<&str>, options: &Options) -> String {
    let dirs = view.texts();
    let first = dirs.first().map_or("/", String::as_str);
    let mut sentences = vec![
        format!("The files that you can reach lie in: {}.", dirs.join(", ")),
        format!("Relative paths begin at {first}."),
    ];
    if options.read_only {
        sentences.push("Nothing can be changed: the server is read-only.".to_owned());
    }
    if let Some(name) = overlay {
        sentences.push(format!(
            "What you change is kept in the overlay of the session `{name}`: you see your changes, the files on disk stay as they are. A person reviews the changes and commits or rejects them."
        ));
    }
    let denied = options.deny.iter().map(|pattern| format!("`{pattern}`"));
    let mut protected: Vec<String> = denied.collect();
    protected.extend(
        options
            .protect
            .iter()
            .map(|name| format!("the preset {name}")),
    );
    if !protected.is_empty() {
        sentences.push(format!("Protected, and refused: {}.", protected.join(", ")));
    }
    sentences.push(
        "Long answers are cut: `truncated` is true then, and `next` given back as `cursor` goes on. Give the `version` of a file that you read back as `expectedVersion` when you change it, so that nobody's work is lost."
            .to_owned(),
    );
    sentences.join(" ")
}
