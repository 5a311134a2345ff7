//! The library's properties hold of sessions: whatever is done in whatever order, answers and tree
//! are those of the model, and nothing outside changes.

#[path = "../../../handfast/tests/properties/mod.rs"]
mod library;

use std::cell::RefCell;

use handfast_session::{Mode, Session, SessionSpec};
use library::model::Model;
use library::verbs::{Succeeded, check_files, links_of, shown};
use proptest::prelude::*;

use super::support::{Scratch, me};

fn check(mode: Mode) {
    let cases = std::env::var("HANDFAST_RANDOM_CASES").map_or(150, |text| {
        text.parse().expect("HANDFAST_RANDOM_CASES is a number")
    });
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let succeeded = RefCell::new(Succeeded::new());
    let bytes = prop::collection::vec(any::<u8>(), 8..400);
    let one = |bytes: Vec<u8>| {
        let scratch = Scratch::new();
        let outside = scratch.outside();
        let mut model = Model::new(links_of(&bytes));
        model.any_target = mode != Mode::ReadWrite;
        let mount = scratch.mount(mode).links(model.links);
        let session = Session::new(&SessionSpec::new().mount(mount), me()).unwrap();
        let listing = || shown(&session);
        let mut succeeded = succeeded.borrow_mut();
        check_files(&session, model, &listing, &bytes, &mut succeeded);
        assert_eq!(scratch.outside(), outside);
        Ok(())
    };
    // Which verbs succeed is chance: more cases where one did not.
    for _ in 0..10 {
        runner.run(&bytes, one).unwrap();
        if succeeded.borrow().len() == 19 {
            break;
        }
    }
    // A verb that never succeeds shows nothing. One of the 20 kinds is meant to be refused.
    let succeeded = succeeded.into_inner();
    assert_eq!(succeeded.len(), 19, "{succeeded:?}");
}

#[test]
fn the_verbs_of_a_read_write_session_do_what_the_model_does() {
    check(Mode::ReadWrite);
}

#[test]
fn the_verbs_of_an_overlay_do_what_the_model_does() {
    check(Mode::Memory);
}
