//! C1: every component is looked at.

use super::{ItemAnswer, anchored, every_flow, gap, weak};
use crate::facts::bit;
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    every_flow(
        scope,
        |_| true,
        "no path is used",
        |index, flow| {
            if anchored(flow, "C1") {
                return Ok(flow.sink.at);
            }
            if flow.is_walked() {
                return Ok(flow.at(bit::WALKED | bit::LSTAT).unwrap_or(flow.sink.at));
            }
            match flow.at(bit::LSTAT) {
                Some(at) => Err(weak(
                    index,
                    "walk",
                    "only the final path is looked at",
                    Some(at),
                )),
                None => Err(gap(index, "walk")),
            }
        },
    )
}
