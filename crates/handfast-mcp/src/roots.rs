//! Roots that a client names. They may only narrow what the operator granted.
//!
//! A root inside an allowed directory narrows to it, one around allowed directories keeps those. One
//! that is outside, missing or of another scheme narrows to nothing, and so does an empty list: a
//! client that restricts itself never gets more because its restriction is not understood.

use handfast::Verb;
use handfast_session::{VirtualPath, Wanted};
use serde_json::Value;

use crate::server::Server;
use crate::uri::file_path;
use crate::view::{Allowed, ClientView};

/// How many roots of a client are taken.
const MOST: usize = 256;

/// A view of nothing, and why, for people.
pub(crate) fn none(why: &str) -> (ClientView, String) {
    let why = format!("{why}, so it reaches nothing");
    let view = ClientView {
        allowed: Vec::new(),
        narrowed: true,
        why_empty: Some(why.clone()),
    };
    (view, why)
}

/// What a client's answer comes to, and what there is to say about it.
pub(crate) fn narrow(server: &Server, answer: &Value) -> (ClientView, Vec<String>) {
    let granted = server.view();
    let mut warnings = Vec::new();
    let Some(roots) = answer.get("roots").and_then(Value::as_array) else {
        let (view, why) = none("the client did not tell its roots");
        return (view, vec![why]);
    };
    let mut allowed: Vec<Allowed> = Vec::new();
    if roots.len() > MOST {
        let more = roots.len() - MOST;
        warnings.push(format!("the client named {more} roots more than are taken"));
    }
    for root in roots.iter().take(MOST) {
        let uri = root.get("uri").and_then(Value::as_str).unwrap_or_default();
        let found = match file_path(uri) {
            Some(path) => candidates(server, granted, &path),
            None => Vec::new(),
        };
        if found.is_empty() {
            warnings.push(format!(
                "the client's root `{}` is no directory in an allowed one",
                handfast::escape(uri.as_bytes())
            ));
        }
        for one in found {
            if !allowed.contains(&one) {
                allowed.push(one);
            }
        }
    }
    if allowed.is_empty() {
        let (view, why) = match roots.is_empty() {
            true => none("the client named no roots"),
            false => none("none of the client's roots is a directory in an allowed one"),
        };
        warnings.push(why);
        return (view, warnings);
    }
    let narrowed = granted.narrowed || granted.allowed.iter().any(|one| !allowed.contains(one));
    let view = ClientView {
        allowed,
        narrowed,
        why_empty: None,
    };
    (view, warnings)
}

fn candidates(server: &Server, granted: &ClientView, path: &VirtualPath) -> Vec<Allowed> {
    if let Some(place) = granted.locate(path) {
        let session = server.session();
        let is_dir = session.metadata(&place).is_ok_and(|status| status.is_dir());
        let real = session.explain(&place, Wanted(Verb::Metadata));
        return match real.ok().and_then(|said| said.decided_on) {
            Some(place) if is_dir => vec![Allowed {
                spelled: path.clone(),
                place,
            }],
            _ => Vec::new(),
        };
    }
    let around = granted
        .allowed
        .iter()
        .filter(|one| one.spelled.starts_with(path));
    around.cloned().collect()
}
