//! Create a file under a free name and write to it.
#![expect(
    clippy::disallowed_methods,
    reason = "what a batch made is removed by path: the scratch directory is ours alone"
)]

use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};

use super::{LEFTOVERS, SMALL, fixtures};
use crate::Failure;
use crate::buffer::Buffer;
use crate::raw::{Components, Lookup, Openat2, RawPath, status, to_blocking};
use crate::row::{BatchSetup, Case, Row, Work};
use crate::site::Site;

pub(super) fn rows() -> impl Iterator<Item = Row> {
    [1, 4, 8].into_iter().map(|depth| {
        Row::new(
            format!("create-write/{depth}"),
            format!("create + write 4 KiB, depth {depth}"),
            move |site| work(site, depth),
        )
    })
}

fn work(site: &Site, depth: usize) -> Result<Work, Failure> {
    let texts = (0..LEFTOVERS)
        .map(|index| fixtures::free(site, depth, &format!("new-{index:03}")))
        .collect::<Result<Vec<_>, _>>()?;
    let stage = Created(texts.iter().map(|text| site.path(text)).collect());
    let floor = vec![
        floor(Openat2, site, &texts)?,
        floor(Components, site, &texts)?,
    ];
    let work = Work::new(site, floor, |contender| contender.create_write(&texts))?;
    Ok(work.staged(LEFTOVERS, stage))
}

fn floor<L: Lookup>(lookup: L, site: &Site, texts: &[String]) -> Result<Case, Failure> {
    let (dir, data) = (site.dir(), Buffer::filled());
    let paths = RawPath::all(texts)?;
    // Nothing is followed at the end, and the name must be free.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    Ok(Case::new(L::COLUMN, move |index| {
        let mode = Mode::from_raw_mode(0o666);
        let fd = lookup.open(dir.as_fd(), &paths[index % paths.len()], flags, mode)?;
        status(&fd)?;
        to_blocking(&fd)?;
        Ok(rustix::io::write(&fd, &data)? as u64)
    }))
}

/// The names are free whenever a batch begins.
struct Created(Vec<PathBuf>);

impl BatchSetup for Created {
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
