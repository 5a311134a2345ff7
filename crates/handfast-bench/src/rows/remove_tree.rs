//! Remove a tree.

use std::ffi::CString;
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::fs::{AtFlags, FileType, unlinkat};
use rustix::io::Errno;

use super::fixtures;
use crate::Failure;
use crate::raw::{BUFFER, Components, Lookup, Openat2, RawPath, list};
use crate::row::{BatchSetup, Case, Row, Work};
use crate::site::Site;

const NAME: &str = "doomed";

pub(super) fn row() -> Row {
    Row::new(
        "remove-tree",
        "remove-tree of 1,000 files",
        |site: &Site| {
            let stage = Doomed {
                path: site.path(NAME),
                size: site.scale().small_tree,
            };
            let floor = vec![floor(Openat2, site)?, floor(Components, site)?];
            let work = Work::new(site, floor, |contender| contender.remove_tree(NAME))?;
            Ok(work.staged(1, stage))
        },
    )
}

/// Unlink first: only what turns out to be a directory is entered.
fn floor<L: Lookup>(lookup: L, site: &Site) -> Result<Case, Failure> {
    let (dir, path) = (site.dir(), RawPath::new(NAME)?);
    Ok(Case::new(L::COLUMN, move |_| {
        let parent = lookup.parent(dir.as_fd(), &path)?;
        match unlinkat(&parent, path.name(), AtFlags::empty()) {
            Err(Errno::ISDIR) => {}
            done => return Ok(done.map(|()| 1)?),
        }
        let top = lookup.child(parent.as_fd(), path.name())?;
        let mut buffer = Vec::with_capacity(BUFFER);
        let mut dirs: Vec<CString> = Vec::new();
        list(top.as_fd(), buffer.spare_capacity_mut(), |name, kind| {
            if kind == FileType::Directory {
                dirs.push(name.to_owned());
                return Ok(());
            }
            unlinkat(&top, name, AtFlags::empty())
        })?;
        for name in dirs {
            let dir = lookup.child(top.as_fd(), &name)?;
            list(dir.as_fd(), buffer.spare_capacity_mut(), |name, _| {
                unlinkat(&dir, name, AtFlags::empty())
            })?;
            drop(dir);
            unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
        }
        drop(top);
        unlinkat(&parent, path.name(), AtFlags::REMOVEDIR)?;
        Ok(1)
    }))
}

/// The tree is there whenever a batch begins.
struct Doomed {
    path: PathBuf,
    size: (usize, usize),
}

impl BatchSetup for Doomed {
    fn prepare(&self, _count: usize) -> Result<(), Failure> {
        fixtures::grow(&self.path, self.size)
    }

    fn verify_one(&self) -> Result<(), Failure> {
        if self.path.try_exists()? {
            return Err("the tree is still there".into());
        }
        Ok(())
    }
}
