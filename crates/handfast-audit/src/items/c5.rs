//! C5: a hard link planted at the leaf is excluded.

use super::{ItemAnswer, anchored, every_flow, gap};
use crate::facts::bit;
use crate::interp::SinkKind;
use crate::scope::{Flow, Scope};

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    if let Some((_, reason)) = scope.controls.iter().find(|(item, _)| item == "C5") {
        return ItemAnswer::NotApplicable(reason.clone());
    }
    let asked = |flow: &Flow| {
        flow.writes()
            || flow.deletes_or_mutates()
            || matches!(flow.sink.kind, SinkKind::Open) && flow.sink.flags.write
            || matches!(flow.sink.kind, SinkKind::Temp)
    };
    let none = "nothing existing is changed at the leaf; for reads the comparison is optional";
    every_flow(scope, asked, none, |index, flow| {
        if anchored(flow, "C5")
            || flow.sink.flags.exclusive
            || flow.is_temp
            || flow.sink.kind == SinkKind::Temp
        {
            return Ok(flow.sink.at);
        }
        if !scope.lang.has_anchored_operations() {
            let fd = flow
                .sink
                .fd
                .and_then(|fd| scope.fd_facts(fd, bit::NLINK_ONE));
            if let Some(at) = fd.filter(|_| flow.sink.flags.no_follow) {
                return Ok(at);
            }
        }
        Err(gap(index, "leaf"))
    })
}
