//! Open a file through a link that stays beneath the root, and read it.

use std::os::fd::AsFd;

use rustix::fs::OFlags;

use super::buffer::Buffer;
use super::fixtures;
use super::open_read::{self, handfast, read};
use crate::Failure;
use crate::raw::{Components, Lookup, Openat2, RawPath, status, to_blocking};
use crate::row::{Case, Row, Work};
use crate::site::Site;

pub(super) fn row() -> Row {
    Row::new(
        "open-read/link",
        "open + read 4 KiB, in-root link",
        |site: &Site| {
            let text = fixtures::linked(site)?;
            let mut cases = vec![
                raw(Openat2, site, &text)?,
                raw(Components, site, &text)?,
                open_read::std(site, &text),
            ];
            for (column, root) in site.roots_with_links()? {
                cases.push(handfast(column, root, &text)?);
            }
            #[cfg(feature = "peers")]
            cases.push(open_read::cap_std(site, &text)?);
            Ok(Work::new(cases))
        },
    )
}

fn raw<L: Lookup>(lookup: L, site: &Site, text: &str) -> Result<Case, Failure> {
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
