//! Open a file and read it, beginning with text: what parsing a path costs.

use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags};

use super::fixtures;
use crate::buffer::Buffer;
use crate::column::Column;
use crate::contender::lacks;
use crate::raw::{CAUTIOUS, STRICT, status, to_blocking};
use crate::row::{Case, Row, Work};
use crate::site::Site;
use crate::tally::read;

const DEPTH: usize = 4;
const SAME: &str = "who walks does not matter for parsing: see the kernel column";

pub(super) fn row() -> Row {
    Row::new(
        "open-read/4-parse",
        "open + read 4 KiB, depth 4, from text",
        |site: &Site| {
            let text = fixtures::file(site, DEPTH, "file")?;
            let work = Work::new(site, vec![floor(site, &text)], |contender| match contender
                .column()
            {
                Column::Walk => lacks(SAME),
                _ => contender.open_parsed(&text),
            })?;
            Ok(work.without(Column::RawWalk, SAME))
        },
    )
}

fn floor(site: &Site, text: &str) -> Case {
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
