//! `switch` and `match` as a chain of branches, with falling through.

use tree_sitter::Node;

use super::Cx;
use crate::ir::{Expr, ExprKind, Operation, Stmt, StmtKind};

/// One arm.
pub(super) struct MatchArm {
    /// Values it is taken for; none for the arm that takes everything else.
    pub(super) values: Vec<Expr>,
    pub(super) body: Vec<Stmt>,
    /// Execution goes on in the next arm.
    pub(super) falls: bool,
}

/// The arms in their order as branches.
pub(super) fn chain(cx: &Cx<'_>, subject: &Expr, cases: Vec<MatchArm>, node: Node<'_>) -> StmtKind {
    let mut chain: Vec<Stmt> = Vec::new();
    let mut following: Vec<Stmt> = Vec::new();
    let mut tests: Vec<(Vec<Expr>, Vec<Stmt>)> = Vec::new();
    for case in cases.into_iter().rev() {
        let mut body = case.body;
        if case.falls {
            body.extend(following.iter().cloned());
        }
        following.clone_from(&body);
        if case.values.is_empty() {
            chain = body;
        } else {
            tests.push((case.values, body));
        }
    }
    for (values, body) in tests {
        let mut cond: Option<Expr> = None;
        for value in values {
            let span = value.span;
            let test = Expr::new(
                ExprKind::Binary(Operation::Eq, Box::new(subject.clone()), Box::new(value)),
                span,
            );
            cond = Some(match cond {
                Some(before) => Expr::new(
                    ExprKind::Binary(Operation::Or, Box::new(before), Box::new(test)),
                    span,
                ),
                None => test,
            });
        }
        let kind = StmtKind::If {
            cond: cond.unwrap_or_else(|| cx.opaque(node)),
            then: body,
            otherwise: std::mem::take(&mut chain),
        };
        chain = vec![cx.stmt(kind, node)];
    }
    StmtKind::Block(chain)
}
