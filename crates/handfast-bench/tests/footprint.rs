//! Memory and descriptors are counted right. One test alone: they are those of the whole process.
#![allow(clippy::unwrap_used, reason = "a test")]

use handfast_bench::column::Column;
use handfast_bench::footprint::{self, Needs};
use handfast_bench::rows;
use handfast_bench::run::Effort;
use handfast_bench::scale::Scale;
use handfast_bench::site::Site;

#[test]
fn known_work_needs_what_it_needs() {
    let site = Site::new(&std::env::temp_dir(), Scale::SMALL).unwrap();
    let weighed = |id: &str| {
        let rows = rows::matching(&Scale::SMALL, Some(id));
        footprint::weigh(&rows[0], &site, Effort::ONCE).unwrap()
    };
    let needs = |id: &str, column: Column| -> Needs {
        let row = weighed(id);
        let found = row.cells.iter().find(|(here, _)| *here == column);
        found.unwrap().1
    };

    // One descriptor at a time by `openat2`; by hand the one above as well.
    let raw = needs("open-read/4", Column::Raw);
    assert_eq!((raw.heap, raw.allocations, raw.descriptors), (0, 0, 1));
    assert_eq!(needs("open-read/4", Column::RawWalk).descriptors, 2);
    // Both parents of a rename.
    assert_eq!(needs("rename/4", Column::Raw).descriptors, 2);
    // One buffer of 32 KiB, and one listing.
    let listing = needs("read-dir/metadata", Column::Raw);
    assert_eq!(
        (listing.heap, listing.allocations, listing.descriptors),
        (32 * 1024, 1, 1)
    );

    // Every row that is weighed is a row, and what it needed was found for every column.
    for id in footprint::ROWS {
        let row = weighed(id);
        assert_eq!(row.id, id);
        assert!(row.cells.len() >= 5, "{row:?}");
        for (column, needs) in &row.cells {
            let path_only = matches!(column, Column::Std | Column::JailJoin | Column::StrictPath);
            assert!(needs.descriptors > 0 || path_only, "{id}, {column}");
        }
    }
    let held = footprint::at_rest(&site, Effort::ONCE).unwrap();
    let kernel = held.iter().find(|(column, _)| *column == Column::Kernel);
    assert_eq!(kernel, Some(&(Column::Kernel, 1)));
}
