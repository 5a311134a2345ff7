//! Names of commands that people know from elsewhere.

use clap::error::{ContextKind, ContextValue};

/// A command, a word that it does not know, and what is meant.
const OTHER_NAMES: &[(&str, &str, &str)] = &[
    ("handfast fs", "cat", "`read` prints the content of a file"),
    ("handfast fs", "get", "`read` prints the content of a file"),
    ("handfast fs", "list", "`ls` lists a directory"),
    ("handfast fs", "dir", "`ls` lists a directory"),
    (
        "handfast fs",
        "find",
        "`tree` lists everything below a directory",
    ),
    ("handfast fs", "remove", "`rm` removes an entry"),
    ("handfast fs", "delete", "`rm` removes an entry"),
    ("handfast fs", "unlink", "`rm` removes an entry"),
    (
        "handfast fs",
        "rmdir",
        "`rm -r` removes a directory with everything in it",
    ),
    (
        "handfast fs",
        "touch",
        "`write --new` creates a file from standard input",
    ),
    (
        "handfast fs",
        "put",
        "`write` takes the content from standard input",
    ),
    ("handfast fs", "copy", "`cp` copies a file"),
    ("handfast fs", "move", "`mv` renames an entry"),
    ("handfast fs", "rename", "`mv` renames an entry"),
    (
        "handfast fs",
        "ln",
        "`symlink` makes a symbolic link, and `link` a hard link",
    ),
    ("handfast fs", "info", "`stat` says what is there"),
    (
        "handfast",
        "version",
        "`handfast --version` prints the version",
    ),
];

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
        .find(|(command, name, _)| *name == typed && is_of(command));
    if let Some((_, _, tip)) = known {
        // What is spelled alike is not what was meant.
        error.remove(ContextKind::SuggestedSubcommand);
        let tips = vec![(*tip).into()];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}
