//! Sessions and the log, once: every figure is there.

use handfast_bench::layers::{Amount, Wanted, measure, table};

#[test]
fn every_figure_is_measured() {
    let wanted = Wanted {
        sessions: true,
        log: Some(None),
        broker: true,
    };
    let figures = measure(&std::env::temp_dir(), Amount::Once, wanted).unwrap();
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
        "ledger/verify/ratio",
        "broker/load/bare",
        "broker/load/opens",
        "broker/load/ratio",
    ] {
        assert!(ids.iter().any(|known| *known == id), "{id}");
    }
    for figure in &figures {
        let in_batch = figure.id.starts_with("ledger/batch/") && figure.id.ends_with("/ratio");
        let is_peer = figure.id.ends_with("/sqlite") || in_batch;
        let may_lack = is_peer && !cfg!(feature = "peers");
        assert!(may_lack || figure.value.is_finite(), "{}", figure.id);
    }
    assert_eq!(table(&figures).lines().count(), figures.len() + 2);
}
