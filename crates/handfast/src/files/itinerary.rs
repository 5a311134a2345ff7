//! What is still to be walked: the one place that takes the text of a link apart.
//!
//! A path has names only. The target of a link may also hold `.`, `..` and repeated `/`; those become
//! steps here, and nothing that holds `/` ever leaves this file.

use std::borrow::Cow;

use crate::error::{ErrorKind, Fault};
use crate::path::RelPathRef;

/// As many links as the kernel follows.
pub(crate) const MAX_LINKS: u32 = 40;

/// One step of a walk.
pub(crate) enum Move<'a> {
    /// Down, to a name in the current directory.
    Down(Cow<'a, [u8]>),
    /// Up, for `..` in the target of a link.
    Up,
    /// Nowhere, for `.` in the target of a link: the directory must be searchable.
    Stay,
}

/// The steps that are left, and what the links on the way asked for.
pub(crate) struct Itinerary<'a> {
    /// Last step first.
    pending: Vec<Move<'a>>,
    links: u32,
    must_be_dir: bool,
    through_link: bool,
}

/// Where the target of a link begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Origin {
    /// In the directory that holds the link.
    Here,
    /// At `/`.
    Absolute,
}

impl<'a> Itinerary<'a> {
    pub(crate) fn new(path: RelPathRef<'a>) -> Self {
        Self {
            pending: path
                .components()
                .rev()
                .map(|name| Move::Down(Cow::Borrowed(name.as_bytes())))
                .collect(),
            links: 0,
            must_be_dir: false,
            through_link: false,
        }
    }

    pub(crate) fn next(&mut self) -> Option<Move<'a>> {
        self.pending.pop()
    }

    /// Whether the step that was just taken is the last one.
    pub(crate) fn is_done(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether the last name was reached through a link: nothing may be created under it.
    pub(crate) fn through_link(&self) -> bool {
        self.through_link
    }

    /// Whether a link asked for a directory by a trailing `/`.
    pub(crate) fn must_be_dir(&self) -> bool {
        self.must_be_dir
    }

    /// Puts the target of a link before what is left. `target` is what the walk takes from here:
    /// for an absolute link, what is left of it below the directory that the walk goes on from.
    pub(crate) fn splice(&mut self, target: &[u8]) -> Result<(), Fault> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Fault::rule(ErrorKind::Link, "too many links, or a loop"));
        }
        if self.pending.is_empty() {
            self.through_link = true;
            self.must_be_dir |= target.ends_with(b"/");
        }
        for segment in target.split(|byte| *byte == b'/').rev() {
            self.pending.push(match segment {
                b"" => continue,
                b"." => Move::Stay,
                b".." => Move::Up,
                // Without `/`, since it was split there, and without NUL, since no link holds one.
                name => Move::Down(Cow::Owned(name.to_vec())),
            });
        }
        Ok(())
    }
}

/// Where a link's target begins.
pub(crate) fn origin(target: &[u8]) -> Origin {
    match target.first() {
        Some(b'/') => Origin::Absolute,
        _ => Origin::Here,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::RelPath;

    fn shown(walk: &mut Itinerary<'_>) -> Vec<String> {
        std::iter::from_fn(|| walk.next())
            .map(|step| match step {
                Move::Down(name) => String::from_utf8_lossy(&name).into_owned(),
                Move::Up => "..".to_owned(),
                Move::Stay => ".".to_owned(),
            })
            .collect()
    }

    #[test]
    fn the_target_of_a_link_comes_before_what_is_left() {
        let path = RelPath::parse("link/rest").unwrap();
        let mut walk = Itinerary::new(path.as_ref());
        walk.next().unwrap();
        walk.splice(b"..//a/./b/").unwrap();
        assert!(!walk.through_link() && !walk.must_be_dir());
        assert_eq!(shown(&mut walk), ["..", "a", ".", "b", "rest"]);
    }

    #[test]
    fn a_last_link_may_ask_for_a_directory_and_forbids_creating() {
        let path = RelPath::parse("link").unwrap();
        let mut walk = Itinerary::new(path.as_ref());
        walk.next().unwrap();
        walk.splice(b"dir/").unwrap();
        assert!(walk.through_link() && walk.must_be_dir());
        assert_eq!(origin(b"/a"), Origin::Absolute);
        assert_eq!(origin(b"a"), Origin::Here);
    }

    #[test]
    fn forty_links_are_followed_and_not_one_more() {
        let path = RelPath::parse("l").unwrap();
        let mut walk = Itinerary::new(path.as_ref());
        for _ in 0..MAX_LINKS {
            walk.next().unwrap();
            walk.splice(b"l").unwrap();
        }
        walk.next().unwrap();
        assert_eq!(walk.splice(b"l").unwrap_err().kind, ErrorKind::Link);
    }
}
