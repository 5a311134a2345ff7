//! C2: a link at any component is refused, whatever it points at.

use super::{ItemAnswer, anchored, every_flow, gap, weak};
use crate::facts::bit;
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    every_flow(
        scope,
        |_| true,
        "no path is used",
        |index, flow| {
            if anchored(flow, "C2") || flow.sink.flags.no_symlinks {
                return Ok(flow.sink.at);
            }
            if flow.any(bit::WEAK_EXISTS_FIRST) {
                let at = flow.at(bit::WEAK_EXISTS_FIRST);
                return Err(weak(
                    index,
                    "walk",
                    "an existence test comes first, so a dangling link slips by",
                    at,
                ));
            }
            if flow.is_walked() && flow.has_no_links() {
                return Ok(flow
                    .at(bit::WALK_NOT_LINK | bit::NOT_LINK)
                    .unwrap_or(flow.sink.at));
            }
            // One name directly below the root, opened without following.
            let name_only = flow.acts_on_name() && anchored(flow, "C1");
            if flow.is_one_step() && (flow.opens() && flow.sink.flags.no_follow || name_only) {
                return Ok(flow.sink.at);
            }
            match flow.at(bit::LOOKED) {
                Some(at) => Err(weak(index, "walk", "the test follows links", Some(at))),
                None => Err(gap(index, "walk")),
            }
        },
    )
}
