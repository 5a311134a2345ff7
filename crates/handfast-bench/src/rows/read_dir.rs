//! List a wide directory.

use std::os::fd::AsFd;

use handfast::{RelPath, Root};

use super::fixtures;
use crate::Failure;
use crate::column::Column;
use crate::raw::{BUFFER, Components, Lookup, Openat2, RawPath, list, status_at};
use crate::row::{Case, Row, Work};
use crate::site::Site;

/// What is asked of each entry.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Ask {
    /// Its name.
    Name,
    /// Its name and metadata.
    Metadata,
}

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
            move |site| cases(site, ask),
        )
    })
}

fn cases(site: &Site, ask: Ask) -> Result<Work, Failure> {
    let text = fixtures::wide(site)?;
    let mut cases = vec![
        raw(Openat2, site, &text, ask)?,
        raw(Components, site, &text, ask)?,
        std(site, &text, ask),
    ];
    for (column, root) in site.roots() {
        cases.push(handfast(column, root, &text, ask)?);
    }
    #[cfg(feature = "peers")]
    cases.push(cap_std(site, text, ask)?);
    Ok(Work::new(cases))
}

fn raw<L: Lookup>(lookup: L, site: &Site, text: &str, ask: Ask) -> Result<Case, Failure> {
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

fn std(site: &Site, text: &str, ask: Ask) -> Case {
    let path = site.path(text);
    Case::new(Column::Std, move |_| {
        let mut seen = 0;
        for found in std::fs::read_dir(&path)? {
            let found = found?;
            seen += entry(found.file_name().as_encoded_bytes());
            if ask == Ask::Metadata {
                seen += found.metadata()?.len();
            }
        }
        Ok(seen)
    })
}

fn handfast(column: Column, root: Root, text: &str, ask: Ask) -> Result<Case, Failure> {
    let path = RelPath::parse(text)?;
    Ok(Case::new(column, move |_| {
        let mut seen = 0;
        let mut entries = root.read_dir(&path)?;
        while let Some(found) = entries.next_entry()? {
            seen += entry(found.name().as_bytes());
            if ask == Ask::Metadata {
                seen += found.metadata()?.len;
            }
        }
        Ok(seen)
    }))
}

#[cfg(feature = "peers")]
fn cap_std(site: &Site, text: String, ask: Ask) -> Result<Case, Failure> {
    let dir = site.cap_std()?;
    Ok(Case::new(Column::CapStd, move |_| {
        let mut seen = 0;
        for found in dir.read_dir(&text)? {
            let found = found?;
            seen += entry(found.file_name().as_encoded_bytes());
            if ask == Ask::Metadata {
                seen += found.metadata()?.len();
            }
        }
        Ok(seen)
    }))
}

/// What an entry counts: itself, and the bytes of its name.
pub(super) fn entry(name: &[u8]) -> u64 {
    1 + name.len() as u64
}
