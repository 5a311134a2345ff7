//! E1: validation before shared resources, and no leak on failure.

use super::{Gap, ItemAnswer, conclude};
use crate::interp::Event;
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    if scope.locks.is_empty() {
        return ItemAnswer::NotApplicable("no lock or other shared resource is taken".to_owned());
    }
    let mut gaps = Vec::new();
    let mut anchor = None;
    for lock in &scope.locks {
        let leaked = scope.events.iter().any(|event| matches!(event, Event::Leaked { lock: at, .. } if at.line == lock.at.line && at.file == lock.at.file));
        let detail = if lock.too_early {
            "the lock is taken before the input is validated"
        } else if leaked && !lock.scoped {
            "a failure leaves while the lock is held"
        } else {
            anchor = anchor.or(Some(lock.at));
            continue;
        };
        gaps.push(Gap {
            flow: None,
            cause: "lock",
            detail: Some(detail.to_owned()),
            at: Some(lock.at),
            milder: false,
        });
    }
    conclude(gaps, anchor)
}
