//! A2: every segment has a maximum length in bytes.

use super::{ItemAnswer, every_text, gap, weak};
use crate::facts::{AT_LEN, bit};
use crate::scope::Scope;

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
    let keys = AT_LEN | bit::CHOSEN | bit::SEGS_BOUNDED;
    every_text(
        scope,
        "A2",
        keys,
        crate::facts::Facts::is_bounded,
        |index, flow| match flow.at(AT_LEN) {
            Some(at) if flow.any(bit::LEN_CHARS) => weak(
                index,
                "input",
                "the bound counts characters, and they are not limited to ASCII",
                Some(at),
            ),
            Some(at) => weak(index, "input", "the bound is above 255 bytes", Some(at)),
            None => gap(index, "input"),
        },
    )
}
