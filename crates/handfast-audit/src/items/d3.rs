//! D3: new files appear by rename from an unguessable sibling.

use super::{ItemAnswer, anchored, every_flow, gap, weak};
use crate::interp::SinkKind;
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    every_flow(
        scope,
        |flow| flow.writes() || flow.from_temp,
        "no new file is written",
        |index, flow| {
            if flow.from_elsewhere && flow.root.is_some() {
                return Err(weak(
                    index,
                    "write",
                    "the temporary file lies in another directory, from where nothing is renamed in one step",
                    Some(flow.sink.at),
                ));
            }
            if flow.from_temp {
                return Ok(flow.sink.at);
            }
            if anchored(flow, "D3") {
                return Ok(flow.sink.at);
            }
            let renamed = scope.flows.iter().find(|other| {
                other.sink.kind == SinkKind::MoveTo && other.sink.function == flow.sink.function
            });
            if flow.is_temp {
                return match renamed {
                    Some(other) => Ok(other.sink.at),
                    None if scope.moves_from(flow) => Ok(flow.sink.at),
                    None => Err(weak(
                        index,
                        "write",
                        "the temporary file is never renamed into place",
                        Some(flow.sink.at),
                    )),
                };
            }
            if renamed.is_some() {
                return Err(weak(
                    index,
                    "write",
                    "the temporary name can be guessed",
                    Some(flow.sink.at),
                ));
            }
            if flow.sink.flags.truncate {
                return Err(weak(
                    index,
                    "write",
                    "the file is truncated at open, before anything about it is checked",
                    Some(flow.sink.at),
                ));
            }
            Err(gap(index, "write"))
        },
    )
}
