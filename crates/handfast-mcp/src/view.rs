//! Which directories a client may reach, under which names.

use handfast::ErrorKind;
use handfast_session::{Access, Error, Reason, Scope, VirtualPath};

use crate::text::names;

/// One name of an allowed directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Allowed {
    /// As clients write it: absolute, without a slash at the end.
    pub(crate) spelled: Vec<u8>,
    /// Where that is in the session.
    pub(crate) place: Vec<u8>,
}

/// The allowed directories of one client.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub(crate) allowed: Vec<Allowed>,
    /// The client asked for less than the operator grants; links are looked at once more.
    pub(crate) narrowed: bool,
}

impl View {
    /// The directories as text, as they are listed.
    pub(crate) fn texts(&self) -> Vec<String> {
        let shown = |allowed: &Allowed| names::shown(&allowed.spelled).into_owned();
        self.allowed.iter().map(shown).collect()
    }

    /// Where an absolute path is in the session, if it is allowed: by the longest name that fits.
    pub(crate) fn locate(&self, absolute: &[u8]) -> Option<Vec<u8>> {
        self.allowed
            .iter()
            .filter_map(|allowed| Some((allowed, below(&allowed.spelled, absolute)?)))
            .max_by_key(|(allowed, _)| allowed.spelled.len())
            .map(|(allowed, rest)| join(&allowed.place, rest))
    }

    /// Whether a path in the session lies in an allowed directory.
    pub(crate) fn holds(&self, place: &[u8]) -> bool {
        self.allowed
            .iter()
            .any(|allowed| below(&allowed.place, place).is_some())
    }
}

/// A client that asked for less than the operator grants gets no more: the session asks this about
/// the path that was walked, after links.
impl Scope for View {
    fn check(&self, path: &VirtualPath, _access: Access) -> Result<(), Error> {
        let mut bytes = vec![b'/'];
        bytes.extend_from_slice(path.as_rel().as_bytes());
        if self.holds(&bytes) {
            return Ok(());
        }
        Err(Error::refused(
            ErrorKind::Escape,
            "a symbolic link leads out of the client's own roots",
        )
        .because(Reason::OutOfScope))
    }
}

/// What is left of a path below a directory, compared by whole names.
pub(crate) fn below<'a>(dir: &[u8], path: &'a [u8]) -> Option<&'a [u8]> {
    let dir = dir.strip_suffix(b"/").unwrap_or(dir);
    match path.strip_prefix(dir)? {
        [] => Some(b""),
        [b'/', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// A path below a directory.
pub(crate) fn join(dir: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut path = dir.to_vec();
    if !rest.is_empty() {
        if !path.ends_with(b"/") {
            path.push(b'/');
        }
        path.extend_from_slice(rest);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_compared_by_whole_names() {
        assert_eq!(below(b"/srv/ws", b"/srv/ws/a"), Some(&b"a"[..]));
        assert_eq!(below(b"/srv/ws", b"/srv/ws"), Some(&b""[..]));
        assert_eq!(below(b"/srv/ws", b"/srv/ws2/a"), None);
        assert_eq!(below(b"/", b"/a/b"), Some(&b"a/b"[..]));
        assert_eq!(join(b"/", b"a"), b"/a");
        assert_eq!(join(b"/srv", b""), b"/srv");
    }

    #[test]
    fn the_longest_name_decides() {
        let allowed = |spelled: &str, place: &str| Allowed {
            spelled: spelled.into(),
            place: place.into(),
        };
        let view = View {
            allowed: vec![allowed("/l", "/real"), allowed("/l/deep", "/other")],
            narrowed: false,
        };
        assert_eq!(view.locate(b"/l/x"), Some(b"/real/x".to_vec()));
        assert_eq!(view.locate(b"/l/deep/x"), Some(b"/other/x".to_vec()));
        assert_eq!(view.locate(b"/elsewhere"), None);
    }
}
