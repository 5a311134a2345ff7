//! Look at a file.

use std::os::fd::AsFd;

use super::fixtures;
use crate::Failure;
use crate::raw::{Components, Lookup, Openat2, Pin, RawPath};
use crate::row::{Case, Row, Work};
use crate::site::Site;

pub(super) fn rows() -> impl Iterator<Item = Row> {
    [1, 4, 8].into_iter().map(|depth| {
        Row::new(
            format!("stat/{depth}"),
            format!("stat, depth {depth}"),
            move |site| {
                let text = fixtures::file(site, depth, "file")?;
                let floor = vec![
                    floor(Openat2, site, &text)?,
                    floor(Components, site, &text)?,
                ];
                Work::new(site, floor, |contender| contender.stat(&text))
            },
        )
    })
}

fn floor<L: Lookup>(lookup: L, site: &Site, text: &str) -> Result<Case, Failure> {
    let (dir, path) = (site.dir(), RawPath::new(text)?);
    Ok(Case::new(L::COLUMN, move |_| {
        let (_fd, status) = lookup.pin(dir.as_fd(), &path, Pin::Anything)?;
        Ok(status.stx_size)
    }))
}
