//! The checklist: one file per item, each a pure function over what is in scope.

mod a1;
mod a2;
mod a3;
mod a4;
mod a5;
mod a6;
mod b1;
mod b2;
mod b3;
mod c1;
mod c2;
mod c3;
mod c4;
mod c5;
mod d1;
mod d2;
mod d3;
mod d4;
mod d5;
mod e1;
mod e2;
mod e3;
mod f1;
mod f2;
mod f3;

use crate::anchors::settles;
use crate::facts::Facts;
use crate::ir::Span;
use crate::scope::{Flow, Scope};

/// The answer to one item.
#[derive(Clone, Debug)]
pub(crate) enum ItemAnswer {
    /// Yes, anchored here.
    Yes(Span),
    NotApplicable(String),
    Missing(Vec<Gap>),
}

/// A place where the guard is missing.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    /// Index into the flows; `None` for the file as a whole.
    pub(crate) flow: Option<usize>,
    /// Gaps with one cause in one function are one finding.
    pub(crate) cause: &'static str,
    /// What exactly, if it is more than "missing".
    pub(crate) detail: Option<String>,
    pub(crate) at: Option<Span>,
    /// One grade milder, and why.
    pub(crate) milder: bool,
}

type Evaluate = fn(&Scope<'_>) -> ItemAnswer;

/// All items in order.
pub(crate) const ALL: [(&str, Evaluate); 25] = [
    ("A1", a1::answer),
    ("A2", a2::answer),
    ("A3", a3::answer),
    ("A4", a4::answer),
    ("A5", a5::answer),
    ("A6", a6::answer),
    ("B1", b1::answer),
    ("B2", b2::answer),
    ("B3", b3::answer),
    ("C1", c1::answer),
    ("C2", c2::answer),
    ("C3", c3::answer),
    ("C4", c4::answer),
    ("C5", c5::answer),
    ("D1", d1::answer),
    ("D2", d2::answer),
    ("D3", d3::answer),
    ("D4", d4::answer),
    ("D5", d5::answer),
    ("E1", e1::answer),
    ("E2", e2::answer),
    ("E3", e3::answer),
    ("F1", f1::answer),
    ("F2", f2::answer),
    ("F3", f3::answer),
];

/// A guard that is missing without more to say.
fn gap(flow: usize, cause: &'static str) -> Gap {
    Gap {
        flow: Some(flow),
        cause,
        detail: None,
        at: None,
        milder: false,
    }
}

/// A guard that is there and does not hold.
fn weak(flow: usize, cause: &'static str, detail: &str, at: Option<Span>) -> Gap {
    Gap {
        flow: Some(flow),
        cause,
        detail: Some(detail.to_owned()),
        at,
        milder: false,
    }
}

/// Asks something of the external text of every flow.
fn every_text(
    scope: &Scope<'_>,
    item: &str,
    keys: u64,
    holds: impl Fn(&Facts) -> bool,
    missing: impl Fn(usize, &Flow) -> Gap,
) -> ItemAnswer {
    let mut gaps = Vec::new();
    let mut anchor = None;
    let mut asked = false;
    for (index, flow) in scope.flows.iter().enumerate() {
        asked = true;
        if flow
            .anchor
            .as_deref()
            .is_some_and(|anchor| settles(anchor, item))
            || flow.all(&holds)
        {
            anchor = anchor.or_else(|| flow.at(keys)).or(Some(flow.sink.at));
        } else {
            let mut gap = missing(index, flow);
            // What cannot leave the root whatever the text says is a control that can be checked.
            gap.milder |= anchored(flow, "B3");
            gaps.push(gap);
        }
    }
    if !asked {
        return ItemAnswer::NotApplicable("no external text is in a path".to_owned());
    }
    conclude(gaps, anchor)
}

/// Asks something of every flow that fits.
fn every_flow(
    scope: &Scope<'_>,
    fits: impl Fn(&Flow) -> bool,
    none: &str,
    ask: impl Fn(usize, &Flow) -> Result<Span, Gap>,
) -> ItemAnswer {
    let mut gaps = Vec::new();
    let mut anchor = None;
    let mut asked = false;
    for (index, flow) in scope.flows.iter().enumerate() {
        if !fits(flow) {
            continue;
        }
        asked = true;
        match ask(index, flow) {
            Ok(at) => anchor = anchor.or(Some(at)),
            Err(gap) => gaps.push(gap),
        }
    }
    if !asked {
        return ItemAnswer::NotApplicable(none.to_owned());
    }
    conclude(gaps, anchor)
}

fn conclude(gaps: Vec<Gap>, anchor: Option<Span>) -> ItemAnswer {
    match (gaps.is_empty(), anchor) {
        (true, Some(at)) => ItemAnswer::Yes(at),
        (true, None) => ItemAnswer::NotApplicable("nothing to ask".to_owned()),
        (false, _) => ItemAnswer::Missing(gaps),
    }
}

/// The anchor of a flow answers the item.
fn anchored(flow: &Flow, item: &str) -> bool {
    flow.anchor
        .as_deref()
        .is_some_and(|anchor| settles(anchor, item))
}
