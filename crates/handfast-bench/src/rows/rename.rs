//! Rename a file forth, and back, and forth.
#![expect(
    clippy::disallowed_methods,
    reason = "the file is put back by path: the scratch directory is ours alone"
)]

use std::os::fd::AsFd;
use std::path::PathBuf;

use super::fixtures;
use crate::Failure;
use crate::raw::{Components, Lookup, Openat2, RawPath};
use crate::row::{BatchSetup, Case, Row, Work};
use crate::site::Site;

pub(super) fn row() -> Row {
    Row::new("rename/4", "rename, depth 4", |site: &Site| {
        let texts = [
            fixtures::file(site, 4, "here")?,
            fixtures::free(site, 4, "there")?,
        ];
        let stage = Moved(texts.each_ref().map(|text| site.path(text)));
        let floor = vec![
            floor(Openat2, site, &texts)?,
            floor(Components, site, &texts)?,
        ];
        let work = Work::new(site, floor, |contender| contender.rename(&texts))?;
        Ok(work.staged(usize::MAX, stage))
    })
}

fn floor<L: Lookup>(lookup: L, site: &Site, texts: &[String; 2]) -> Result<Case, Failure> {
    let dir = site.dir();
    let paths = [RawPath::new(&texts[0])?, RawPath::new(&texts[1])?];
    Ok(Case::new(L::COLUMN, move |index| {
        let (from, to) = (&paths[index % 2], &paths[(index + 1) % 2]);
        let source = lookup.parent(dir.as_fd(), from)?;
        let target = lookup.parent(dir.as_fd(), to)?;
        rustix::fs::renameat(&source, from.name(), &target, to.name())?;
        Ok(1)
    }))
}

/// The file has its first name whenever a batch begins.
struct Moved([PathBuf; 2]);

impl BatchSetup for Moved {
    fn verify_one(&self) -> Result<(), Failure> {
        match self.0.each_ref().map(|path| path.try_exists()) {
            [Ok(false), Ok(true)] => Ok(()),
            _ => Err("the file was not renamed".into()),
        }
    }

    fn clean(&self, count: usize) -> Result<(), Failure> {
        if count % 2 == 1 {
            std::fs::rename(&self.0[1], &self.0[0])?;
        }
        Ok(())
    }
}
