//! E3: every branch passes the same gate.

use super::{ItemAnswer, conclude, weak};
use crate::facts::bit;
use crate::ir::{Expr, ExprKind, Span, Stmt, StmtKind};
use crate::scope::{Flow, Scope};

pub(super) fn answer(scope: &Scope<'_>) -> ItemAnswer {
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
                && sibling.sink.at != flow.sink.at
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
        } else if mine.contains(&true) && are_branches(scope, flow, sibling) {
            anchor = anchor.or(Some(flow.sink.at));
        }
    }
    if gaps.is_empty() && anchor.is_none() {
        return ItemAnswer::NotApplicable("one branch only, or no gate to compare".to_owned());
    }
    conclude(gaps, anchor)
}

/// Whether two operations of a function stand on different ways through it. What is done one after
/// the other is one way.
fn are_branches(scope: &Scope<'_>, one: &Flow, two: &Flow) -> bool {
    let body = &scope.program.function(one.sink.function).body;
    arms(body, one.sink.at) != arms(body, two.sink.at)
}

/// The arms of branches around a place, outermost first.
fn arms(body: &[Stmt], at: Span) -> Vec<(Span, usize)> {
    let holds = |span: Span| span.start <= at.start && at.end <= span.end;
    for statement in body {
        if !holds(statement.span) {
            continue;
        }
        let parts: Vec<&[Stmt]> = match &statement.kind {
            StmtKind::If {
                then, otherwise, ..
            } => vec![then, otherwise],
            StmtKind::Try {
                body,
                handlers,
                finally,
            } => {
                let mut parts: Vec<&[Stmt]> = vec![body, finally];
                parts.extend(handlers.iter().map(|handler| handler.body.as_slice()));
                parts
            }
            StmtKind::While { body, .. }
            | StmtKind::ForEach { body, .. }
            | StmtKind::With { body, .. }
            | StmtKind::Defer(body)
            | StmtKind::Block(body) => vec![body],
            StmtKind::Expr(expr)
            | StmtKind::Assign { value: expr, .. }
            | StmtKind::Return(Some(expr)) => block_in(expr).into_iter().collect(),
            _ => Vec::new(),
        };
        for (index, part) in parts.iter().enumerate() {
            if part.iter().any(|inner| holds(inner.span)) {
                let mut out = Vec::new();
                if matches!(statement.kind, StmtKind::If { .. } | StmtKind::Try { .. }) {
                    out.push((statement.span, index));
                }
                out.extend(arms(part, at));
                return out;
            }
        }
        return Vec::new();
    }
    Vec::new()
}

/// A branch that is a value is lowered to a block with statements.
fn block_in(expr: &Expr) -> Option<&[Stmt]> {
    match &expr.kind {
        ExprKind::Block(statements, _) => Some(statements),
        ExprKind::Question(inner) | ExprKind::Await(inner) | ExprKind::Ref(inner) => {
            block_in(inner)
        }
        ExprKind::Opaque(parts) => parts.iter().find_map(block_in),
        _ => None,
    }
}
