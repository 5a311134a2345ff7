//! A reader that has read the checkpoint, and a writer that goes on before it lists the segments.

use std::ops::ControlFlow;

use super::publish::Occasion;
use super::tests::{Scratch, leaf, make};
use crate::reading::Reading;
use crate::{Ledger, Level, LogReader};

fn write(ledger: &Ledger, events: u64) {
    append(ledger, events);
    ledger.publish().unwrap();
}

/// Events of such a length that a segment follows with nearly every publication.
fn append(ledger: &Ledger, events: u64) {
    let first = ledger.size();
    let leaves: Vec<_> = (first..first + events)
        .map(|number| {
            let mut long = leaf(number);
            long.truncate(long.len() - 1);
            long.extend_from_slice(b",\"path\":\"");
            long.resize(6000, b'x');
            long.extend_from_slice(b"\"}");
            long
        })
        .collect();
    let _receipt = ledger.append_leaves(&leaves).unwrap();
}

#[test]
fn a_reader_that_is_overtaken_before_its_first_list_misses_nothing() {
    for level in [Level::Strict, Level::Ordered] {
        for publications in [1, 2, 3, 5, 8, 12, 20] {
            let scratch = Scratch::new();
            let ledger = make(&scratch.log(), level);
            (0..10).for_each(|_| write(&ledger, 37));
            let log = LogReader::open(scratch.log()).unwrap();
            let mut told = Vec::new();
            let reading = Reading::new(&log, 0, |index, _| {
                told.push(index);
                Ok(ControlFlow::Continue(()))
            });
            (0..publications).for_each(|_| write(&ledger, 37));
            if let Err(error) = reading.run() {
                panic!("{publications} publications at {level:?}: {error}");
            }
            assert!(told.iter().copied().eq(0..ledger.size()), "{publications}");
        }
    }
}

/// A writer that goes drops what is in a bundle that is not full, and the form that the reader's
/// checkpoint is of is still there: it is too narrow by now.
#[test]
fn a_reader_does_not_take_the_narrow_form_of_a_bundle_for_all_there_is() {
    for level in [Level::Strict, Level::Ordered] {
        let scratch = Scratch::new();
        let ledger = make(&scratch.log(), level);
        (0..10).for_each(|_| write(&ledger, 37));
        let log = LogReader::open(scratch.log()).unwrap();
        let mut told = Vec::new();
        let reading = Reading::new(&log, 0, |index, _| {
            told.push(index);
            Ok(ControlFlow::Continue(()))
        });
        append(&ledger, 37);
        ledger.shared.sync_behind().unwrap();
        let last = ledger.shared.publish_synced(Occasion::Closing);
        last.unwrap();
        assert_eq!(log.segments().unwrap(), [408], "else nothing is shown");
        if let Err(error) = reading.run() {
            panic!("{level:?}: {error}");
        }
        assert!(told.iter().copied().eq(0..408));
    }
}
