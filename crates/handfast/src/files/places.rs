//! From a path to a handle or a name in a directory, for the verbs on paths.
//!
//! Errors name the path that was asked for. The way that it led, which a link may have chosen, is
//! not told.

use crate::error::{Error, ErrorKind};
use crate::path::RelPath;
use crate::verb::Verb;
use crate::verbs::OpenOptions;

use super::handle::FileHandle;
use super::interface::Files;
use super::node::{At, Node};
use super::resolve::{LastLink, Resolved};

/// What a trailing slash means for a verb.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Trailing {
    /// The verb works on files: what is there names the error.
    File,
    /// The verb works on directories too.
    Any,
}

/// What the provided verbs share; every implementation has it.
pub(super) trait Places: Files {
    /// Resolves a path to the object that it leads to, and acts on that.
    fn with_node<T>(
        &self,
        verb: Verb,
        path: &RelPath,
        last: LastLink,
        act: impl FnOnce(Node) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let found = self.resolve(path, last, &mut |_| Ok(()));
        found
            .and_then(|found| {
                let node = found.node.ok_or_else(missing)?;
                match found.must_be_dir && !node.metadata().is_dir() {
                    true => Err(Error::refused(ErrorKind::NotADirectory, "")),
                    false => act(node),
                }
            })
            .map_err(|error| error.on(verb, self.shown_path(path)))
    }

    /// Resolves a path to a name in a directory, and acts on that.
    fn with_place<T>(
        &self,
        verb: Verb,
        path: &RelPath,
        last: LastLink,
        trailing: Trailing,
        act: impl FnOnce(At<'_>, &Resolved) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.resolve(path, last, &mut |_| Ok(()))
            .and_then(|found| {
                require_file(path, &found, trailing)?;
                if found.through_link && found.node.is_none() {
                    return Err(leads_to_nothing());
                }
                let (dir, name) = place_of(path, &found)?;
                act(At::new(dir, name), &found)
            })
            .map_err(|error| error.on(verb, self.shown_path(path)))
    }

    /// As [`Places::with_place`], for an entry itself.
    fn with_entry<T>(
        &self,
        verb: Verb,
        path: &RelPath,
        trailing: Trailing,
        act: impl FnOnce(At<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.with_place(verb, path, LastLink::Itself, trailing, |at, _| act(at))
    }

    /// Opens a file on behalf of a verb.
    fn open_for(
        &self,
        verb: Verb,
        path: &RelPath,
        how: OpenOptions,
    ) -> Result<Box<dyn FileHandle>, Error> {
        if path.is_root() {
            return Err(the_top_itself().on(verb, self.shown_path(path)));
        }
        if !how.creates() {
            return self.with_node(verb, path, LastLink::Follow, |node| {
                if node.metadata().is_dir() {
                    return Err(Error::refused(ErrorKind::IsADirectory, ""));
                }
                self.open_node(&node, how)
            });
        }
        let last = match how.creates_new() && !path.must_be_dir() {
            true => LastLink::Itself,
            false => LastLink::Follow,
        };
        self.with_place(verb, path, last, Trailing::File, |at, found| {
            match (&found.node, how.creates_new()) {
                (Some(node), false) => self.open_node(node, how.create(false)),
                _ => self.create_at(at, how),
            }
        })
    }

    /// An error of a verb with two paths.
    fn named_two(&self, error: Error, verb: Verb, path: &RelPath, other: &RelPath) -> Error {
        error
            .on(verb, self.shown_path(path))
            .with_destination(Some(self.shown_path(other)))
    }
}

impl<F: Files + ?Sized> Places for F {}

/// The directory and the name that a path led to.
pub(super) fn place_of<'a>(
    path: &RelPath,
    found: &'a Resolved,
) -> Result<(&'a Node, &'a crate::path::Name), Error> {
    match (&found.dir, &found.name) {
        (Some(dir), Some(name)) => Ok((dir, name)),
        _ if path.is_root() => Err(the_top_itself()),
        _ if found.node.is_none() => Err(missing()),
        // The `..` of a link led there: it has no name that could be used.
        _ => Err(Error::refused(ErrorKind::IsADirectory, "")),
    }
}

/// A path that names a file cannot end in a slash. What is there names the error.
fn require_file(path: &RelPath, found: &Resolved, trailing: Trailing) -> Result<(), Error> {
    if !found.must_be_dir || trailing == Trailing::Any || path.is_root() {
        return Ok(());
    }
    match &found.node {
        Some(node) if node.metadata().is_dir() => Err(Error::refused(ErrorKind::IsADirectory, "")),
        Some(_) => Err(Error::refused(ErrorKind::NotADirectory, "")),
        None if path.must_be_dir() => Err(missing()),
        None => Ok(()),
    }
}

/// For a verb that expects a version: a file that is not there is not that version.
pub(super) fn gone(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::refused(ErrorKind::Stale, "the file is gone")
            .on(error.verb(), error.path().to_owned()),
        _ => error,
    }
}

pub(super) fn missing() -> Error {
    Error::refused(ErrorKind::NotFound, "")
}

pub(super) fn leads_to_nothing() -> Error {
    Error::refused(ErrorKind::Link, "the link leads to nothing")
}

pub(super) fn the_top_itself() -> Error {
    Error::refused(
        ErrorKind::Invalid,
        "the root itself cannot be used here; name something in it",
    )
}
