//! Which directories a client may reach, under which names.

use handfast::ErrorKind;
use handfast_session::{Access, Error, Reason, Scope, VirtualPath};

use crate::text::names;

/// One name of an allowed directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Allowed {
    /// As clients write it.
    pub(crate) spelled: VirtualPath,
    /// Where that is in the session.
    pub(crate) place: VirtualPath,
}

/// The allowed directories of one client.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientView {
    pub(crate) allowed: Vec<Allowed>,
    /// The client asked for less than the operator grants; links are looked at once more.
    pub(crate) narrowed: bool,
    /// Why there is no directory, if there is none.
    pub(crate) why_empty: Option<String>,
}

impl ClientView {
    /// Allows a directory under one more name.
    pub(crate) fn allow(&mut self, spelled: VirtualPath, place: VirtualPath) {
        if !self.allowed.iter().any(|known| known.spelled == spelled) {
            self.allowed.push(Allowed { spelled, place });
        }
    }

    /// The directories as text, as they are listed.
    pub(crate) fn texts(&self) -> Vec<String> {
        let spelled = self.allowed.iter().map(|allowed| &allowed.spelled);
        spelled.map(names::path).collect()
    }

    /// The name of a place in the session, as clients can give it back. A directory that goes by the
    /// same name in the session keeps it.
    pub(crate) fn name_of(&self, place: &VirtualPath) -> String {
        names::path(&self.spelled(place))
    }

    /// As [`ClientView::name_of`], as a path.
    pub(crate) fn spelled(&self, place: &VirtualPath) -> VirtualPath {
        let holds = |allowed: &&Allowed| place.starts_with(&allowed.place);
        let depth = |allowed: &Allowed| allowed.place.as_rel().depth();
        let innermost = self.allowed.iter().filter(holds).map(depth).max();
        let mut holders = self
            .allowed
            .iter()
            .filter(holds)
            .filter(|allowed| Some(depth(allowed)) == innermost);
        let last = holders.clone().next_back();
        let same = holders.find(|allowed| allowed.spelled == allowed.place);
        let found = same.or(last).and_then(|allowed| {
            let rest = place.strip_prefix(&allowed.place)?;
            Some(allowed.spelled.join(rest))
        });
        found.unwrap_or_else(|| place.clone())
    }

    /// Where a path is in the session, if it is allowed: by the longest name that fits.
    pub(crate) fn locate(&self, asked: &VirtualPath) -> Option<VirtualPath> {
        self.allowed
            .iter()
            .filter_map(|allowed| Some((allowed, asked.strip_prefix(&allowed.spelled)?)))
            .max_by_key(|(allowed, _)| allowed.spelled.as_rel().depth())
            .map(|(allowed, rest)| allowed.place.join(rest))
    }

    /// The allowed directory that holds a path in the session: the innermost one.
    pub(crate) fn holder(&self, place: &VirtualPath) -> Option<&VirtualPath> {
        self.allowed
            .iter()
            .map(|allowed| &allowed.place)
            .filter(|dir| place.starts_with(dir))
            .max_by_key(|dir| dir.as_rel().depth())
    }
}

/// A client that asked for less than the operator grants gets no more: the session asks this about
/// the path that was walked, after links.
impl Scope for ClientView {
    fn check(&self, path: &VirtualPath, _access: Access) -> Result<(), Error> {
        match self.holder(path) {
            Some(_) => Ok(()),
            None => Err(Error::refused(
                ErrorKind::Escape,
                "a symbolic link leads out of the client's own roots",
            )
            .because(Reason::OutOfScope)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VirtualPath {
        VirtualPath::parse(text).unwrap()
    }

    #[test]
    fn the_longest_name_decides_and_names_are_compared_whole() {
        let allowed = |spelled: &str, place: &str| Allowed {
            spelled: path(spelled),
            place: path(place),
        };
        let view = ClientView {
            allowed: vec![allowed("/l", "/real"), allowed("/l/deep", "/other")],
            narrowed: false,
            why_empty: None,
        };
        assert_eq!(view.locate(&path("/l/x")), Some(path("/real/x")));
        assert_eq!(view.locate(&path("/l")), Some(path("/real")));
        assert_eq!(view.locate(&path("/l/deep/x")), Some(path("/other/x")));
        assert_eq!(view.locate(&path("/l2/x")), None);
        assert_eq!(view.locate(&path("/elsewhere")), None);
        assert_eq!(view.holder(&path("/other/x")), Some(&path("/other")));
        assert_eq!(view.holder(&path("/otherwise")), None);
        assert_eq!(view.name_of(&path("/real/x")), "/l/x");
        assert_eq!(view.name_of(&path("/other")), "/l/deep");
        assert_eq!(view.name_of(&path("/elsewhere")), "/elsewhere");
        let both = ClientView {
            allowed: vec![
                allowed("/real", "/real"),
                allowed("/l", "/real"),
                allowed("/srv/p", "/"),
            ],
            ..ClientView::default()
        };
        assert_eq!(both.name_of(&path("/real/x")), "/real/x");
        assert_eq!(both.name_of(&path("/src/x")), "/srv/p/src/x");
    }
}
