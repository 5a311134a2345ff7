//! The tree that the accepted members make.

use std::collections::HashMap;

use handfast::{FileKind, RelPath};

use crate::names::key_of;
use crate::options::{Names, Overwrite};
use crate::refusal::{Refusal, Rule};

/// What an accepted member is in the tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Planted {
    /// A directory, given by a member or by a name below it.
    Dir,
    /// A file, under its first name or another.
    File,
    /// A symbolic link, with its target.
    Symlink(Vec<u8>),
}

impl Planted {
    pub(crate) fn kind(&self) -> FileKind {
        match self {
            Self::Dir => FileKind::Dir,
            Self::File => FileKind::File,
            Self::Symlink(_) => FileKind::Symlink,
        }
    }
}

struct TreePlace {
    /// As it was spelled, where that is not the key.
    spelled: Option<Box<[u8]>>,
    planted: Planted,
}

impl TreePlace {
    fn is_spelled(&self, key: &[u8], path: &[u8]) -> bool {
        self.spelled.as_deref().unwrap_or(key) == path
    }
}

/// The planned tree, by keys under which colliding names are one.
pub(crate) struct Tree {
    names: Names,
    places: HashMap<Box<[u8]>, TreePlace>,
    /// Bytes of all keys.
    key_bytes: u64,
}

/// How many links are followed before it counts as a loop; the kernel's own number.
const MAX_LINKS: usize = 40;

/// How many bytes of paths are looked up for all links together: links that lead through links could
/// take hours otherwise.
pub(crate) const MAX_WORK: usize = 256 << 20;

impl Tree {
    pub(crate) fn new(names: Names) -> Self {
        Self {
            names,
            places: HashMap::new(),
            key_bytes: 0,
        }
    }

    /// How many names the tree has, and how many bytes they are in the form in which they are compared.
    /// Directories that only a longer name implies are among them: a short archive can imply millions.
    pub(crate) fn size(&self) -> (u64, u64) {
        (self.places.len() as u64, self.key_bytes)
    }

    /// Whether something can be put at a path.
    pub(crate) fn check(
        &self,
        path: &RelPath,
        new: &Planted,
        overwrite: Overwrite,
    ) -> Result<(), Refusal> {
        for prefix in prefixes(path) {
            let key = key_of(prefix, self.names);
            match self.places.get(&*key) {
                None => {}
                Some(place) if !place.is_spelled(&key, prefix) => return Err(collision()),
                Some(place) if place.planted == Planted::Dir => {}
                Some(_) => {
                    return Err(Refusal::new(
                        Rule::BelowFile,
                        "the name lies below a file or a link of the archive",
                    ));
                }
            }
        }
        let key = key_of(path.as_bytes(), self.names);
        let Some(place) = self.places.get(&*key) else {
            return Ok(());
        };
        if !place.is_spelled(&key, path.as_bytes()) {
            return Err(collision());
        }
        match (&place.planted, new) {
            (Planted::Dir, Planted::Dir) => Ok(()),
            (Planted::File, Planted::File) if overwrite == Overwrite::Replace => Ok(()),
            _ => Err(Refusal::new(
                Rule::Duplicate,
                "another member of the archive has the same name",
            )),
        }
    }

    /// Puts something at a path that was checked.
    pub(crate) fn plant(&mut self, path: &RelPath, new: Planted) {
        for prefix in prefixes(path) {
            self.insert(prefix, Planted::Dir);
        }
        self.insert(path.as_bytes(), new);
    }

    fn insert(&mut self, path: &[u8], planted: Planted) {
        let key = key_of(path, self.names);
        if let Some(place) = self.places.get_mut(&*key) {
            place.planted = planted;
            return;
        }
        let spelled = (key != path).then(|| path.into());
        let place = TreePlace { spelled, planted };
        self.key_bytes += key.len() as u64;
        self.places.insert(key.into_boxed_slice(), place);
    }

    /// What lies at a path, by its own spelling.
    pub(crate) fn at(&self, path: &[u8]) -> Option<&Planted> {
        let key = key_of(path, self.names);
        let place = self.places.get(&*key)?;
        place.is_spelled(&key, path).then_some(&place.planted)
    }

    /// Follows a link through the planned tree. Its text was checked already: `..` is only at its
    /// beginning, and not too often. So every link leads to a place inside, and what is left to find is
    /// a row of links without an end.
    ///
    /// The answer is whether the end of the row is a member of the archive.
    pub(crate) fn follow(
        &self,
        link: &RelPath,
        target: &[u8],
        work: &mut usize,
    ) -> Result<bool, Refusal> {
        let mut links = 0;
        let mut at: Vec<&[u8]> = link.as_bytes().split(|byte| *byte == b'/').collect();
        at.pop();
        // What is still to be walked, last first.
        let mut todo: Vec<&[u8]> = segments(target).collect();
        while let Some(name) = todo.pop() {
            match name {
                b"" | b"." => continue,
                b".." => {
                    at.pop();
                    continue;
                }
                name => at.push(name),
            }
            let here = at.join(&b'/');
            *work += here.len();
            if *work > MAX_WORK {
                return Err(Refusal::new(
                    Rule::LinkTarget,
                    "the links of the archive take too many steps to follow",
                ));
            }
            match self.at(&here) {
                Some(Planted::Symlink(target)) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Refusal::new(
                            Rule::LinkTarget,
                            "the link leads to a row of links without an end",
                        ));
                    }
                    at.pop();
                    todo.extend(segments(target));
                }
                Some(Planted::Dir) => {}
                Some(Planted::File) if todo.iter().all(|rest| rest.is_empty()) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}

fn segments(target: &[u8]) -> impl Iterator<Item = &[u8]> {
    target.rsplit(|byte| *byte == b'/')
}

/// The directories above a path, from the top down.
fn prefixes(path: &RelPath) -> impl Iterator<Item = &[u8]> {
    let bytes = path.as_bytes();
    let slashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &bytes[..at])
}

fn collision() -> Refusal {
    Refusal::new(
        Rule::Collision,
        "another name of the archive differs by case or normalisation only",
    )
}
