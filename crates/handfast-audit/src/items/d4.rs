//! D4: the path is validated immediately before it is changed or deleted.

use super::{ItemAnswer, anchored, every_flow, gap, weak};
use crate::facts::bit;
use crate::scope::{Flow, Scope};

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    let none = "nothing is deleted, and no mode or owner is changed, by path";
    every_flow(
        scope,
        |flow: &Flow| flow.deletes_or_mutates() && !flow.is_temp,
        none,
        |index, flow| {
            if anchored(flow, "D4") {
                return Ok(flow.sink.at);
            }
            if flow.is_fresh() {
                return Ok(flow
                    .at(bit::FRESH_WALK | bit::FRESH_LSTAT)
                    .unwrap_or(flow.sink.at));
            }
            if flow.all(|facts| facts.has(bit::FRESH_LSTAT)) {
                return Err(weak(
                    index,
                    "revalidate",
                    "only the last name is looked at before the call, not the way to it",
                    flow.at(bit::FRESH_LSTAT),
                ));
            }
            if let Some(at) = flow.at(bit::WALKED | bit::NOT_LINK) {
                return Err(weak(
                    index,
                    "revalidate",
                    "the check is no longer fresh: something happens between it and the call",
                    Some(at),
                ));
            }
            match flow.at(bit::LOOKED) {
                Some(at) => Err(weak(
                    index,
                    "revalidate",
                    "a look that follows links comes before the call",
                    Some(at),
                )),
                None => Err(gap(index, "revalidate")),
            }
        },
    )
}
