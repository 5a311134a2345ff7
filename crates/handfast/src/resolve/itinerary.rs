//! What is still to be walked: the one place that takes the text of a link apart.
//!
//! The component walk of a root and the walk over handles of any [`Files`](crate::Files) both take
//! their steps from here, so a link means the same in every layer. A path has names only. The target of a link may also hold `.`, `..` and repeated `/`; those become
//! steps here, and nothing that holds `/` ever leaves this file.

use std::borrow::Cow;

use crate::error::{ErrorKind, Fault};
use crate::path::RelPathRef;

/// As many links as the kernel follows.
pub(crate) const MAX_LINKS: u32 = 40;

/// Directories held at most, where links are followed and `..` has to be answered: a link's text
/// alone must not use up a process's descriptors.
const MAX_HELD: usize = 256;

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

    /// Takes a name back that was given out, to be looked at again.
    pub(crate) fn again(&mut self, name: Cow<'a, [u8]>) {
        self.pending.push(Move::Down(name));
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

    /// Counts a link that is about to be followed. Asked before its text is read.
    pub(crate) fn count_link(&mut self) -> Result<(), Fault> {
        self.links += 1;
        match self.links > MAX_LINKS {
            true => Err(Fault::rule(ErrorKind::Link, "too many links, or a loop")),
            false => Ok(()),
        }
    }

    /// Puts the target of a link before what is left. `target` is what the walk takes from here:
    /// for an absolute link, what is left of it below the directory that the walk goes on from.
    pub(crate) fn splice(&mut self, target: &[u8]) {
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
    }
}

/// Refuses one more directory where too many are held.
pub(crate) fn check_held(held: usize) -> Result<(), Fault> {
    match held >= MAX_HELD {
        true => Err(Fault::rule(
            ErrorKind::TooLong,
            "links lead through too many directories",
        )),
        false => Ok(()),
    }
}

/// What a walk says that a link leads out of.
pub(crate) fn escape() -> Fault {
    Fault::rule(ErrorKind::Escape, "a link leads outside the root")
}

/// What a walk says that refuses links.
pub(crate) fn link_in_the_way() -> Fault {
    // The kernel says "too many levels of symbolic links", which sends people looking for a loop.
    Fault::rule(ErrorKind::Link, "a symbolic link is in the way")
}

/// What a walk says of a file that a path goes on from.
pub(crate) fn not_a_directory_on_the_way() -> Fault {
    Fault::rule(
        ErrorKind::NotADirectory,
        "something on the way is not a directory",
    )
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
        walk.splice(b"..//a/./b/");
        assert!(!walk.through_link() && !walk.must_be_dir());
        assert_eq!(shown(&mut walk), ["..", "a", ".", "b", "rest"]);
    }

    #[test]
    fn a_last_link_may_ask_for_a_directory_and_forbids_creating() {
        let path = RelPath::parse("link").unwrap();
        let mut walk = Itinerary::new(path.as_ref());
        walk.next().unwrap();
        walk.splice(b"dir/");
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
            walk.count_link().unwrap();
            walk.splice(b"l");
        }
        assert_eq!(walk.count_link().unwrap_err().kind, ErrorKind::Link);
    }

    #[test]
    fn a_name_that_is_given_back_comes_next() {
        let path = RelPath::parse("a/b").unwrap();
        let mut walk = Itinerary::new(path.as_ref());
        let Some(Move::Down(name)) = walk.next() else {
            panic!("a path has names only");
        };
        walk.again(name);
        assert_eq!(shown(&mut walk), ["a", "b"]);
    }

    #[test]
    fn directories_are_held_up_to_a_limit() {
        check_held(MAX_HELD - 1).unwrap();
        assert_eq!(check_held(MAX_HELD).unwrap_err().kind, ErrorKind::TooLong);
    }
}
