//! Read a whole file into fresh memory, in one call.
#![expect(
    clippy::disallowed_methods,
    reason = "one column is what people write who confine nothing"
)]

use std::os::fd::AsFd;

use handfast::RelPath;
use rustix::fs::{Mode, OFlags};

use super::fixtures;
use super::open_read::read;
use crate::Failure;
use crate::column::Column;
use crate::raw::{Components, Lookup, Openat2, RawPath, status, to_blocking};
use crate::row::{Case, Row, Work};
use crate::site::Site;

pub(super) fn row() -> Row {
    Row::new(
        "read/4",
        "read a whole 4 KiB file, depth 4",
        |site: &Site| {
            let text = fixtures::file(site, 4, "file")?;
            let path = site.path(&text);
            let mut cases = vec![
                raw(Openat2, site, &text)?,
                raw(Components, site, &text)?,
                Case::new(Column::Std, move |_| Ok(whole(&std::fs::read(&path)?))),
            ];
            for (column, root) in site.roots() {
                let path = RelPath::parse(&text)?;
                cases.push(Case::new(column, move |_| Ok(whole(&root.read(&path)?))));
            }
            #[cfg(feature = "peers")]
            {
                let dir = site.cap_std()?;
                cases.push(Case::new(Column::CapStd, move |_| {
                    Ok(whole(&dir.read(&text)?))
                }));
            }
            Ok(Work::new(cases))
        },
    )
}

fn raw<L: Lookup>(lookup: L, site: &Site, text: &str) -> Result<Case, Failure> {
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

fn whole(data: &[u8]) -> u64 {
    read(data, data.len(), data.len() as u64)
}
