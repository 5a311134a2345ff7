//! F3: a regression test for every applicable gate.

use super::{ALL, Gap, ItemAnswer};
use crate::scope::Scope;
use crate::tests_index::Shows;

/// Which item asks for which test.
const WANTED: [(&str, Shows, &str); 9] = [
    ("A4", Shows::DotDot, "a `..` segment"),
    ("B2", Shows::RootLink, "a root that is a link"),
    ("C2", Shows::Link, "a link at a component"),
    ("C2", Shows::DanglingLink, "a dangling link"),
    (
        "C3",
        Shows::FileInTheWay,
        "a file as an intermediate component",
    ),
    ("C5", Shows::HardLink, "a hard link at the leaf"),
    (
        "E2",
        Shows::PlantedLater,
        "a link planted between validation and change",
    ),
    ("E3", Shows::OtherBranch, "the other branch"),
    (
        "E1",
        Shows::LockReleased,
        "a lock that is free after a refusal",
    ),
];

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    let tests = scope.tests();
    let mut missing = Vec::new();
    let mut anchor = None;
    for (item, shows, words) in WANTED {
        let applies = ALL
            .iter()
            .find(|(id, _)| *id == item)
            .is_some_and(|(_, evaluate)| !matches!(evaluate(scope), ItemAnswer::NotApplicable(_)));
        if !applies {
            continue;
        }
        match tests.iter().find_map(|test| test.shows(shows)) {
            Some(at) => anchor = anchor.or(Some(at)),
            None => missing.push(words),
        }
    }
    if missing.is_empty()
        && let Some(at) = anchor
    {
        return ItemAnswer::Yes(at);
    }
    let detail = Some(format!("no test shows: {}", missing.join("; ")));
    ItemAnswer::Missing(vec![Gap {
        flow: None,
        cause: "tests",
        detail,
        at: None,
        milder: false,
    }])
}
