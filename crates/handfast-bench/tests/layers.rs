//! Sessions and the log, once: every figure is there.

use handfast_bench::layers::{Amount, measure, table};

#[test]
fn every_figure_is_measured() {
    let figures = measure(&std::env::temp_dir(), Amount::Once, true, Some(None)).unwrap();
    let ids: std::collections::BTreeSet<_> = figures.iter().map(|figure| &figure.id).collect();
    assert_eq!(ids.len(), figures.len(), "each has a name of its own");
    for id in [
        "session/open-read",
        "session/overlay-read",
        "session/patterns",
        "session/copy-up",
        "session/commit",
        "ledger/strict/8/events",
        "ledger/ordered/8/p99",
        "ledger/batch/100/ratio",
        "ledger/verify/whole",
        "ledger/cpu/own",
        "ledger/verify/published",
        "ledger/verify/floor",
    ] {
        assert!(ids.iter().any(|known| *known == id), "{id}");
    }
    for figure in &figures {
        let is_peer = figure.id.ends_with("/sqlite") || figure.id.ends_with("/ratio");
        let may_lack = is_peer && !cfg!(feature = "peers");
        assert!(may_lack || figure.value.is_finite(), "{}", figure.id);
    }
    assert_eq!(table(&figures).lines().count(), figures.len() + 2);
}
