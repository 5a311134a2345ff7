//! The calls behind [`LeaseFiles`]: a path, and where a verb is about something that was looked up,
//! the handle that the broker compares.

use std::os::unix::fs::FileExt;

use handfast::files::{Entries, Entry, FileHandle, Files, LastLink, Put, WhatToRemove};
use handfast::{
    Error, ErrorKind, File, Metadata, Name, OpenOptions, RelPath, RenameMode, SymlinkTarget, Verb,
    WriteOptions, Written,
};

use super::copied::Copied;
use super::lease_files::LeaseFiles;
use super::told::{Linked, Manner, Standing, Status, error_of, kind_of};
use super::types::Opened;
use super::{Client, ClientError};

impl LeaseFiles {
    /// Asks for something at a path, and names both in the error.
    pub(super) fn ask<T>(
        &self,
        verb: Verb,
        path: &RelPath,
        ask: impl FnOnce(&mut Client, &str, &[u8]) -> Result<T, ClientError>,
    ) -> Result<T, Error> {
        ask(&mut self.client(), &self.lease, &wire_path(path))
            .map_err(|error| error_of(error).on(verb, self.shown_path(path)))
    }

    /// The facts about what is at a path, and its handle.
    pub(super) fn stat(
        &self,
        verb: Verb,
        path: &RelPath,
        last: LastLink,
    ) -> Result<(Metadata, String), Error> {
        let status: Status = self.ask(verb, path, |client, lease, at| {
            client.status(lease, at, last == LastLink::Follow)
        })?;
        let metadata = status.metadata().ok_or_else(|| {
            let why = "the broker's answer is not understood";
            Error::refused(ErrorKind::Io, why).on(verb, self.shown_path(path))
        })?;
        Ok((metadata, status.handle))
    }

    pub(super) fn open_at(
        &self,
        verb: Verb,
        path: &RelPath,
        how: OpenOptions,
    ) -> Result<Box<dyn FileHandle>, Error> {
        let opened = match how.changes() {
            false => {
                let opened = self.ask(verb, path, |client, lease, at| client.open(lease, at))?;
                if opened.is_copy {
                    return self.copied(verb, path, opened);
                }
                opened
            }
            true if how == OpenOptions::new().write(true) => {
                self.ask(verb, path, |client, lease, at| {
                    client.open_direct(lease, at)
                })?
            }
            true => {
                let why = "the broker opens a file for writing as it is, or takes whole content";
                return Err(unsupported(why).on(verb, self.shown_path(path)));
            }
        };
        let file = File::received(opened.file.into(), path.clone())
            .map_err(|error| error.on(verb, self.shown_path(path)))?;
        Ok(Box::new(file))
    }

    /// A copy of a file, with the facts about the file itself.
    fn copied(
        &self,
        verb: Verb,
        path: &RelPath,
        opened: Opened,
    ) -> Result<Box<dyn FileHandle>, Error> {
        let wrong =
            |kind, why: &'static str| Error::refused(kind, why).on(verb, self.shown_path(path));
        let (mut metadata, handle) = self.stat(verb, path, LastLink::Follow)?;
        if handle != opened.handle {
            let why = "another file has the name right after it was opened";
            return Err(wrong(ErrorKind::Raced, why));
        }
        metadata.len = opened.size;
        let version = opened.version.and_then(|version| version.parse().ok());
        let version = version.ok_or_else(|| wrong(ErrorKind::Io, "the broker told no version"))?;
        Ok(Box::new(Copied {
            copy: opened.file,
            metadata,
            version,
        }))
    }

    /// Publishes content under a path, in a directory if one is named.
    pub(super) fn publish(
        &self,
        (path, dir): (&RelPath, Option<&str>),
        data: &[u8],
        put: Put<'_>,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        let manner = Manner::of(options);
        let done = self.ask(put.verb(), path, |client, lease, at| {
            let size = data.len() as u64;
            let draft = client.begin_with((lease, at), size, put, &manner, dir)?;
            draft.file.write_all_at(data, 0)?;
            client.publish(&draft, size)
        })?;
        done.written(path)
            .map_err(|error| error.on(put.verb(), self.shown_path(path)))
    }

    pub(super) fn append_in(
        &self,
        (path, dir): (&RelPath, Option<&str>),
        data: &[u8],
        options: WriteOptions,
    ) -> Result<Written, Error> {
        let manner = Manner::of(options);
        let done: Standing = self.ask(Verb::Append, path, |client, lease, at| {
            client.append_with((lease, at), data, &manner, dir)
        })?;
        done.written(path)
            .map_err(|error| error.on(Verb::Append, self.shown_path(path)))
    }

    pub(super) fn list(&self, path: &RelPath, handle: Option<&str>) -> Result<Entries<'_>, Error> {
        let found = self.ask(Verb::ReadDir, path, |client, lease, at| {
            client.list_held(lease, at, handle)
        })?;
        let entries = found.into_iter().map(|told| {
            Ok(Entry {
                name: Name::parse(told.name())?,
                kind: kind_of(&told.kind),
                inode: 0,
            })
        });
        Ok(Box::new(entries.collect::<Vec<_>>().into_iter()))
    }

    pub(super) fn link_text(
        &self,
        path: &RelPath,
        handle: Option<&str>,
    ) -> Result<SymlinkTarget, Error> {
        let linked: Linked = self.ask(Verb::ReadLink, path, |client, lease, at| {
            client.link(lease, at, handle)
        })?;
        Ok(SymlinkTarget::from_stored(linked.target()))
    }

    pub(super) fn rename_in(
        &self,
        (from, to): (&RelPath, &RelPath),
        mode: RenameMode,
        dirs: Option<(&str, &str)>,
    ) -> Result<(), Error> {
        let word = match mode {
            RenameMode::NoReplace => "no-replace",
            RenameMode::Replace => "replace",
            RenameMode::Exchange => "exchange",
        };
        not_the_top(from)
            .and_then(|()| not_the_top(to))
            .map_err(|error| error.on(Verb::Rename, self.shown_path(from)))
            .and_then(|()| {
                self.ask(Verb::Rename, from, |client, lease, at| {
                    client.rename_in(lease, (at, &wire_path(to)), word, dirs)
                })
            })
            .map_err(|error| error.with_destination(Some(self.shown_path(to))))
    }

    pub(super) fn remove_in(
        &self,
        (path, dir): (&RelPath, Option<&str>),
        what: WhatToRemove<'_>,
    ) -> Result<(), Error> {
        not_the_top(path).map_err(|error| error.on(what.verb(), self.shown_path(path)))?;
        self.ask(what.verb(), path, |client, lease, at| {
            client.remove_what(lease, at, what, dir)
        })
    }
}

/// A path as the broker reads it.
fn wire_path(path: &RelPath) -> Vec<u8> {
    let mut text = vec![b'/'];
    text.extend_from_slice(path.as_bytes());
    if path.must_be_dir() && !text.ends_with(b"/") {
        text.push(b'/');
    }
    text
}

/// The top has no name that could be changed.
pub(super) fn not_the_top(path: &RelPath) -> Result<(), Error> {
    match path.is_root() {
        true => Err(Error::refused(
            ErrorKind::Invalid,
            "the top itself cannot be used here; name something in it",
        )),
        false => Ok(()),
    }
}

pub(super) fn unsupported(why: &'static str) -> Error {
    Error::refused(ErrorKind::Unsupported, why)
}
