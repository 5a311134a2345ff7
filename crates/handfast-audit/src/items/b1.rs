//! B1: the root is canonicalised once and kept.

use super::{Gap, ItemAnswer, conclude};
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    let mut gaps = Vec::new();
    let mut anchor = None;
    for root in &scope.roots {
        if let Some(at) = root.held_as_handle {
            anchor = anchor.or(Some(at));
            continue;
        }
        match root.canonical {
            Some(at) if !root.per_call || has_reason(scope, at) => anchor = anchor.or(Some(at)),
            Some(at) => gaps.push(Gap {
                flow: scope.flow_of_root(&root.root.label),
                cause: "root",
                detail: Some(
                    "the root is canonicalised again at every call, and no reason is given"
                        .to_owned(),
                ),
                at: Some(at),
                milder: true,
            }),
            None => {
                let detail = root
                    .lexical
                    .map(|_| "the root is only made absolute lexically".to_owned());
                gaps.push(Gap {
                    flow: scope.flow_of_root(&root.root.label),
                    cause: "root",
                    detail,
                    at: root.lexical.or(root.root.at),
                    milder: false,
                });
            }
        }
    }
    conclude(gaps, anchor)
}

/// A comment on the line or above it states why.
fn has_reason(scope: &Scope<'_>, at: crate::ir::Span) -> bool {
    let file = scope.program.file(at.file);
    let marks = |line: &str| line.contains("//") || line.contains('#') || line.contains("/*");
    let above = file.line(at.line.saturating_sub(1)).trim_start();
    marks(file.line(at.line))
        || above.starts_with("//")
        || above.starts_with('#')
        || above.ends_with("*/")
}
