//! List a tree.

use std::ffi::CString;
use std::os::fd::AsFd;
use std::path::Path;

use handfast::{RelPath, Root};
use rustix::fs::FileType;

use super::fixtures;
use super::read_dir::{Ask, entry};
use crate::Failure;
use crate::column::Column;
use crate::raw::{BUFFER, Components, Lookup, Openat2, RawPath, list, status, status_at};
use crate::row::{Case, Row, Work};
use crate::site::Site;

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
            move |site| cases(site, ask),
        )
    })
}

fn cases(site: &Site, ask: Ask) -> Result<Work, Failure> {
    let text = fixtures::tree(site)?;
    let path = site.path(&text);
    let mut cases = vec![
        raw(Openat2, site, &text, ask)?,
        raw(Components, site, &text, ask)?,
        Case::new(Column::Std, move |_| std(&path, ask)),
    ];
    for (column, root) in site.roots() {
        cases.push(handfast(column, root, &text, ask)?);
    }
    #[cfg(feature = "peers")]
    {
        let dir = site.cap_std()?;
        cases.push(Case::new(Column::CapStd, move |_| {
            cap_std(&dir.open_dir(&text)?, ask)
        }));
    }
    Ok(Work::new(cases))
}

/// The trees here have two levels: the top is listed, then each directory in it.
fn raw<L: Lookup>(lookup: L, site: &Site, text: &str, ask: Ask) -> Result<Case, Failure> {
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

fn std(dir: &Path, ask: Ask) -> Result<u64, Failure> {
    let mut seen = 0;
    for found in std::fs::read_dir(dir)? {
        let found = found?;
        seen += entry(found.file_name().as_encoded_bytes());
        if ask == Ask::Metadata {
            let metadata = found.metadata()?;
            if metadata.is_file() {
                seen += metadata.len();
            }
        }
        if found.file_type()?.is_dir() {
            seen += std(&found.path(), ask)?;
        }
    }
    Ok(seen)
}

fn handfast(column: Column, root: Root, text: &str, ask: Ask) -> Result<Case, Failure> {
    let path = RelPath::parse(text)?;
    Ok(Case::new(column, move |_| {
        let mut seen = 0;
        let mut walk = root.walk(&path)?;
        while let Some(found) = walk.next_entry()? {
            seen += entry(found.name().as_bytes());
            if ask == Ask::Metadata {
                let metadata = found.metadata()?;
                if metadata.is_file() {
                    seen += metadata.len;
                }
            }
        }
        Ok(seen)
    }))
}

#[cfg(feature = "peers")]
fn cap_std(dir: &cap_std::fs::Dir, ask: Ask) -> Result<u64, Failure> {
    let mut seen = 0;
    for found in dir.entries()? {
        let found = found?;
        seen += entry(found.file_name().as_encoded_bytes());
        if ask == Ask::Metadata {
            let metadata = found.metadata()?;
            if metadata.is_file() {
                seen += metadata.len();
            }
        }
        if found.file_type()?.is_dir() {
            seen += cap_std(&found.open_dir()?, ask)?;
        }
    }
    Ok(seen)
}
