//! A git directory is one unit: it is committed whole, its objects before the names that lead to them,
//! and its index is nobody's work.

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

/// Whether a path is an object of a git directory, or a directory of objects.
pub(super) fn is_object(path: &[u8]) -> bool {
    let below = git_dir(path).and_then(|dir| path.get(dir.len() + 1..));
    below.is_some_and(|below| below == b"objects" || below.starts_with(b"objects/"))
}

/// Whether a file says which objects count. It is written after all objects are there.
pub(super) fn is_name_of_objects(path: &[u8]) -> bool {
    git_dir(path).is_some_and(|dir| dir.len() < path.len()) && !is_object(path)
}

/// The index of a git directory: a cache that `git status` rewrites and git repairs from the files.
pub(in crate::overlay) fn is_index(path: &[u8]) -> bool {
    let (dir, name) = split(path);
    name == b"index" && split(dir).1 == b".git"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_a_git_directory_is_known() {
        assert_eq!(git_dir(b"a/.git/refs/x"), Some(&b"a/.git"[..]));
        assert_eq!(git_dir(b".git"), Some(&b".git"[..]));
        assert_eq!(git_dir(b"a/.github/x"), None);
        assert!(is_object(b".git/objects/ab/cd") && is_object(b".git/objects"));
        assert!(!is_object(b".git/objects.txt") && !is_object(b"objects/x"));
        assert!(is_name_of_objects(b"a/.git/HEAD") && !is_name_of_objects(b".git"));
        assert!(!is_name_of_objects(b".git/objects/pack/p"));
        assert!(is_index(b".git/index") && is_index(b"a/.git/index"));
        assert!(!is_index(b"index") && !is_index(b".git/modules/x/index"));
    }
}
