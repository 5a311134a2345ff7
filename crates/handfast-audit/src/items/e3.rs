//! E3: every branch passes the same gate.

use super::{Answer, conclude, weak};
use crate::facts::bit;
use crate::scope::{Flow, Scope};

pub(super) fn answer(scope: &Scope<'_>) -> Answer {
    let gate = |flow: &Flow| {
        let anchored = flow.anchor.is_some();
        let walked = anchored || flow.is_walked();
        let inside = anchored || flow.all(|facts| facts.any(bit::CONTAINMENT | bit::CHOSEN));
        let text = anchored || flow.all(|facts| facts.is_validated() || facts.has_no_dots());
        [walked, inside, text]
    };
    let mut gaps = Vec::new();
    let mut anchor = None;
    for (index, flow) in scope.flows.iter().enumerate() {
        if !flow.is_mutation() || flow.is_temp {
            continue;
        }
        let mine = gate(flow);
        let sibling = scope.flows.iter().enumerate().find(|(other, sibling)| {
            *other != index
                && sibling.is_mutation()
                && !sibling.is_temp
                && sibling.sink.function == flow.sink.function
                && sibling.sink.at.line != flow.sink.at.line
                && sibling
                    .leaves
                    .iter()
                    .any(|leaf| flow.leaves.iter().any(|mine| mine.vid == leaf.vid))
        });
        let Some((_, sibling)) = sibling else {
            continue;
        };
        let theirs = gate(sibling);
        let behind = mine
            .iter()
            .zip(theirs)
            .any(|(mine, theirs)| !mine && theirs);
        if behind {
            gaps.push(weak(
                index,
                "branch",
                "another branch of the same function runs a gate that this one skips",
                Some(flow.sink.at),
            ));
        } else if mine.contains(&true) {
            anchor = anchor.or(Some(flow.sink.at));
        }
    }
    if gaps.is_empty() && anchor.is_none() {
        return Answer::NotApplicable("one branch only, or no gate to compare".to_owned());
    }
    conclude(gaps, anchor)
}
