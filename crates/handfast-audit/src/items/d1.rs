//! D1: no recursive creation of parents on an external path.

use super::{ItemAnswer, anchored, every_flow, gap, weak};
use crate::facts::bit;
use crate::interp::SinkKind;
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    let fits =
        |flow: &crate::scope::Flow| matches!(flow.sink.kind, SinkKind::Mkdir | SinkKind::MkdirAll);
    every_flow(scope, fits, "no directory is created", |index, flow| {
        if anchored(flow, "D1") {
            return Ok(flow.sink.at);
        }
        if flow.sink.kind == SinkKind::MkdirAll {
            return Err(gap(index, "mkdir"));
        }
        if flow.sink.in_loop && !flow.is_one_step() && !flow.any(bit::NOT_LINK | bit::WALK_NOT_LINK)
        {
            return Err(weak(
                index,
                "mkdir",
                "directories are made one after the other, and none is looked at for links",
                Some(flow.sink.at),
            ));
        }
        if (flow.sink.tolerates_existing || flow.any(bit::LOOKED))
            && !flow.any(bit::NOT_LINK | bit::WALK_NOT_LINK)
        {
            let at = flow.at(bit::LOOKED);
            return Err(weak(
                index,
                "mkdir",
                "an existing segment is accepted without a look that refuses links",
                at,
            ));
        }
        Ok(flow.sink.at)
    })
}
