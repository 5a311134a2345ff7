//! Open a file and read it into the caller's buffer.

use std::io::Read;
use std::os::fd::AsFd;

use handfast::{RelPath, Root};
use rustix::fs::{Mode, OFlags};

use super::buffer::Buffer;
use super::{SMALL, fixtures};
use crate::Failure;
use crate::column::Column;
use crate::raw::{Components, Lookup, Openat2, RawPath, status, to_blocking};
use crate::row::{Case, Row, Work};
use crate::site::Site;

pub(super) fn rows() -> impl Iterator<Item = Row> {
    [1, 4, 8].into_iter().map(|depth| {
        Row::new(
            format!("open-read/{depth}"),
            format!("open + read 4 KiB, depth {depth}"),
            move |site| cases(site, depth),
        )
    })
}

fn cases(site: &Site, depth: usize) -> Result<Work, Failure> {
    let text = fixtures::file(site, depth, "file")?;
    let mut cases = vec![
        raw(Openat2, site, &text)?,
        raw(Components, site, &text)?,
        std(site, &text),
    ];
    for (column, root) in site.roots() {
        cases.push(handfast(column, root, &text)?);
    }
    #[cfg(feature = "peers")]
    cases.push(cap_std(site, &text)?);
    Ok(Work::new(cases))
}

fn raw<L: Lookup>(lookup: L, site: &Site, text: &str) -> Result<Case, Failure> {
    let (dir, path) = (site.dir(), RawPath::new(text)?);
    let mut buffer = Buffer::new();
    Ok(Case::new(L::COLUMN, move |_| {
        let fd = lookup.open(dir.as_fd(), &path, OFlags::RDONLY, Mode::empty())?;
        let status = status(&fd)?;
        to_blocking(&fd)?;
        let got = rustix::io::read(&fd, &mut *buffer)?;
        Ok(read(&buffer, got, status.stx_size))
    }))
}

pub(super) fn std(site: &Site, text: &str) -> Case {
    let path = site.path(text);
    let mut buffer = Buffer::new();
    Case::new(Column::Std, move |_| {
        let got = std::fs::File::open(&path)?.read(&mut buffer)?;
        Ok(read(&buffer, got, SMALL as u64))
    })
}

pub(super) fn handfast(column: Column, root: Root, text: &str) -> Result<Case, Failure> {
    let path = RelPath::parse(text)?;
    let mut buffer = Buffer::new();
    Ok(Case::new(column, move |_| {
        let mut file = root.open(&path)?;
        let got = file.read(&mut buffer)?;
        Ok(read(&buffer, got, file.metadata().len))
    }))
}

#[cfg(feature = "peers")]
pub(super) fn cap_std(site: &Site, text: &str) -> Result<Case, Failure> {
    let (dir, path) = (site.cap_std()?, text.to_owned());
    let mut buffer = Buffer::new();
    Ok(Case::new(Column::CapStd, move |_| {
        let got = dir.open(&path)?.read(&mut buffer)?;
        Ok(read(&buffer, got, SMALL as u64))
    }))
}

/// What was read: how much, and its last byte.
pub(super) fn read(buffer: &[u8], got: usize, length: u64) -> u64 {
    let last = buffer[..got].last().copied().map_or(0, u64::from);
    got as u64 + last + length
}
