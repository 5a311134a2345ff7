//! C3: components that are no directories are refused.

use super::{ItemAnswer, anchored, every_flow, gap, weak};
use crate::facts::bit;
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    every_flow(
        scope,
        |_| true,
        "no path is used",
        |index, flow| {
            if anchored(flow, "C3") {
                return Ok(flow.sink.at);
            }
            let on_way = flow.all(|facts| facts.has(bit::WALK_IS_DIR));
            if on_way {
                return Ok(flow.at(bit::WALK_IS_DIR).unwrap_or(flow.sink.at));
            }
            if flow.is_one_step() {
                // No component between: only the leaf can be something else.
                let fd = flow.sink.fd.and_then(|fd| {
                    flow.sink
                        .state
                        .own(fd)
                        .and_then(|facts| facts.at(bit::IS_REG))
                });
                let later = flow.sink.fd.and_then(|fd| scope.fd_facts(fd, bit::IS_REG));
                if let Some(at) = flow.at(bit::IS_REG | bit::IS_DIR).or(fd).or(later) {
                    return Ok(at);
                }
                if flow.acts_on_name() && anchored(flow, "C1") || flow.sink.flags.exclusive {
                    return Ok(flow.sink.at);
                }
            }
            match flow.at(bit::NOT_LINK | bit::WALK_NOT_LINK) {
                Some(at) => Err(weak(
                    index,
                    "walk",
                    "only links are refused, not other kinds",
                    Some(at),
                )),
                None => Err(gap(index, "walk")),
            }
        },
    )
}
