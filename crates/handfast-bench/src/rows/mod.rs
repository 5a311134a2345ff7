//! The work: one file for each kind, with every way to do it side by side.

mod buffer;
mod create_dir_all;
mod create_write;
mod fixtures;
mod open_link;
mod open_parse;
mod open_read;
mod read_dir;
mod read_whole;
mod remove_tree;
mod rename;
mod stat;
mod walk;
mod write;

use crate::row::Row;

/// The size of a small file.
const SMALL: usize = 4096;

/// As many operations as a batch may have where each leaves something behind.
const LEFTOVERS: usize = 128;

/// Every row, in the order of the tables.
#[must_use]
pub fn all() -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(open_read::rows());
    rows.push(open_parse::row());
    rows.push(open_link::row());
    rows.push(read_whole::row());
    rows.extend(stat::rows());
    rows.push(rename::row());
    rows.extend(create_write::rows());
    rows.push(write::row());
    rows.extend(create_dir_all::rows());
    rows.extend(read_dir::rows());
    rows.extend(walk::rows());
    rows.push(remove_tree::row());
    rows
}

/// The rows whose id holds one of the patterns, which are separated by commas; all without one.
#[must_use]
pub fn matching(patterns: Option<&str>) -> Vec<Row> {
    let mut rows = all();
    if let Some(patterns) = patterns {
        rows.retain(|row| {
            let mut patterns = patterns.split(',').map(str::trim);
            patterns.any(|pattern| !pattern.is_empty() && row.id.contains(pattern))
        });
    }
    rows
}
