//! Look at a file.

use std::os::fd::AsFd;

use handfast::RelPath;

use super::fixtures;
use crate::Failure;
use crate::column::Column;
use crate::raw::{Components, Lookup, Openat2, Pin, RawPath};
use crate::row::{Case, Row, Work};
use crate::site::Site;

pub(super) fn rows() -> impl Iterator<Item = Row> {
    [1, 4, 8].into_iter().map(|depth| {
        Row::new(
            format!("stat/{depth}"),
            format!("stat, depth {depth}"),
            move |site| cases(site, depth),
        )
    })
}

fn cases(site: &Site, depth: usize) -> Result<Work, Failure> {
    let text = fixtures::file(site, depth, "file")?;
    let path = site.path(&text);
    let mut cases = vec![
        raw(Openat2, site, &text)?,
        raw(Components, site, &text)?,
        Case::new(Column::Std, move |_| Ok(std::fs::metadata(&path)?.len())),
    ];
    for (column, root) in site.roots() {
        let path = RelPath::parse(&text)?;
        cases.push(Case::new(column, move |_| Ok(root.metadata(&path)?.len)));
    }
    #[cfg(feature = "peers")]
    {
        let dir = site.cap_std()?;
        cases.push(Case::new(Column::CapStd, move |_| {
            Ok(dir.metadata(&text)?.len())
        }));
    }
    Ok(Work::new(cases))
}

fn raw<L: Lookup>(lookup: L, site: &Site, text: &str) -> Result<Case, Failure> {
    let (dir, path) = (site.dir(), RawPath::new(text)?);
    Ok(Case::new(L::COLUMN, move |_| {
        let (_fd, status) = lookup.pin(dir.as_fd(), &path, Pin::Anything)?;
        Ok(status.stx_size)
    }))
}
