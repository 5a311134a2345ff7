//! Who made what a name refers to: the session, or somebody who writes to the base.

use handfast::{ErrorKind, RelPath};

use super::Overlay;
use super::tree::{Now, Tree, Was, base_path, join};
use crate::error::Error;

/// Who made what is at a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Owner {
    /// The session, under a name that the base did not have; or the base shows nothing there.
    Session,
    /// The base has it, or had it when the session covered it.
    Base,
    /// The overlay has nothing there, and the base would have it here.
    Nobody(RelPath),
}

impl Overlay {
    /// Who made what is at a path.
    pub(crate) fn owner(&self, path: &RelPath) -> Result<Owner, Error> {
        self.with_tree(|tree| tree.owner(path))
    }

    /// Whether the base has nothing at a path. When in doubt it has.
    pub(crate) fn is_free(&self, at: &RelPath) -> bool {
        let found = self.base.symlink_metadata(at);
        found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }
}

impl Tree {
    /// Who made what is at a path.
    pub(crate) fn owner(&self, path: &RelPath) -> Owner {
        let mut dir = &self.root;
        let mut names = path.segments().map(|name| name.as_bytes()).peekable();
        while let Some(name) = names.next() {
            let Some(entry) = dir.children.get(name) else {
                // A directory that the session made may hold one of the base; elsewhere nothing of the
                // base shows in it.
                let Some(origin) = &dir.origin else {
                    return Owner::Session;
                };
                let mut at = join(origin, name);
                for name in names {
                    at = join(&at, name);
                }
                return base_path(&at).map_or(Owner::Base, Owner::Nobody);
            };
            match (&entry.now, names.peek()) {
                (Now::Dir(next), Some(_)) => dir = next,
                (Now::Dir(next), None) if next.origin.is_some() => return Owner::Base,
                (Now::Gone, _) => return Owner::Base,
                _ if entry.was == Was::Absent => return Owner::Session,
                _ => return Owner::Base,
            }
        }
        Owner::Base
    }
}

#[cfg(test)]
mod tests {
    use handfast::{Root, TempDir};

    use super::*;
    use crate::meter::Account;
    use crate::overlay::look::whole;
    use crate::overlay::tree::{Change, ContentLocation, DirNode, FileNode, NodeEntry};
    use crate::place::Spot;
    use crate::quota::Quota;

    /// The name was the session's own when it was judged, and falls through to the base when it is read.
    #[test]
    fn what_is_read_is_still_what_the_session_made() {
        let above = Root::open_ambient(std::env::temp_dir()).unwrap();
        let dir = || -> TempDir { above.temp_dir(&RelPath::root()).unwrap() };
        let (base_dir, home_dir) = (dir(), dir());
        let (base, home) = (base_dir.root().clone(), home_dir.root().clone());
        Overlay::create(&home).unwrap();
        let account = Account::open(None, Quota::new(), vec![Quota::new()]).unwrap();
        let overlay = Overlay::open(base.clone(), home, account, 0).unwrap();
        let path = RelPath::parse(".env").unwrap();
        base.write(&path, "SECRET").unwrap();
        let spot = |must_own| Spot {
            must_own,
            ..whole(&path)
        };
        assert!(overlay.open_read(spot(false)).is_ok());
        let refused = overlay.open_read(spot(true)).map(drop).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Raced);
        let refused = overlay.symlink_metadata(spot(true)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Raced);
        assert!(overlay.list(spot(true)).is_err());
    }

    #[test]
    fn what_the_base_has_or_had_is_not_the_sessions() {
        let mut tree = Tree::new();
        let file = |was| NodeEntry {
            was,
            now: Now::File(FileNode {
                content: ContentLocation::Object {
                    id: 1,
                    sealed: false,
                    linked: None,
                },
                origin: None,
            }),
        };
        let dir = |origin: Option<&str>, was| NodeEntry {
            was,
            now: Now::Dir(DirNode {
                id: 1,
                origin: origin.map(|origin| origin.as_bytes().to_vec()),
                ..DirNode::default()
            }),
        };
        let gone = NodeEntry {
            was: Was::File("v".to_owned()),
            now: Now::Gone,
        };
        for (path, entry) in [
            ("new", file(Was::Absent)),
            ("old", file(Was::File("v".to_owned()))),
            ("gone", gone),
            ("made", dir(None, Was::Absent)),
            ("moved", dir(Some("from"), Was::Absent)),
            ("moved/own", file(Was::Absent)),
            ("made/taken", dir(Some("theirs"), Was::Absent)),
            ("over", dir(None, Was::Link(b"x".to_vec()))),
        ] {
            let path = path.as_bytes().to_vec();
            tree.apply(Change::Put { path, entry }).unwrap();
        }
        let nobody = |at: &str| Owner::Nobody(RelPath::parse(at).unwrap());
        for (path, owner) in [
            ("new", Owner::Session),
            ("new/below", Owner::Session),
            ("old", Owner::Base),
            ("gone", Owner::Base),
            ("made", Owner::Session),
            ("made/any/thing", Owner::Session),
            ("made/taken", Owner::Base),
            ("made/taken/x", nobody("theirs/x")),
            ("moved", Owner::Base),
            ("moved/own", Owner::Session),
            ("moved/theirs/x", nobody("from/theirs/x")),
            ("over", Owner::Base),
            ("over/below", Owner::Session),
            ("else/where", nobody("else/where")),
        ] {
            assert_eq!(tree.owner(&RelPath::parse(path).unwrap()), owner, "{path}");
        }
    }
}
