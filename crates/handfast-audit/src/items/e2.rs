//! E2: every mutating entry validates.

use super::{ItemAnswer, anchored, every_flow, gap, weak};
use crate::facts::bit;
use crate::scope::{Flow, Scope};

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    every_flow(
        scope,
        Flow::is_mutation,
        "nothing is changed",
        |index, flow| {
            if anchored(flow, "E2") {
                return Ok(flow.sink.at);
            }
            let gate = bit::WALKED | bit::LSTAT | bit::CONTAINMENT;
            let text = bit::SEGS_CLEAN | bit::NOT_DOTDOT | bit::NO_DOTDOT | bit::CHOSEN;
            let validated = flow.all(|facts| facts.any(gate) || facts.is_validated());
            let in_ctor = |at: crate::ir::Span| scope.is_in_constructor(at);
            let places: Vec<_> = [gate, text]
                .iter()
                .filter_map(|keys| flow.at(*keys))
                .collect();
            if validated {
                return match places.iter().find(|at| !in_ctor(**at)) {
                    Some(at) => Ok(*at),
                    None if places.is_empty() => {
                        Ok(flow.at(crate::facts::AT_CHARS).unwrap_or(flow.sink.at))
                    }
                    None => Err(weak(
                        index,
                        "revalidate",
                        "only the constructor validates",
                        places.first().copied(),
                    )),
                };
            }
            Err(gap(index, "revalidate"))
        },
    )
}
