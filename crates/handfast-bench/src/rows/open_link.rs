//! Open a file through a link that stays beneath the root, and read it.

use std::os::fd::AsFd;

use rustix::fs::OFlags;

use super::fixtures;
use crate::Failure;
use crate::buffer::Buffer;
use crate::raw::{Components, Lookup, Openat2, RawPath, status, to_blocking};
use crate::row::{Case, Row, Work};
use crate::site::Site;
use crate::tally::read;

pub(super) fn row() -> Row {
    Row::new(
        "open-read/link",
        "open + read 4 KiB, in-root link",
        |site: &Site| {
            let text = fixtures::linked(site)?;
            let floor = vec![
                floor(Openat2, site, &text)?,
                floor(Components, site, &text)?,
            ];
            Work::new(site, floor, |contender| contender.open_linked(&text))
        },
    )
}

fn floor<L: Lookup>(lookup: L, site: &Site, text: &str) -> Result<Case, Failure> {
    let (dir, path) = (site.dir(), RawPath::new(text)?);
    let mut buffer = Buffer::new();
    Ok(Case::new(L::COLUMN, move |_| {
        let fd = lookup.open_through_link(dir.as_fd(), &path, OFlags::RDONLY)?;
        let status = status(&fd)?;
        to_blocking(&fd)?;
        let got = rustix::io::read(&fd, &mut *buffer)?;
        Ok(read(&buffer, got, status.stx_size))
    }))
}
