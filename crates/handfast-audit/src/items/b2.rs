//! B2: the configured root is a real directory.

use super::{Gap, ItemAnswer, conclude};
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    let mut gaps = Vec::new();
    let mut anchor = None;
    for root in &scope.roots {
        if let Some(at) = root.not_link {
            anchor = anchor.or(Some(at));
            continue;
        }
        let (detail, at) = match root.after_canonical {
            Some(at) => (
                Some("after canonicalisation a link can no longer be seen".to_owned()),
                Some(at),
            ),
            None => (None, root.root.at),
        };
        gaps.push(Gap {
            flow: scope.flow_of_root(&root.root.label),
            cause: "root",
            detail,
            at,
            milder: false,
        });
    }
    conclude(gaps, anchor)
}
