//! C4: failures of the filesystem are mapped to the contract.

use super::{Answer, Gap};
use crate::interp::{Event, Failure};
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> Answer {
    if let Some(flow) = scope.flows.iter().find(|flow| super::anchored(flow, "C4")) {
        return Answer::Yes(flow.sink.at);
    }
    let mut mapped = None;
    let mut accepted = None;
    let mut gaps = Vec::new();
    for event in &scope.events {
        let Event::Failure { at, how, .. } = event else {
            continue;
        };
        let detail = match how {
            Failure::Mapped => {
                mapped = mapped.or(Some(*at));
                continue;
            }
            Failure::MissingAccepted => {
                accepted = accepted.or(Some(*at));
                continue;
            }
            Failure::Raw => "a raw system error leaves the validator",
            Failure::Swallowed => "every failure is read as absence",
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
        return Answer::Missing(gaps);
    }
    match mapped.or(accepted) {
        Some(at) => Answer::Yes(at),
        None => Answer::NotApplicable("no validator looks at the filesystem".to_owned()),
    }
}
