//! What an anchored operation settles by itself, as data.

/// Kind of anchor and the items it answers.
const SETTLED: [(&str, &[&str]); 8] = [
    (
        "handfast",
        &[
            "A2", "A4", "A5", "B1", "B2", "B3", "C1", "C2", "C3", "C4", "C5", "D1", "D2", "D3",
            "D4", "E2",
        ],
    ),
    ("os.Root", &["A4", "B1", "B3", "C1", "C5", "D1", "D4", "E2"]),
    (
        "cap_std.fs.Dir",
        &["A4", "B1", "B3", "C1", "C5", "D1", "D4", "E2"],
    ),
    (
        "pathrs.Root",
        &["A4", "B1", "B3", "C1", "C5", "D1", "D4", "E2"],
    ),
    ("openat2", &["A4", "B1", "B3", "C1", "C5", "D4", "E2"]),
    (
        "openat2 without links",
        &["A4", "B1", "B3", "C1", "C2", "C3", "C5", "D2", "D4", "E2"],
    ),
    (
        "one name below a descriptor",
        &["B1", "B3", "C1", "C5", "D1", "D4", "E2"],
    ),
    ("O_NOFOLLOW_ANY", &["C2", "D2"]),
];

/// Whether an anchor answers an item.
pub(crate) fn settles(anchor: &str, item: &str) -> bool {
    SETTLED
        .iter()
        .any(|(kind, items)| *kind == anchor && items.contains(&item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_root_that_follows_links_does_not_refuse_them() {
        assert!(settles("os.Root", "B3") && !settles("os.Root", "C2") && !settles("os.Root", "D2"));
        assert!(settles("openat2 without links", "C2"));
        assert!(!settles("none", "B3"));
    }
}
