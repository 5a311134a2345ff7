//! F1: every test has a temporary directory of its own.

use super::{Gap, ItemAnswer};
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    let tests = scope.tests();
    if tests.is_empty() {
        return ItemAnswer::NotApplicable("no tests of this code are in sight (see F3)".to_owned());
    }
    let shared: Vec<Gap> = tests
        .iter()
        .filter_map(|test| test.shared_dir)
        .map(|at| Gap {
            flow: None,
            cause: "tests",
            detail: None,
            at: Some(at),
            milder: false,
        })
        .collect();
    if !shared.is_empty() {
        return ItemAnswer::Missing(shared);
    }
    match tests.iter().find_map(|test| test.private_dir) {
        Some(at) => ItemAnswer::Yes(at),
        None => ItemAnswer::NotApplicable("the tests use no directory".to_owned()),
    }
}
