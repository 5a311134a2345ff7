//! A1: every external segment passes an allow-list.

use super::{Gap, ItemAnswer, every_text, gap, weak};
use crate::facts::{AT_CHARS, bit};
use crate::scope::{Flow, Scope};

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    let keys = AT_CHARS | bit::CHOSEN | bit::SEGS_ALLOWED;
    let windows = scope.is_windows_only;
    every_text(
        scope,
        "A1",
        keys,
        |facts| facts.is_allow_listed() || facts.has(bit::SEGS_ALLOWED) && !windows,
        missing,
    )
}

fn missing(index: usize, flow: &Flow) -> Gap {
    let details = [
        (
            bit::WEAK_NEWLINE,
            "the pattern's `$` lets a trailing newline through",
        ),
        (
            bit::WEAK_PATTERN,
            "the pattern is not anchored at both ends, or its class admits separators or more",
        ),
        (
            bit::WEAK_REMOVAL,
            "bad parts are removed instead of refused",
        ),
        (bit::BLOCKLIST, "a list of bad parts is no allow-list"),
    ];
    for (key, detail) in details {
        if let Some(at) = flow.at(key) {
            return weak(index, "input", detail, Some(at));
        }
    }
    gap(index, "input")
}
