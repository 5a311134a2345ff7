//! Open a file and read it, beginning with text: what parsing a path costs.

use std::io::Read;
use std::os::fd::AsFd;

use handfast::RelPath;
use rustix::fs::{Mode, OFlags};

use super::buffer::Buffer;
use super::open_read::read;
use super::{SMALL, fixtures};
use crate::column::Column;
use crate::raw::{CAUTIOUS, STRICT, status, to_blocking};
use crate::row::{Case, Row, Work};
use crate::site::Site;

const DEPTH: usize = 4;

pub(super) fn row() -> Row {
    Row::new(
        "open-read/4-parse",
        "open + read 4 KiB, depth 4, from text",
        |site: &Site| {
            let text = fixtures::file(site, DEPTH, "file")?;
            let mut cases = vec![raw(site, &text), std(site, &text)];
            for (column, root) in site.roots() {
                // Who walks does not matter here.
                if column == Column::Kernel {
                    let text = text.clone();
                    let mut buffer = Buffer::new();
                    cases.push(Case::new(column, move |_| {
                        let path = RelPath::parse(&text)?;
                        let mut file = root.open(&path)?;
                        let got = file.read(&mut buffer)?;
                        Ok(read(&buffer, got, file.metadata().len))
                    }));
                }
            }
            #[cfg(feature = "peers")]
            cases.push(cap_std(site, &text)?);
            Ok(Work::new(cases))
        },
    )
}

fn raw(site: &Site, text: &str) -> Case {
    let (dir, text) = (site.dir(), text.to_owned());
    let mut buffer = Buffer::new();
    Case::new(Column::Raw, move |_| {
        let flags = OFlags::RDONLY | CAUTIOUS;
        let fd = rustix::fs::openat2(dir.as_fd(), text.as_str(), flags, Mode::empty(), STRICT)?;
        let status = status(&fd)?;
        to_blocking(&fd)?;
        let got = rustix::io::read(&fd, &mut *buffer)?;
        Ok(read(&buffer, got, status.stx_size))
    })
}

fn std(site: &Site, text: &str) -> Case {
    let (top, text) = (site.path(""), text.to_owned());
    let mut buffer = Buffer::new();
    Case::new(Column::Std, move |_| {
        let got = std::fs::File::open(top.join(&text))?.read(&mut buffer)?;
        Ok(read(&buffer, got, SMALL as u64))
    })
}

#[cfg(feature = "peers")]
fn cap_std(site: &Site, text: &str) -> Result<Case, crate::Failure> {
    let (dir, text) = (site.cap_std()?, text.to_owned());
    let mut buffer = Buffer::new();
    Ok(Case::new(Column::CapStd, move |_| {
        let got = dir.open(&text)?.read(&mut buffer)?;
        Ok(read(&buffer, got, SMALL as u64))
    }))
}
