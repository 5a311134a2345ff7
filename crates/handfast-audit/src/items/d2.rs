//! D2: files are opened without following a final link.

use super::{ItemAnswer, anchored, every_flow, gap, weak};
use crate::facts::bit;
use crate::scope::{Flow, Scope};

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    if let Some((_, reason)) = scope.controls.iter().find(|(item, _)| item == "D2") {
        return ItemAnswer::NotApplicable(reason.clone());
    }
    if scope.is_windows_only {
        if let Some(flow) = scope
            .flows
            .iter()
            .find(|flow| flow.sink.flags.reparse_point)
        {
            return ItemAnswer::Yes(flow.sink.at);
        }
        let reason = "Windows-only code has no O_NOFOLLOW; the equivalent guard is FILE_FLAG_OPEN_REPARSE_POINT";
        return ItemAnswer::NotApplicable(reason.to_owned());
    }
    every_flow(scope, Flow::opens, "no file is opened", |index, flow| {
        let refuses =
            flow.sink.flags.no_follow || flow.sink.flags.exclusive && flow.sink.flags.create;
        if anchored(flow, "D2") || refuses || flow.is_temp {
            return Ok(flow.sink.at);
        }
        match flow.at(bit::NOT_LINK | bit::LOOKED) {
            Some(at) => Err(weak(
                index,
                "leaf",
                "a look at the name before the open is no guard of the open",
                Some(at),
            )),
            None => Err(gap(index, "leaf")),
        }
    })
}
