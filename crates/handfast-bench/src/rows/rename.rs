//! Rename a file forth, and back, and forth.
#![expect(
    clippy::disallowed_methods,
    reason = "one column is what people write who confine nothing"
)]

use std::os::fd::AsFd;
use std::path::PathBuf;

use handfast::{RelPath, RenameMode};

use super::fixtures;
use crate::Failure;
use crate::column::Column;
use crate::raw::{Components, Lookup, Openat2, RawPath};
use crate::row::{Case, Row, Stage, Work};
use crate::site::Site;

pub(super) fn row() -> Row {
    Row::new("rename/4", "rename, depth 4", |site: &Site| {
        let texts = [
            fixtures::file(site, 4, "here")?,
            fixtures::free(site, 4, "there")?,
        ];
        let paths = texts.each_ref().map(|text| site.path(text));
        let stage = Moved(paths.clone());
        let mut cases = vec![
            raw(Openat2, site, &texts)?,
            raw(Components, site, &texts)?,
            Case::new(Column::Std, move |index| {
                std::fs::rename(&paths[index % 2], &paths[(index + 1) % 2])?;
                Ok(1)
            }),
        ];
        for (column, root) in site.roots() {
            let paths = [RelPath::parse(&texts[0])?, RelPath::parse(&texts[1])?];
            cases.push(Case::new(column, move |index| {
                let (from, to) = (&paths[index % 2], &paths[(index + 1) % 2]);
                root.rename(from, to, RenameMode::Replace)?;
                Ok(1)
            }));
        }
        #[cfg(feature = "peers")]
        {
            let dir = site.cap_std()?;
            cases.push(Case::new(Column::CapStd, move |index| {
                dir.rename(&texts[index % 2], &dir, &texts[(index + 1) % 2])?;
                Ok(1)
            }));
        }
        Ok(Work::new(cases).staged(usize::MAX, stage))
    })
}

fn raw<L: Lookup>(lookup: L, site: &Site, texts: &[String; 2]) -> Result<Case, Failure> {
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

/// The file stands under its first name whenever a batch begins.
struct Moved([PathBuf; 2]);

impl Stage for Moved {
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
