//! B3: containment is decided on canonical paths, component by component.

use super::{Gap, ItemAnswer, anchored, every_flow, gap, weak};
use crate::facts::{Facts, bit};
use crate::interp::SinkKind;
use crate::scope::{Flow, Scope};

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    every_flow(
        scope,
        |flow| flow.sink.kind != SinkKind::Temp,
        "no path is built",
        |index, flow| {
            if anchored(flow, "B3") {
                return Ok(flow.sink.at);
            }
            let canonical = flow.all(|facts| facts.any(bit::IN_CANONICAL | bit::CHOSEN));
            // Without links on the way the lexical form is the canonical one.
            let closed = flow.all(|facts| {
                facts.any(bit::IN_LEXICAL | bit::CHOSEN | bit::IN_CANONICAL | bit::ROOTED)
                    || facts.has_no_dots() && (facts.is_one_segment() || flow.keeps_root(facts))
            });
            if let Some(at) = flow
                .at(bit::OTHER_DRIVE)
                .filter(|_| flow.any(bit::OTHER_DRIVE))
            {
                let words = "without isAbsolute a path on another drive passes, on Windows";
                let mut gap = weak(index, "containment", words, Some(at));
                gap.milder = true;
                return Err(gap);
            }
            if canonical {
                return Ok(flow
                    .at(bit::IN_CANONICAL | bit::CHOSEN)
                    .unwrap_or(flow.sink.at));
            }
            if closed && flow.is_walked() && flow.has_no_links() {
                return Ok(flow
                    .at(bit::WALK_NOT_LINK | bit::NOT_LINK)
                    .unwrap_or(flow.sink.at));
            }
            Err(missing(index, flow, closed))
        },
    )
}

fn missing(index: usize, flow: &Flow, closed: bool) -> Gap {
    if closed && flow.at(bit::WEAK_MIXED).is_none() {
        let keys = bit::IN_LEXICAL | bit::SEGS_CLEAN | bit::ROOTED | bit::NOT_DOTDOT;
        let at = flow.at(keys).unwrap_or(flow.sink.at);
        let mut gap = weak(
            index,
            "containment",
            "containment is lexical only: a link below the root leads out",
            Some(at),
        );
        gap.milder = true;
        return gap;
    }
    if flow.all(Facts::has_no_dots) && !flow.any(bit::WEAK_PREFIX | bit::WEAK_MIXED | bit::WEAK_RAW)
    {
        let detail = "an absolute value takes the place of the root when it is joined";
        return weak(index, "containment", detail, Some(flow.sink.at));
    }
    let details = [
        (
            bit::WEAK_PREFIX,
            "the prefix test has no separator: a sibling with the same beginning passes",
        ),
        (
            bit::WEAK_MIXED,
            "a resolved form is compared with an unresolved one",
        ),
        (
            bit::WEAK_RAW,
            "the prefix of a path that was never normalised says nothing",
        ),
    ];
    for (key, detail) in details {
        if let Some(at) = flow.at(key) {
            return weak(index, "containment", detail, Some(at));
        }
    }
    gap(index, "containment")
}
