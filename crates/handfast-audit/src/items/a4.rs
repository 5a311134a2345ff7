//! A4: no segment is `.` or `..`.

use super::{Gap, ItemAnswer, every_text, gap, weak};
use crate::facts::{AT_CHARS, AT_FIRST, bit};
use crate::scope::{Flow, Scope};

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    let keys = bit::SEGS_CLEAN
        | bit::NO_DOTDOT
        | bit::ROOTED
        | bit::NOT_DOTDOT
        | bit::CONTAINMENT
        | bit::CHOSEN
        | AT_CHARS
        | AT_FIRST;
    every_text(
        scope,
        "A4",
        keys,
        |facts| facts.has_no_dots() || facts.any(bit::CONTAINMENT),
        missing,
    )
}

fn missing(index: usize, flow: &Flow) -> Gap {
    let details = [
        (bit::WEAK_REMOVAL, "one pass of removal leaves `..` behind"),
        (
            bit::WEAK_BEFORE_SPLIT,
            "`..` is tested before the value is split",
        ),
        (bit::SEGMENT, "the last name alone may still be `..`"),
        (bit::WEAK_PREFIX, "the prefix test has no separator"),
        (
            bit::WEAK_RAW,
            "the prefix of a path that was never normalised says nothing",
        ),
        (
            bit::WEAK_MIXED,
            "a resolved form is compared with an unresolved one",
        ),
    ];
    for (key, detail) in details {
        if let Some(at) = flow.at(key) {
            return weak(index, "input", detail, Some(at));
        }
    }
    gap(index, "input")
}
