//! D5: an opened file is changed through its descriptor.

use super::{Gap, ItemAnswer, conclude};
use crate::interp::{Event, SinkKind};
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    let mut gaps = Vec::new();
    let mut anchor = None;
    for (index, flow) in scope.flows.iter().enumerate() {
        if flow.sink.kind != SinkKind::Open || flow.sink.fd.is_none() || flow.sink.flags.directory {
            continue;
        }
        let mut again = scope.flows.iter().find_map(|other| {
            let later = other.sink.at.start > flow.sink.at.start
                && other.sink.function == flow.sink.function;
            let by_path = matches!(other.sink.kind, SinkKind::Mutate | SinkKind::Open);
            (later && by_path && other.sink.path == flow.sink.path && other.anchor.is_none())
                .then_some(other.sink.at)
        });
        for event in &scope.events {
            if let Event::Asked {
                at,
                path,
                follow: true,
                function,
                ..
            } = event
                && *path == flow.sink.path
                && *function == flow.sink.function
                && at.start > flow.sink.at.start
            {
                again = again.or(Some(*at));
            }
        }
        match again {
            Some(at) => gaps.push(Gap {
                flow: Some(index),
                cause: "descriptor",
                detail: Some("the path is used again while the file is open".to_owned()),
                at: Some(at),
                milder: false,
            }),
            None => anchor = anchor.or(Some(flow.sink.at)),
        }
    }
    if gaps.is_empty() && anchor.is_none() {
        return ItemAnswer::NotApplicable("no descriptor is held".to_owned());
    }
    conclude(gaps, anchor)
}
