//! Open a file and read it into the caller's buffer.

use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags};

use super::fixtures;
use crate::Failure;
use crate::buffer::Buffer;
use crate::raw::{Components, Lookup, Openat2, RawPath, status, to_blocking};
use crate::row::{Case, Row, Work};
use crate::site::Site;
use crate::tally::read;

pub(super) fn rows() -> impl Iterator<Item = Row> {
    [1, 4, 8].into_iter().map(|depth| {
        Row::new(
            format!("open-read/{depth}"),
            format!("open + read 4 KiB, depth {depth}"),
            move |site| {
                let paths = [fixtures::file(site, depth, "file")?];
                work(site, &paths)
            },
        )
    })
}

/// Operation number `n` takes path `n`, over and over.
pub(super) fn work(site: &Site, paths: &[String]) -> Result<Work, Failure> {
    let floor = vec![
        floor(Openat2, site, paths)?,
        floor(Components, site, paths)?,
    ];
    Work::new(site, floor, |contender| contender.open_read(paths))
}

pub(super) fn floor<L: Lookup>(lookup: L, site: &Site, paths: &[String]) -> Result<Case, Failure> {
    let (dir, paths) = (site.dir(), RawPath::all(paths)?);
    let mut buffer = Buffer::new();
    Ok(Case::new(L::COLUMN, move |index| {
        let path = &paths[index % paths.len()];
        let fd = lookup.open(dir.as_fd(), path, OFlags::RDONLY, Mode::empty())?;
        let status = status(&fd)?;
        to_blocking(&fd)?;
        let got = rustix::io::read(&fd, &mut *buffer)?;
        Ok(read(&buffer, got, status.stx_size))
    }))
}
