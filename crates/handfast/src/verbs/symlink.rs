//! Create a symbolic link that stays beneath the root.

use std::fmt;

use crate::error::{Error, ErrorKind, Fault};
use crate::escape::escape;
use crate::path::{Limits, NameRef, RelPath};
use crate::resolve::{self, Last};
use crate::root::Root;
use crate::sys;
use crate::verb::Verb;

/// The text of a symbolic link. Not a path: no verb takes it for one.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct SymlinkTarget(Vec<u8>);

impl SymlinkTarget {
    /// The text of a link as a layer stored it.
    #[must_use]
    pub fn from_stored(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The text as it is stored in the link.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for SymlinkTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(&self.0))
    }
}

impl Root {
    /// Creates a symbolic link.
    ///
    /// # Errors
    /// `Escape` if the target is absolute, climbs above the root from where the link is, or has
    /// `..` after a name; `Invalid` if it is empty or holds NUL; `TooLong`; `Exists` if the name is taken.
    ///
    /// # Security
    /// The target is judged as text, from the depth at which the link really is. `..` may be at
    /// its beginning only: after a name that is itself a link it would lead up from elsewhere. What a
    /// link leads to is decided again each time it is followed.
    pub fn symlink(&self, target: impl AsRef<[u8]>, path: &RelPath) -> Result<(), Error> {
        let target = target.as_ref();
        self.act(Verb::Symlink, path, |op| {
            resolve::require_file_path(self, path, Last::Itself)?;
            let (place, depth) = resolve::place_with_depth(self, path)?;
            check_target(target, depth)?;
            op.allow_in(place.recorded_parent(self)?, None)?;
            sys::symlink_at(target, &place.dir, place.name.as_c_str())
        })
    }
}

/// Whether a link at a path would stay beneath the root that the path counts from, as
/// [`Root::symlink`] asks it; for layers that keep links themselves.
///
/// # Errors
/// As [`Root::symlink`].
pub fn check_symlink_target(target: &[u8], path: &RelPath) -> Result<(), Error> {
    check_target(target, path.depth().saturating_sub(1))
        .map_err(|fault| Error::new(Verb::Symlink, "", fault))
}

/// Whether a link in a directory `depth` levels below the root stays beneath it.
pub(super) fn check_target(target: &[u8], depth: usize) -> Result<(), Fault> {
    if target.is_empty() {
        return Err(Fault::rule(
            ErrorKind::Invalid,
            "the link's target is empty",
        ));
    }
    if target.contains(&0) {
        return Err(Fault::rule(
            ErrorKind::Invalid,
            "the link's target holds a NUL byte",
        ));
    }
    if target.len() >= Limits::DEFAULT.total {
        return Err(Fault::rule(
            ErrorKind::TooLong,
            "the link's target is too long",
        ));
    }
    if target.first() == Some(&b'/') {
        return Err(Fault::rule(
            ErrorKind::Escape,
            "the link's target is absolute",
        ));
    }
    let (mut depth, mut after_name) = (depth, false);
    for segment in target.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            // What the name refers to may be a link by then, and `..` leads up from where that
            // leads.
            b".." if after_name => {
                return Err(Fault::rule(
                    ErrorKind::Escape,
                    "`..` comes after a name in the link's target",
                ));
            }
            b".." => {
                depth = depth.checked_sub(1).ok_or_else(|| {
                    Fault::rule(ErrorKind::Escape, "the link's target leaves the root")
                })?;
            }
            name => {
                NameRef::check(name, &Limits::DEFAULT)?;
                after_name = true;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_target;
    use crate::ErrorKind;

    #[test]
    fn targets_are_judged_from_where_the_link_stands() {
        for (target, depth) in [
            ("a", 0),
            ("../a", 1),
            ("../../a", 2),
            ("./.././a/./b", 1),
            ("./a/", 0),
        ] {
            assert!(check_target(target.as_bytes(), depth).is_ok(), "{target}");
        }
        for (target, depth, kind) in [
            ("..", 0, ErrorKind::Escape),
            ("../a", 0, ErrorKind::Escape),
            ("a/../b", 3, ErrorKind::Escape),
            ("../a/..", 3, ErrorKind::Escape),
            ("a/./..", 3, ErrorKind::Escape),
            ("../../a", 1, ErrorKind::Escape),
            ("/a", 3, ErrorKind::Escape),
            ("//a", 3, ErrorKind::Escape),
            ("", 0, ErrorKind::Invalid),
            ("a\0b", 0, ErrorKind::Invalid),
        ] {
            let fault = check_target(target.as_bytes(), depth).unwrap_err();
            assert_eq!(fault.kind, kind, "{target}");
        }
    }
}
