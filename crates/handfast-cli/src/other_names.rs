//! Names of commands that people know from elsewhere.

use clap::error::{ContextKind, ContextValue};

/// A command, words that it does not know, and what is meant by them.
const OTHER_NAMES: &[(&str, &str, &str)] = &[
    (FS, "cat get less", "`read` prints the content of a file"),
    (FS, "list dir", "`ls` lists a directory"),
    (FS, "find", "`tree` lists everything below a directory"),
    (FS, "remove delete unlink", "`rm` removes an entry"),
    (FS, "rmdir", "`rm -r` removes a directory"),
    (FS, "touch", "`write --new` creates a file"),
    (
        FS,
        "put tee",
        "`write` takes the content from standard input",
    ),
    (FS, "copy", "`cp` copies a file"),
    (FS, "move rename", "`mv` renames an entry"),
    (FS, "ln", "`symlink` makes a link, and `link` a hard link"),
    (FS, "info", "`stat` says what is there"),
    ("handfast", "version", "`handfast --version` prints it"),
];

const FS: &str = "handfast fs";

/// The error with a tip of ours, where the word that was typed has another name here.
pub(crate) fn with_tip(mut error: clap::Error) -> clap::Error {
    let typed = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(typed)) => typed.clone(),
        _ => return error,
    };
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    let usage = usage.unwrap_or_default();
    let usage = usage.trim_start_matches("Usage:").trim_start();
    let is_of = |command: &str| {
        let rest = usage.strip_prefix(command).unwrap_or_default();
        rest.starts_with(" [") || rest.starts_with(" <")
    };
    let known = OTHER_NAMES
        .iter()
        .find(|(command, names, _)| names.split(' ').any(|name| name == typed) && is_of(command));
    if let Some((_, _, tip)) = known {
        // What is spelled alike is not what was meant.
        error.remove(ContextKind::SuggestedSubcommand);
        let tips = vec![(*tip).into()];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}
