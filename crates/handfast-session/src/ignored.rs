//! What the base's ignore files name: build output and caches, which a review counts and a commit leaves
//! out unless it is asked for.
//!
//! Only `.gitignore` files of the base are asked. One that the session wrote would let an agent decide
//! what its reviewer sees.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::error::Error;
use crate::overlay::{Overlay, base_path};
use crate::session::Session;
use crate::vpath::VirtualPath;
use crate::whole::virtual_path;

/// As much of an ignore file is read.
const LIMIT: u64 = 1 << 20;

/// The ignore files of a mount's base, read when they are asked.
pub(crate) struct Ignores<'a> {
    overlay: &'a Overlay,
    /// By directory, below the mount.
    known: BTreeMap<Vec<u8>, Option<Gitignore>>,
}

impl<'a> Ignores<'a> {
    pub(crate) fn new(overlay: &'a Overlay) -> Self {
        Self {
            overlay,
            known: BTreeMap::new(),
        }
    }

    /// Whether an ignore file names a path, or a directory in which it lies.
    pub(crate) fn covers(&mut self, path: &[u8], is_dir: bool) -> bool {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let above: Vec<usize> = slashes.map(|(at, _)| at).collect();
        above.iter().any(|end| self.names(&path[..*end], true)) || self.names(path, is_dir)
    }

    /// Whether an ignore file names a path itself. The deepest file that says something decides.
    fn names(&mut self, path: &[u8], is_dir: bool) -> bool {
        let mut dir = path;
        while !dir.is_empty() {
            let end = dir.iter().rposition(|byte| *byte == b'/');
            dir = &dir[..end.unwrap_or(0)];
            let below = match dir.is_empty() {
                true => path,
                false => &path[dir.len() + 1..],
            };
            let overlay = self.overlay;
            let rules = self.known.entry(dir.to_vec());
            if let Some(rules) = rules.or_insert_with(|| read(overlay, dir)) {
                let said = rules.matched(Path::new(OsStr::from_bytes(below)), is_dir);
                if !said.is_none() {
                    return said.is_ignore();
                }
            }
        }
        false
    }
}

/// The ignore file of a directory. What cannot be read names nothing, so it hides nothing.
fn read(overlay: &Overlay, dir: &[u8]) -> Option<Gitignore> {
    let mut path = dir.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(b".gitignore");
    let file = overlay.base.open(&base_path(&path).ok()?).ok()?;
    let mut text = Vec::new();
    file.into_std().take(LIMIT).read_to_end(&mut text).ok()?;
    let mut rules = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(&text).lines() {
        // A line that git would not understand either names nothing.
        drop(rules.add_line(None, line));
    }
    rules.build().ok()
}

impl Session {
    /// The changes at and below some paths that the base's ignore files name and that no path asks for
    /// by its own name: what [`CommitOptions::leave_out`](crate::CommitOptions::leave_out) is for.
    ///
    /// # Errors
    /// As [`Session::chosen`].
    pub fn ignored(&self, paths: &[VirtualPath]) -> Result<Vec<VirtualPath>, Error> {
        let mut found = Vec::new();
        for (mount, overlay, paths) in self.by_mount(paths)? {
            let mut ignores = Ignores::new(overlay);
            let asked: Vec<&Vec<u8>> = paths
                .iter()
                .filter(|path| !path.is_empty() && ignores.covers(path, true))
                .collect();
            let is_asked = |path: &[u8]| asked.iter().any(|above| lies_in(path, above));
            let all = overlay.choosable(&paths)?;
            let mut left: BTreeSet<&[u8]> = all
                .iter()
                .filter(|item| !item.moves && !is_asked(&item.path))
                .filter(|item| ignores.covers(&item.path, item.is_dir))
                .map(|item| item.path.as_slice())
                .collect();
            // What something else needs is not left out.
            let kept: Vec<&[u8]> = all
                .iter()
                .map(|item| item.path.as_slice())
                .filter(|path| !left.contains(path))
                .collect();
            left.retain(|dir| !kept.iter().any(|path| lies_in(path, dir)));
            for path in left {
                found.push(virtual_path(mount, path)?);
            }
        }
        found.sort();
        Ok(found)
    }
}

fn lies_in(path: &[u8], above: &[u8]) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
}
