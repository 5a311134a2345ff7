//! F2: tests of date-based paths freeze the clock.

use super::{Gap, ItemAnswer};
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    if !scope.flows.iter().any(|flow| flow.has_clock) {
        return ItemAnswer::NotApplicable("no date-based path segment".to_owned());
    }
    let tests = scope.tests();
    match tests.iter().find_map(|test| test.frozen_clock) {
        Some(at) => ItemAnswer::Yes(at),
        None => {
            let at = scope
                .flows
                .iter()
                .find(|flow| flow.has_clock)
                .map(|flow| flow.sink.at);
            ItemAnswer::Missing(vec![Gap {
                flow: None,
                cause: "tests",
                detail: None,
                at,
                milder: false,
            }])
        }
    }
}
