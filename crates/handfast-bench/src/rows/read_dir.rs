//! List a wide directory.

use std::os::fd::AsFd;

use super::fixtures;
use crate::Failure;
use crate::raw::{BUFFER, Components, Lookup, Openat2, RawPath, list, status_at};
use crate::row::{Case, Row, Work};
use crate::site::Site;
use crate::tally::{Ask, entry};

pub(super) fn rows() -> impl Iterator<Item = Row> {
    [
        ("metadata", "with metadata", Ask::Metadata),
        ("names", "names only", Ask::Name),
    ]
    .into_iter()
    .map(|(id, title, ask)| {
        Row::new(
            format!("read-dir/{id}"),
            format!("read-dir of 1,000, {title}"),
            move |site| {
                let text = fixtures::wide(site)?;
                let floor = vec![
                    floor(Openat2, site, &text, ask)?,
                    floor(Components, site, &text, ask)?,
                ];
                Work::new(site, floor, |contender| contender.read_dir(&text, ask))
            },
        )
    })
}

fn floor<L: Lookup>(lookup: L, site: &Site, text: &str, ask: Ask) -> Result<Case, Failure> {
    let (dir, path) = (site.dir(), RawPath::new(text)?);
    Ok(Case::new(L::COLUMN, move |_| {
        let fd = lookup.list(dir.as_fd(), &path)?;
        let mut buffer = Vec::with_capacity(BUFFER);
        let mut seen = 0;
        list(fd.as_fd(), buffer.spare_capacity_mut(), |name, _| {
            seen += entry(name.to_bytes());
            if ask == Ask::Metadata {
                seen += status_at(&fd, name)?.stx_size;
            }
            Ok(())
        })?;
        Ok(seen)
    }))
}
