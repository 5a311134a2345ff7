//! Create a file under a free name and write to it.
#![expect(
    clippy::disallowed_methods,
    reason = "what a batch made is removed by path: the scratch directory is ours alone"
)]

use std::io::Write;
use std::os::fd::AsFd;
use std::path::PathBuf;

use handfast::{OpenOptions, RelPath, Root};
use rustix::fs::{Mode, OFlags};

use super::buffer::Buffer;
use super::{LEFTOVERS, SMALL, fixtures};
use crate::Failure;
use crate::column::Column;
use crate::raw::{Components, Lookup, Openat2, RawPath, status, to_blocking};
use crate::row::{Case, Row, Stage, Work};
use crate::site::Site;

pub(super) fn rows() -> impl Iterator<Item = Row> {
    [1, 4, 8].into_iter().map(|depth| {
        Row::new(
            format!("create-write/{depth}"),
            format!("create + write 4 KiB, depth {depth}"),
            move |site| cases(site, depth),
        )
    })
}

fn cases(site: &Site, depth: usize) -> Result<Work, Failure> {
    let texts = (0..LEFTOVERS)
        .map(|index| fixtures::free(site, depth, &format!("new-{index:03}")))
        .collect::<Result<Vec<_>, _>>()?;
    let stage = Created(texts.iter().map(|text| site.path(text)).collect());
    let mut cases = vec![
        raw(Openat2, site, &texts)?,
        raw(Components, site, &texts)?,
        std(site, &texts),
    ];
    for (column, root) in site.roots() {
        cases.push(handfast(column, root, &texts)?);
    }
    #[cfg(feature = "peers")]
    cases.push(cap_std(site, texts)?);
    Ok(Work::new(cases).staged(LEFTOVERS, stage))
}

fn raw<L: Lookup>(lookup: L, site: &Site, texts: &[String]) -> Result<Case, Failure> {
    let (dir, data) = (site.dir(), Buffer::filled());
    let paths: Vec<RawPath> = texts
        .iter()
        .map(|text| RawPath::new(text))
        .collect::<Result<_, _>>()?;
    // Nothing is followed at the end, and the name must be free.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    Ok(Case::new(L::COLUMN, move |index| {
        let mode = Mode::from_raw_mode(0o666);
        let fd = lookup.open(dir.as_fd(), &paths[index], flags, mode)?;
        status(&fd)?;
        to_blocking(&fd)?;
        Ok(rustix::io::write(&fd, &data)? as u64)
    }))
}

fn std(site: &Site, texts: &[String]) -> Case {
    let paths: Vec<PathBuf> = texts.iter().map(|text| site.path(text)).collect();
    let data = Buffer::filled();
    Case::new(Column::Std, move |index| {
        let mut file = std::fs::File::create_new(&paths[index])?;
        Ok(file.write(&data)? as u64)
    })
}

fn handfast(column: Column, root: Root, texts: &[String]) -> Result<Case, Failure> {
    let paths: Vec<RelPath> = texts.iter().map(RelPath::parse).collect::<Result<_, _>>()?;
    let data = Buffer::filled();
    let options = OpenOptions::new().read(false).write(true).create_new(true);
    Ok(Case::new(column, move |index| {
        let mut file = root.open_with(&paths[index], options)?;
        Ok(file.write(&data)? as u64)
    }))
}

#[cfg(feature = "peers")]
fn cap_std(site: &Site, texts: Vec<String>) -> Result<Case, Failure> {
    let (dir, data) = (site.cap_std()?, Buffer::filled());
    let mut options = cap_std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    Ok(Case::new(Column::CapStd, move |index| {
        let mut file = dir.open_with(&texts[index], &options)?;
        Ok(file.write(&data)? as u64)
    }))
}

/// The names are free whenever a batch begins.
struct Created(Vec<PathBuf>);

impl Stage for Created {
    fn verify_one(&self) -> Result<(), Failure> {
        match self.0.first().map(std::fs::read) {
            Some(Ok(data)) if data.len() == SMALL => Ok(()),
            _ => Err("the file was not written".into()),
        }
    }

    fn clean(&self, count: usize) -> Result<(), Failure> {
        for path in &self.0[..count] {
            std::fs::remove_file(path)?;
        }
        Ok(())
    }
}
