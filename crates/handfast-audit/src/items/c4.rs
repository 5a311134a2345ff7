//! C4: failures of the filesystem are mapped to the contract.

use super::{Gap, ItemAnswer};
use crate::interp::{Event, FailedCheck};
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    if let Some(flow) = scope.flows.iter().find(|flow| super::anchored(flow, "C4")) {
        return ItemAnswer::Yes(flow.sink.at);
    }
    let mut mapped = None;
    let mut accepted = None;
    let mut gaps = Vec::new();
    for event in &scope.events {
        let Event::Failure { at, how, .. } = event else {
            continue;
        };
        let detail = match how {
            FailedCheck::Mapped => {
                mapped = mapped.or(Some(*at));
                continue;
            }
            FailedCheck::MissingAccepted => {
                accepted = accepted.or(Some(*at));
                continue;
            }
            FailedCheck::Raw => "a raw system error leaves the validator",
            FailedCheck::Swallowed => "every failure is read as absence",
        };
        gaps.push(Gap {
            flow: None,
            cause: "errors",
            detail: Some(detail.to_owned()),
            at: Some(*at),
            milder: false,
        });
    }
    if !gaps.is_empty() {
        return ItemAnswer::Missing(gaps);
    }
    match mapped.or(accepted) {
        Some(at) => ItemAnswer::Yes(at),
        None => ItemAnswer::NotApplicable("no validator looks at the filesystem".to_owned()),
    }
}
