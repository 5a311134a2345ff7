//! Read a whole file into fresh memory, in one call.

use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags};

use super::fixtures;
use crate::Failure;
use crate::raw::{Components, Lookup, Openat2, RawPath, status, to_blocking};
use crate::row::{Case, Row, Work};
use crate::site::Site;
use crate::tally::whole;

pub(super) fn row() -> Row {
    Row::new(
        "read/4",
        "read a whole 4 KiB file, depth 4",
        |site: &Site| {
            let text = fixtures::file(site, 4, "file")?;
            let floor = vec![
                floor(Openat2, site, &text)?,
                floor(Components, site, &text)?,
            ];
            Work::new(site, floor, |contender| contender.read_whole(&text))
        },
    )
}

fn floor<L: Lookup>(lookup: L, site: &Site, text: &str) -> Result<Case, Failure> {
    let (dir, path) = (site.dir(), RawPath::new(text)?);
    Ok(Case::new(L::COLUMN, move |_| {
        let fd = lookup.open(dir.as_fd(), &path, OFlags::RDONLY, Mode::empty())?;
        let status = status(&fd)?;
        to_blocking(&fd)?;
        let mut data = Vec::with_capacity(usize::try_from(status.stx_size)?);
        rustix::io::read(&fd, rustix::buffer::spare_capacity(&mut data))?;
        Ok(whole(&data))
    }))
}
