//! What a person can do about a refusal of a session.

use handfast::{ErrorKind, escape};
use handfast_session::{Error, Reason, SessionError as _};

/// The hint for a reason that only sessions have.
pub(crate) fn reason_hint(error: &Error) -> Option<&'static str> {
    match error.reason()? {
        Reason::Protected => Some("`handfast session explain` says which rule decides"),
        Reason::ReadOnlyMount => Some("make the session with `:overlay` or `:read-write`"),
        Reason::NotGranted => Some("`handfast approve` in another terminal answers"),
        Reason::NotMounted => Some("`handfast session show` lists what is mounted"),
        Reason::Quota => Some("`handfast session usage` shows what is used"),
        _ => None,
    }
}

/// One hint for an error of a command, if there is something to type or to change.
pub(super) fn hint(verb: &str, path: &str, error: &Error) -> Option<String> {
    if let Some(hint) = reason_hint(error) {
        return Some(hint.to_owned());
    }
    let words = match (error.reason(), error.kind()) {
        (None, ErrorKind::Busy | ErrorKind::Raced) => "try again",
        (None, ErrorKind::Stale) if is_in_tree(verb) => {
            "the file changed since you read it; read it again, then decide"
        }
        (None, ErrorKind::Invalid) if is_in_tree(verb) && !path.starts_with('/') => {
            let shown = escape(path.as_bytes());
            return Some(format!("begin it with a slash: `/{shown}`"));
        }
        (None, ErrorKind::Exists) if verb == "new" => {
            "choose another name; `handfast session rm NAME` removes the old one"
        }
        (None, ErrorKind::NotFound) if verb == "rm" => {
            "`handfast session list` shows which there are"
        }
        (None, ErrorKind::NotFound) if verb == "undo" => {
            "`handfast session show` lists the commits that can be taken back"
        }
        (None, ErrorKind::NotFound) if matches!(verb, "rollback" | "fork") => {
            "`handfast session show` lists the snapshots"
        }
        (None, ErrorKind::NotFound) if matches!(verb, "commit" | "discard") => {
            "`handfast session diff` lists what was changed"
        }
        (None, ErrorKind::Denied) if verb == "new" => {
            "this user must be able to read the base directory"
        }
        _ => return None,
    };
    Some(words.to_owned())
}

/// Whether the verb is about a path in the session, not about the session.
fn is_in_tree(verb: &str) -> bool {
    !matches!(
        verb,
        "new"
            | "list"
            | "show"
            | "diff"
            | "undo"
            | "discard"
            | "rm"
            | "snapshot"
            | "rollback"
            | "fork"
            | "usage"
    )
}
