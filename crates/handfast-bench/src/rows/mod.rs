//! The work: one file for each kind. It says what is done, makes what that needs, looks whether it
//! was done, and holds the floor: the system calls by hand.

mod broker;
mod copy_tree;
mod create_dir_all;
mod create_write;
mod fixtures;
mod growth;
mod open_link;
mod open_parse;
mod open_read;
mod read_dir;
mod read_whole;
mod remove_tree;
mod rename;
mod replace;
mod stat;
mod threads;
mod walk;

use crate::row::Row;
use crate::scale::Scale;

/// The size of a small file.
pub(crate) const SMALL: usize = 4096;

/// As many operations as a batch may have where each leaves something behind.
const LEFTOVERS: usize = 128;

/// Every row, in the order of the tables.
#[must_use]
pub fn all(scale: &Scale) -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(open_read::rows());
    rows.push(open_parse::row());
    rows.push(open_link::row());
    rows.push(read_whole::row());
    rows.extend(stat::rows());
    rows.push(rename::row());
    rows.extend(create_write::rows());
    rows.extend(replace::rows());
    rows.extend(create_dir_all::rows());
    rows.extend(read_dir::rows());
    rows.extend(walk::rows());
    rows.push(remove_tree::row());
    rows.push(copy_tree::row());
    rows.extend(broker::rows());
    rows.extend(growth::rows(scale));
    rows.extend(threads::rows(scale));
    rows
}

/// The rows that have one of the patterns, which are separated by commas, for an id or, if no row
/// has it, in their id; all rows without a pattern.
#[must_use]
pub fn matching(scale: &Scale, patterns: Option<&str>) -> Vec<Row> {
    let mut rows = all(scale);
    let Some(patterns) = patterns else {
        return rows;
    };
    let ids: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
    let names = |pattern: &str, id: &str| {
        if ids.iter().any(|id| id == pattern) {
            id == pattern
        } else {
            !pattern.is_empty() && id.contains(pattern)
        }
    };
    rows.retain(|row| {
        let mut patterns = patterns.split(',').map(str::trim);
        patterns.any(|pattern| names(pattern, &row.id))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::{all, matching};
    use crate::scale::Scale;

    fn ids(patterns: &str) -> Vec<String> {
        let rows = matching(&Scale::FULL, Some(patterns));
        rows.into_iter().map(|row| row.id).collect()
    }

    #[test]
    fn a_whole_id_means_that_row_and_a_part_means_all_that_have_it() {
        assert_eq!(ids("read/4"), ["read/4"]);
        assert_eq!(ids("walk/m"), ["walk/metadata"]);
        assert_eq!(ids("read-dir/"), ["read-dir/metadata", "read-dir/names"]);
        assert_eq!(ids("stat/1, remove"), ["stat/1", "remove-tree"]);
        assert!(ids("nothing,").is_empty());
        assert_eq!(matching(&Scale::FULL, None).len(), all(&Scale::FULL).len());
    }

    #[test]
    fn every_row_has_an_id_of_its_own() {
        let ids: Vec<String> = all(&Scale::FULL).into_iter().map(|row| row.id).collect();
        let unique: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len());
    }
}
