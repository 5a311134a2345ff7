//! What a person can do about a refusal of a session.

use handfast::{ErrorKind, escape};
use handfast_session::{Error, Reason, SessionError as _};

/// One hint for an error of a command or a verb, if there is something to type or to change.
pub(super) fn hint(verb: &str, path: &str, error: &Error) -> Option<String> {
    let words = match (error.reason(), error.kind()) {
        (Some(Reason::Protected), _) => "`handfast session explain` says which rule decides",
        (Some(Reason::ReadOnlyMount), _) => "make the session with `:overlay` or `:read-write`",
        (Some(Reason::NotMounted), _) => "`handfast session show` lists what is mounted",
        (Some(Reason::Quota), _) => "`handfast session usage` shows what is used",
        (None, ErrorKind::Busy | ErrorKind::Raced) => "try again",
        (None, ErrorKind::Stale) if is_in_tree(verb) => {
            "somebody changed it since; read it again, then decide"
        }
        (None, ErrorKind::Invalid) if is_in_tree(verb) && !path.starts_with('/') => {
            let shown = escape(path.as_bytes());
            return Some(format!("begin it with a slash: `/{shown}`"));
        }
        (None, ErrorKind::NotFound) if matches!(verb, "write" | "append" | "symlink") => {
            let (parent, _) = path
                .rsplit_once('/')
                .filter(|(parent, _)| !parent.is_empty())?;
            let shown = escape(parent.as_bytes());
            return Some(format!("make the directory first: `mkdir -p {shown}`"));
        }
        (None, ErrorKind::NotFound) if verb == "mkdir" => {
            "`mkdir -p` makes the missing parents too"
        }
        (None, ErrorKind::Exists) if verb == "mkdir" => {
            "`mkdir -p` accepts a directory that is there already"
        }
        (None, ErrorKind::Exists) if verb == "write" => "without `--new` it is replaced",
        (None, ErrorKind::Exists) if verb == "new" => {
            "choose another name; `handfast session discard NAME --remove` drops the old one"
        }
        (None, ErrorKind::IsADirectory) if verb == "rm" => {
            "`rm -r` removes a directory with everything in it"
        }
        (None, ErrorKind::IsADirectory) if verb == "read" => "`ls` lists a directory",
        (None, ErrorKind::NotFound) if verb == "rollback" => {
            "`handfast session show` lists the snapshots"
        }
        _ => return None,
    };
    Some(words.to_owned())
}

/// Whether the verb is about a path in the session, not about the session.
fn is_in_tree(verb: &str) -> bool {
    !matches!(
        verb,
        "new" | "list" | "show" | "diff" | "discard" | "snapshot" | "rollback" | "fork" | "usage"
    )
}
