//! Where in the base the directories of a path come from.

use handfast::RelPath;

use super::Overlay;
use super::tree::{Now, Tree, base_path, join};
use crate::error::Error;

impl Overlay {
    /// Where a path would lie in the base, see [`Tree::origin_of`].
    pub(crate) fn origin_of(&self, path: &RelPath) -> Result<RelPath, Error> {
        let origin = self.with_tree(|tree| tree.origin_of(path))?;
        base_path(&origin)
    }
}

impl Tree {
    /// Where a path would lie in the base, with what is new taken to lie below the last directory
    /// on the way that is of the base.
    pub(crate) fn origin_of(&self, path: &RelPath) -> Vec<u8> {
        let mut dir = Some(&self.root);
        let mut at = Vec::new();
        for name in path.segments() {
            at = join(&at, name.as_bytes());
            let entry = dir.and_then(|dir| dir.children.get(name.as_bytes()));
            dir = match entry.map(|entry| &entry.now) {
                Some(Now::Dir(next)) => Some(next),
                _ => None,
            };
            if let Some(origin) = dir.and_then(|dir| dir.origin.as_ref()) {
                at.clone_from(origin);
            }
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay::tree::{Change, DirNode, NodeEntry, Was};

    #[test]
    fn a_path_is_asked_about_where_its_directories_come_from() {
        let mut tree = Tree::new();
        let dir = |origin: Option<&str>| NodeEntry {
            was: Was::Absent,
            now: Now::Dir(DirNode {
                id: 1,
                origin: origin.map(|origin| origin.as_bytes().to_vec()),
                ..DirNode::default()
            }),
        };
        for (path, entry) in [
            ("moved", dir(Some("folds/d"))),
            ("moved/new", dir(None)),
            ("moved/back", dir(Some("plain"))),
        ] {
            let path = path.as_bytes().to_vec();
            tree.apply(Change::Put { path, entry }).unwrap();
        }
        for (path, origin) in [
            ("a/b", "a/b"),
            ("moved", "folds/d"),
            ("moved/.ENV", "folds/d/.ENV"),
            ("moved/new/x/y", "folds/d/new/x/y"),
            ("moved/back/x", "plain/x"),
        ] {
            let path = RelPath::parse(path).unwrap();
            assert_eq!(tree.origin_of(&path), origin.as_bytes());
        }
    }
}
