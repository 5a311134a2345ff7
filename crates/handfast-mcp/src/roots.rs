//! Roots that a client names. They may only narrow what the operator granted.
//!
//! A root inside an allowed directory narrows to it, one around allowed directories keeps those,
//! one beside them is dropped. If nothing is left, everything stays as it was.

use handfast::Verb;
use handfast_session::{VirtualPath, Wanted};
use serde_json::Value;

use crate::server::Server;
use crate::text::names;
use crate::view::{Allowed, View};

/// What a client's answer comes to, and what there is to say about it.
pub(crate) fn narrow(server: &Server, answer: &Value) -> (View, Vec<String>) {
    let granted = server.view();
    let mut warnings = Vec::new();
    let Some(roots) = answer.get("roots").and_then(Value::as_array) else {
        return (granted.clone(), warnings);
    };
    let mut allowed: Vec<Allowed> = Vec::new();
    for root in roots.iter().take(256) {
        let uri = root.get("uri").and_then(Value::as_str).unwrap_or_default();
        let Some(path) = file_path(uri) else {
            warnings.push("the client's roots are not all files; they are left aside".to_owned());
            return (granted.clone(), warnings);
        };
        let found = candidates(server, granted, &path);
        if found.is_empty() {
            warnings.push(format!(
                "the client's root `{}` is not in an allowed directory and is left aside",
                names::path(&path)
            ));
        }
        for one in found {
            if !allowed.contains(&one) {
                allowed.push(one);
            }
        }
    }
    if allowed.is_empty() {
        return (granted.clone(), warnings);
    }
    let narrowed = granted.allowed.iter().any(|one| !allowed.contains(one));
    (View { allowed, narrowed }, warnings)
}

fn candidates(server: &Server, granted: &View, path: &VirtualPath) -> Vec<Allowed> {
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

/// The path of a `file` URI, folded; `None` for anything else.
fn file_path(uri: &str) -> Option<VirtualPath> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let mut path = Vec::with_capacity(rest.len());
    let mut bytes = rest.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            path.push(byte);
            continue;
        }
        let hex = [bytes.next()?, bytes.next()?];
        let hex = std::str::from_utf8(&hex).ok()?;
        let byte = u8::from_str_radix(hex, 16).ok()?;
        // A slash or a NUL that is hidden would change what the path means.
        if matches!(byte, 0 | b'/') {
            return None;
        }
        path.push(byte);
    }
    let path = VirtualPath::parse(path).ok()?;
    let path = path.as_rel().clone().with_must_be_dir(false);
    Some(VirtualPath::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_file_uris_are_paths() {
        let path = |text: &str| Some(VirtualPath::parse(text).unwrap());
        assert_eq!(file_path("file:///a%20b/./c/.."), path("/a b"));
        assert_eq!(file_path("file://localhost/a"), path("/a"));
        for bad in [
            "",
            "/a",
            "http://a/b",
            "file://host/a",
            "file:///%2fetc",
            "file:///%0",
            "file:///%zz",
        ] {
            assert_eq!(file_path(bad), None, "{bad}");
        }
    }
}
