//! A6: validation comes before any key derived from the input.

use super::{Gap, ItemAnswer, conclude};
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    if scope.keys.is_empty() {
        return ItemAnswer::NotApplicable("no key or hash is derived from the input".to_owned());
    }
    let mut gaps = Vec::new();
    let mut anchor = None;
    for (at, _, validated) in &scope.keys {
        if *validated {
            anchor = anchor.or(Some(*at));
        } else {
            gaps.push(Gap {
                flow: None,
                cause: "key",
                detail: None,
                at: Some(*at),
                milder: false,
            });
        }
    }
    conclude(gaps, anchor)
}
