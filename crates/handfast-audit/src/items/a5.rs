//! A5: external input is a non-empty string.

use super::{ItemAnswer, every_text, gap, weak};
use crate::facts::{Facts, bit};
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    let is_static = scope.lang.has_static_strings();
    let holds = move |facts: &Facts| {
        let typed = is_static || facts.any(bit::TYPED | bit::CHOSEN);
        typed && facts.any(bit::NONEMPTY | bit::CHOSEN)
    };
    every_text(
        scope,
        "A5",
        bit::NONEMPTY | bit::CHOSEN | bit::TYPED,
        holds,
        |index, flow| match flow.at(bit::WEAK_COERCED) {
            Some(at) => weak(
                index,
                "input",
                "a conversion to string accepts anything",
                Some(at),
            ),
            None => gap(index, "input"),
        },
    )
}
