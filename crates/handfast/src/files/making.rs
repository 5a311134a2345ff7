//! Files and directories that are made, over handles alone.

use crate::error::{Effect, Error, ErrorKind};
use crate::options::Links;
use crate::path::{Name, NameRef, RelPath};
use crate::resolve::itinerary::not_a_directory_on_the_way;
use crate::verbs::OpenOptions;

use super::handle::FileHandle;
use super::interface::Files;
use super::node::{At, Node};
use super::places::leads_to_nothing;
use super::resolve::{LastLink, bare};
use super::types::WhatToRemove;

/// How often a directory that vanishes while it is entered is made again.
const MAX_TRIES: u32 = 16;

/// Creates or opens a file and looks its name up. Another process may put another file there between
/// the two: the node of one file is never returned with the handle of another.
pub(super) fn create_node_at<F: Files + ?Sized>(
    files: &F,
    at: At<'_>,
    how: OpenOptions,
) -> Result<(Node, Box<dyn FileHandle>), Error> {
    let file = files.create_at(at, how)?;
    let visible = |error: Error| error.with_effect(Effect::Visible);
    let node = files.lookup(at.dir, at.name).map_err(visible)?;
    let opened = file.opened_metadata().identity;
    match node.metadata().identity.same_object(&opened) {
        true => Ok((node, file)),
        false => Err(visible(Error::refused(
            ErrorKind::Raced,
            "the name leads to another file than the one that was opened",
        ))),
    }
}

/// Makes every missing directory in the held one above it.
pub(super) fn create_dir_all<F: Files + ?Sized>(
    files: &F,
    path: &RelPath,
    mode: u32,
) -> Result<(), Error> {
    let mut made = Vec::new();
    descend(files, path, mode, &mut made).map_err(|error| {
        let mut is_gone = true;
        for (dir, name) in made.iter().rev() {
            // Only an empty one goes: what others put there meanwhile is theirs.
            is_gone &= files
                .remove_at(At::new(dir, name), WhatToRemove::Dir)
                .is_ok();
        }
        match is_gone {
            true => error,
            false => error.with_effect(Effect::Visible),
        }
    })
}

fn descend<F: Files + ?Sized>(
    files: &F,
    path: &RelPath,
    mode: u32,
    made: &mut Vec<(Node, Name)>,
) -> Result<(), Error> {
    let mut here = files.top()?;
    let mut prefix = RelPath::root();
    for name in path.segments() {
        prefix = prefix.join(name);
        let there = enter_or_make(files, &here, name, mode, made)?;
        here = match (there.metadata().is_symlink(), files.links()) {
            (false, _) => there,
            (true, Links::Refuse) => {
                return Err(Error::refused(ErrorKind::Link, "a link is on the way"));
            }
            // One confined lookup finds where the link leads. Nothing is created through it.
            (true, _) => match files.node(&prefix, LastLink::Follow) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(leads_to_nothing());
                }
                node => node?,
            },
        };
        if !here.metadata().is_dir() {
            return Err(bare(not_a_directory_on_the_way()));
        }
    }
    Ok(())
}

fn enter_or_make<F: Files + ?Sized>(
    files: &F,
    here: &Node,
    name: NameRef<'_>,
    mode: u32,
    made: &mut Vec<(Node, Name)>,
) -> Result<Node, Error> {
    for _ in 0..MAX_TRIES {
        match files.lookup(here, name) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => return found,
        }
        match files.create_dir_at(At { dir: here, name }, mode) {
            // Another process was faster: look again.
            Err(error) if error.kind() == ErrorKind::Exists => {}
            done => {
                let dir = done?;
                made.push((here.clone(), name.to_name()));
                return Ok(dir);
            }
        }
    }
    Err(Error::refused(
        ErrorKind::Raced,
        "directories on the way keep vanishing",
    ))
}
