//! A3: no value is read as an option by another program.

use super::{Gap, ItemAnswer, conclude};
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    if scope.spawns.is_empty() {
        return ItemAnswer::NotApplicable(
            "no shell-out; the path is consumed by system calls only".to_owned(),
        );
    }
    let mut gaps = Vec::new();
    let mut anchor = None;
    for flow in &scope.spawns {
        let safe = flow.all(crate::facts::Facts::is_safe_argument);
        let chosen = flow.all(|facts| facts.has(crate::facts::bit::CHOSEN));
        if !flow.sink.is_shell && (chosen || safe && flow.sink.has_separator) {
            anchor = anchor.or(Some(flow.sink.at));
            continue;
        }
        let detail = if flow.sink.is_shell {
            "a shell string is built from the value"
        } else if !flow.sink.has_separator {
            "no `--` stands before the value"
        } else {
            "the value may begin with a dash or hold control characters"
        };
        let detail = Some(detail.to_owned());
        gaps.push(Gap {
            flow: None,
            cause: "option",
            detail,
            at: Some(flow.sink.at),
            milder: !flow.sink.is_shell,
        });
    }
    conclude(gaps, anchor)
}
