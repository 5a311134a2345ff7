//! A tiny siege through the library: attackers as threads.
#![allow(missing_docs, reason = "tests are named after what they show")]
#![cfg(supported)]

#[path = "../../handfast/tests/support/turns.rs"]
mod turns;

use handfast_siege::{Backends, Finding, Siege, SiegeError, Verdict, render};

fn siege(only: &[&str]) -> Siege {
    Siege::new(std::env::temp_dir())
        .rounds(30)
        .only(only.iter().map(|&pattern| pattern.to_owned()))
}

/// One of each kind: on the way, at the end, at the root, by descriptor, by a second name.
const SOME: [&str; 5] = [
    "directory-swap",
    "root-swap",
    "replaced-lock",
    "moved-parent",
    "hard-link-plant",
];

#[test]
fn nothing_gets_out_and_every_control_is_beaten() {
    // A busy machine may be too weak to tell, or starve a victim; it is asked three times.
    let turns = turns::Turns::start();
    let report = (0..3)
        .map(|_| {
            let report = siege(&SOME).run(&mut |_| {}).unwrap();
            // An escape is never forgiven.
            for cell in report.cells.iter().filter(|cell| !cell.control) {
                assert_eq!((cell.escapes, cell.spurious), (0, 0), "{cell:?}");
            }
            report
        })
        .find(|report| report.verdict() == Verdict::Held);
    let Some(report) = report else {
        turns.settle("tiny siege", "too weak to tell in three runs");
        return;
    };
    // Half of them where openat2 is masked.
    assert!(report.cells.len() > 100);
    for cell in &report.cells {
        assert_eq!(cell.escapes > 0, cell.control, "{cell:?}");
        assert_eq!(cell.finding(), Finding::Held, "{cell:?}");
    }
    assert_eq!(report.verdict(), Verdict::Held);
    // Without a program to start there are no processes, and the report says so.
    let what = "directory-swap by attackers that are processes";
    assert!(report.skipped.iter().any(|skipped| skipped.what == what));
    assert!(render::table(&report, false).contains("not tried: directory-swap by attackers"));
    assert!(render::markdown(&report).contains("| read | walk |"));
}

#[test]
fn only_what_was_asked_for_is_tried() {
    let mut told = 0;
    let report = siege(&["leaf-swap/read@"])
        .backends(Backends::Walk)
        .run(&mut |_| told += 1)
        .unwrap();
    let cells: Vec<_> = report
        .cells
        .iter()
        .map(|cell| (cell.verb.as_str(), cell.backend, cell.control))
        .collect();
    assert_eq!(
        cells,
        [("read", "walk", false), ("naive-write", "none", true)]
    );
    assert!(told >= 2);
}

#[test]
fn a_pattern_that_fits_nothing_is_an_error() {
    let found = siege(&["no-such-attack"]).run(&mut |_| {});
    assert!(matches!(found, Err(SiegeError::NothingMatches)));
}

#[test]
fn a_place_that_does_not_exist_is_an_error() {
    let nowhere = std::env::temp_dir().join("handfast-siege-no-such-directory");
    let found = Siege::new(nowhere).rounds(1).run(&mut |_| {});
    assert!(matches!(found, Err(SiegeError::Scene(_))), "{found:?}");
}
