//! Names of commands that people know from elsewhere.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// A command, words that it does not know, and what is meant by them.
const OTHER_NAMES: &[(&str, &str, &str)] = &[
    (FS, "cat get less", "`read` prints the content of a file"),
    (FS, "list dir", "`ls` lists a directory"),
    (FS, "find", "`tree` lists everything below a directory"),
    (FS, "remove delete unlink del", "`rm` removes an entry"),
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
    (FS, "unzip untar unpack", "`extract` extracts an archive"),
    (
        FS,
        "zip tar pack",
        "`archive` makes an archive of a directory",
    ),
    (SESSION, "create start add", "`new` makes a session"),
    (SESSION, "delete drop", "`rm` removes a session"),
    (SESSION, "status", "`diff` shows what was changed"),
    (SESSION, "apply merge", "`commit` applies the changes"),
    (SESSION, "restore", "`rollback` goes back to a snapshot"),
    (SESSION, "revert", "`undo` takes the last commit back"),
    (LOG, "cat list ls", "`show` prints all events"),
    (LOG, "check", "`verify` says whether the log was changed"),
    (LOG, "new create", "`init` makes a log"),
    (LEASE, "new create get", "`acquire` asks for a lease"),
    (LEASE, "read cat", "`open` prints a file"),
    (LEASE, "rm end", "`revoke` ends a lease"),
    (TOP, "version", "`handfast --version` prints it"),
    (TOP, "scan lint", "`handfast audit` looks for bugs in code"),
    (
        TOP,
        "check",
        "`handfast doctor` checks this machine, and `handfast audit` code",
    ),
    (TOP, "exec", "`handfast run` runs a program"),
    (TOP, "init new", "`handfast session new` makes a session"),
    (
        TOP,
        "diff commit undo discard",
        "sessions have this command: `handfast session --help`",
    ),
    (
        TOP,
        "ls cat read write rm cp mv",
        "`handfast fs` has the file commands",
    ),
];

const TOP: &str = "handfast";
const FS: &str = "handfast fs";
const SESSION: &str = "handfast session";
const LOG: &str = "handfast log";
const LEASE: &str = "handfast lease";

/// A command, an argument that it does not take, and what to type; an empty argument is any word
/// that is no option.
const OTHER_ARGUMENTS: &[(&str, &str, &str)] = &[
    (
        "handfast session new",
        "",
        "`--base DIR` names the directory",
    ),
    ("handfast doctor", "", "`--root DIR` names the directory"),
    (
        "handfast fs write",
        "",
        "the content comes from standard input",
    ),
    (
        "handfast fs append",
        "",
        "the content comes from standard input",
    ),
    (
        "handfast fs rm",
        "-f",
        "there is no `-f`; `rm -r` removes a directory with its content",
    ),
    (
        "handfast fs ls",
        "-l",
        "`stat` shows the mode, the size and the times of an entry",
    ),
];

/// The error with a tip of ours, where the word that was typed has another name here.
pub(crate) fn with_tip(mut error: clap::Error) -> clap::Error {
    let typed = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(typed)) => typed.clone(),
        _ => return with_argument(error),
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

/// The error with a tip of ours, where the argument that was typed is known from elsewhere.
fn with_argument(mut error: clap::Error) -> clap::Error {
    let typed = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(typed)) if error.kind() == ErrorKind::UnknownArgument => {
            typed.clone()
        }
        _ => return error,
    };
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    let usage = usage.unwrap_or_default();
    let known = OTHER_ARGUMENTS.iter().find(|(command, argument, _)| {
        let is_meant = match argument.is_empty() {
            true => !typed.starts_with('-'),
            false => typed == *argument,
        };
        is_meant && usage.contains(&format!("{command} "))
    });
    if let Some((_, _, tip)) = known {
        let tips = vec![(*tip).into()];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}
