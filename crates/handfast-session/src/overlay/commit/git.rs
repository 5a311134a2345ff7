//! A git directory is one unit: it is committed whole, its objects before the names that lead to them,
//! and its index is nobody's work.

use handfast::{FileKind, RelPath};

use crate::overlay::Overlay;
use crate::overlay::tree::split;

/// The git directory in which a path lies, or which it is.
pub(super) fn git_dir(path: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    for name in path.split(|byte| *byte == b'/') {
        let end = at + name.len();
        if name == b".git" {
            return Some(&path[..end]);
        }
        at = end + 1;
    }
    None
}

/// Which paths below a mount are git's.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::overlay) struct GitPaths {
    /// The mount itself is a git directory, which worktrees share.
    is_top: bool,
}

impl GitPaths {
    /// The path of something in a git directory, below that directory.
    fn below(self, path: &[u8]) -> Option<&[u8]> {
        match self.is_top {
            true => Some(path),
            false => path.get(git_dir(path)?.len() + 1..),
        }
    }

    /// Whether a path lies in a git directory.
    pub(super) fn is_inside(self, path: &[u8]) -> bool {
        self.below(path).is_some_and(|below| !below.is_empty())
    }

    /// Whether a path is an object of a git directory, or a directory of objects.
    pub(super) fn is_object(self, path: &[u8]) -> bool {
        let below = self.below(path);
        below.is_some_and(|below| below == b"objects" || below.starts_with(b"objects/"))
    }

    /// Whether a file says which objects count. It is written after all objects are there.
    pub(super) fn is_name_of_objects(self, path: &[u8]) -> bool {
        self.below(path).is_some() && !self.is_object(path)
    }

    /// The index of a git directory: a cache that `git status` rewrites and git repairs from the
    /// files. Where worktrees share the directory, each has one.
    pub(in crate::overlay) fn is_index(self, path: &[u8]) -> bool {
        let (dir, name) = split(path);
        let (above, last) = split(dir);
        name == b"index"
            && match self.is_top {
                true => dir.is_empty() || (above == b"worktrees" && !last.is_empty()),
                false => last == b".git",
            }
    }
}

impl Overlay {
    /// Which paths of the mount are git's.
    pub(in crate::overlay) fn git_paths(&self) -> GitPaths {
        let is = |name: &str, kind| {
            let path = RelPath::parse(name);
            let status = path.and_then(|path| self.base.symlink_metadata(&path));
            status.is_ok_and(|status| status.kind == kind)
        };
        let is_top =
            is("HEAD", FileKind::File) && is("objects", FileKind::Dir) && is("refs", FileKind::Dir);
        GitPaths { is_top }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_a_git_directory_is_known() {
        assert_eq!(git_dir(b"a/.git/refs/x"), Some(&b"a/.git"[..]));
        assert_eq!(git_dir(b".git"), Some(&b".git"[..]));
        assert_eq!(git_dir(b"a/.github/x"), None);
        let in_project = GitPaths::default();
        for path in [&b".git/objects/ab/cd"[..], b".git/objects"] {
            assert!(in_project.is_object(path));
        }
        for path in [&b".git/objects.txt"[..], b"objects/x"] {
            assert!(!in_project.is_object(path));
        }
        for (path, leads) in [
            (&b"a/.git/HEAD"[..], true),
            (b".git", false),
            (b".git/objects/pack/p", false),
        ] {
            assert_eq!(in_project.is_name_of_objects(path), leads);
        }
        for (path, is_it) in [
            (&b".git/index"[..], true),
            (b"a/.git/index", true),
            (b"index", false),
            (b".git/modules/x/index", false),
            (b"worktrees/x/index", false),
        ] {
            assert_eq!(in_project.is_index(path), is_it);
        }
    }

    #[test]
    fn a_mount_can_be_a_git_directory_itself() {
        let own = GitPaths { is_top: true };
        assert!(own.is_object(b"objects/ab/cd") && !own.is_object(b"refs/heads/objects"));
        assert!(own.is_name_of_objects(b"refs/heads/x") && !own.is_name_of_objects(b"objects/x"));
        assert!(own.is_index(b"index") && own.is_index(b"worktrees/x/index"));
        assert!(!own.is_index(b"a/index") && !own.is_index(b"worktrees/index"));
    }
}
