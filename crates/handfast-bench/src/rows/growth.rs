//! What more and more files do to an open and to a walk.

use super::{fixtures, open_read, walk};
use crate::row::{Group, Row};
use crate::scale::Scale;
use crate::tally::Ask;
use crate::words::grouped;

pub(super) fn rows(scale: &Scale) -> impl Iterator<Item = Row> {
    let open = scale.files.iter().map(|&files| {
        Row::new(
            format!("files/open/{files}"),
            format!("open + read 64 B, one of {}", grouped(files)),
            move |site| open_read::work(site, &fixtures::crowd(site, files)?),
        )
        .in_group(Group::Files(files))
    });
    let walk = scale.files.iter().map(|&files| {
        Row::new(
            format!("files/walk/{files}"),
            format!("walk of {}, names only", grouped(files)),
            move |site| walk::work(site, &fixtures::forest(site, files)?, Ask::Name),
        )
        .in_group(Group::Files(files))
    });
    open.chain(walk)
}
