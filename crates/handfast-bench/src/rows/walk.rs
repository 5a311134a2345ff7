//! List a tree.

use std::ffi::CString;
use std::os::fd::AsFd;

use rustix::fs::FileType;

use super::fixtures;
use crate::Failure;
use crate::raw::{BUFFER, Components, Lookup, Openat2, RawPath, list, status, status_at};
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
            format!("walk/{id}"),
            format!("walk of 10,000, {title}"),
            move |site| work(site, &fixtures::tree(site)?, ask),
        )
    })
}

pub(super) fn work(site: &Site, text: &str, ask: Ask) -> Result<Work, Failure> {
    let floor = vec![
        floor(Openat2, site, text, ask)?,
        floor(Components, site, text, ask)?,
    ];
    Work::new(site, floor, |contender| contender.walk(text, ask))
}

/// The trees here have two levels: the top is listed, then each directory in it.
pub(super) fn floor<L: Lookup>(
    lookup: L,
    site: &Site,
    text: &str,
    ask: Ask,
) -> Result<Case, Failure> {
    let (dir, path) = (site.dir(), RawPath::new(text)?);
    Ok(Case::new(L::COLUMN, move |_| {
        let top = lookup.list(dir.as_fd(), &path)?;
        status(&top)?;
        let mut buffer = Vec::with_capacity(BUFFER);
        let mut dirs: Vec<CString> = Vec::new();
        let mut seen = 0;
        list(top.as_fd(), buffer.spare_capacity_mut(), |name, kind| {
            seen += entry(name.to_bytes());
            if ask == Ask::Metadata {
                seen += length(&status_at(&top, name)?);
            }
            if kind == FileType::Directory {
                dirs.push(name.to_owned());
            }
            Ok(())
        })?;
        for name in dirs {
            let dir = lookup.child(top.as_fd(), &name)?;
            list(dir.as_fd(), buffer.spare_capacity_mut(), |name, _| {
                seen += entry(name.to_bytes());
                if ask == Ask::Metadata {
                    seen += length(&status_at(&dir, name)?);
                }
                Ok(())
            })?;
        }
        Ok(seen)
    }))
}

/// Only files have a length that is the same everywhere.
fn length(status: &rustix::fs::Statx) -> u64 {
    match FileType::from_raw_mode(u32::from(status.stx_mode)) {
        FileType::RegularFile => status.stx_size,
        _ => 0,
    }
}
