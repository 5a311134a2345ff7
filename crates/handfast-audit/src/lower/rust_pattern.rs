//! Patterns: what they ask of a value, and which names they bind.

use std::sync::Arc;

use tree_sitter::Node;

use super::super::{Cx, all_children, children, field};
use super::expression::{condition, expr};
use crate::ir::{Expr, ExprKind, Operation, Stmt, StmtKind, Sym};

/// Whether a value has the form of a pattern, binding its names.
pub(super) fn pattern_test(cx: &mut Cx<'_>, pattern: Node<'_>, value: Expr) -> Expr {
    let tested = cx.deeper(|cx| pattern_inner(cx, pattern, value));
    tested.unwrap_or_else(|| cx.opaque(pattern))
}

fn pattern_inner(cx: &mut Cx<'_>, pattern: Node<'_>, value: Expr) -> Expr {
    let yes = cx.expr(ExprKind::Bool(true), pattern);
    let kind = match pattern.kind() {
        "match_pattern" => {
            let parts = children(pattern);
            let guard = field(pattern, "condition");
            let Some(first) = parts.first() else {
                return yes;
            };
            let test = pattern_test(cx, *first, value);
            let Some(guard) = guard else { return test };
            let guard = condition(cx, guard);
            ExprKind::Binary(Operation::And, Box::new(test), Box::new(guard))
        }
        "or_pattern" => {
            let mut result: Option<Expr> = None;
            for part in children(pattern) {
                let one = pattern_test(cx, part, value.clone());
                result = Some(match result {
                    Some(before) => cx.expr(
                        ExprKind::Binary(Operation::Or, Box::new(before), Box::new(one)),
                        pattern,
                    ),
                    None => one,
                });
            }
            return result.unwrap_or(yes);
        }
        "tuple_struct_pattern" => {
            let name = field(pattern, "type").map_or("", |n| cx.s(n));
            let name = name.rsplit("::").next().unwrap_or(name);
            let names = bound_names(cx, pattern);
            ExprKind::IsVariant(Box::new(value), Arc::from(name), names)
        }
        "struct_pattern" => {
            let name = field(pattern, "type").map_or("", |n| cx.s(n));
            let name = name.rsplit("::").next().unwrap_or(name);
            let fields = target(cx, pattern);
            let bind = ExprKind::Assign(Box::new(fields), Box::new(value.clone()));
            let span = cx.span(pattern);
            let bind = Stmt {
                kind: StmtKind::Expr(cx.expr(bind, pattern)),
                span,
            };
            let test = ExprKind::IsVariant(Box::new(value), Arc::from(name), Vec::new());
            let test = cx.expr(test, pattern);
            ExprKind::Block(vec![bind], Some(Box::new(test)))
        }
        "tuple_pattern" => {
            let mut result: Option<Expr> = None;
            let parts = all_children(pattern);
            let parts = parts
                .iter()
                .filter(|n| !matches!(n.kind(), "(" | ")" | ","));
            for (index, part) in parts.enumerate() {
                let index = cx.expr(ExprKind::Num(i64::try_from(index).unwrap_or(0)), *part);
                let one = ExprKind::Index(Box::new(value.clone()), Box::new(index));
                let one = cx.expr(one, *part);
                let one = pattern_test(cx, *part, one);
                result = Some(match result {
                    Some(before) => cx.expr(
                        ExprKind::Binary(Operation::And, Box::new(before), Box::new(one)),
                        pattern,
                    ),
                    None => one,
                });
            }
            return result.unwrap_or(yes);
        }
        "scoped_identifier" => {
            let name = cx.s(pattern).rsplit("::").next().unwrap_or("");
            ExprKind::IsVariant(Box::new(value), Arc::from(name), Vec::new())
        }
        "identifier" if cx.s(pattern).starts_with(char::is_uppercase) => {
            ExprKind::IsVariant(Box::new(value), cx.sym(pattern), Vec::new())
        }
        "identifier" => {
            let target = cx.expr(ExprKind::Name(cx.sym(pattern)), pattern);
            let assign = cx.expr(ExprKind::Assign(Box::new(target), Box::new(value)), pattern);
            let span = cx.span(pattern);
            let first = Stmt {
                kind: StmtKind::Expr(assign),
                span,
            };
            ExprKind::Block(vec![first], Some(Box::new(yes)))
        }
        "string_literal" | "integer_literal" | "boolean_literal" | "char_literal"
        | "negative_literal" => {
            let literal = expr(cx, pattern);
            ExprKind::Binary(Operation::Eq, Box::new(value), Box::new(literal))
        }
        "_" => return yes,
        "range_pattern" => match children(pattern).as_slice() {
            [low, high] => {
                let (low, high) = (expr(cx, *low), expr(cx, *high));
                let from = ExprKind::Binary(Operation::Ge, Box::new(value.clone()), Box::new(low));
                let to = ExprKind::Binary(Operation::Le, Box::new(value), Box::new(high));
                let (from, to) = (cx.expr(from, pattern), cx.expr(to, pattern));
                ExprKind::Binary(Operation::And, Box::new(from), Box::new(to))
            }
            _ => ExprKind::Opaque(vec![value]),
        },
        "reference_pattern" | "ref_pattern" | "mut_pattern" => match children(pattern).last() {
            Some(inner) => return pattern_test(cx, *inner, value),
            None => return yes,
        },
        _ => ExprKind::Opaque(vec![value]),
    };
    cx.expr(kind, pattern)
}

/// The names a pattern binds, in order.
pub(super) fn bound_names(cx: &Cx<'_>, node: Node<'_>) -> Vec<Sym> {
    let mut out = Vec::new();
    let mut pending = vec![node];
    while let Some(node) = pending.pop() {
        if node.kind() == "identifier" || node.kind() == "shorthand_field_identifier" {
            out.push(cx.sym(node));
            continue;
        }
        let skip = field(node, "type");
        for child in children(node).into_iter().rev() {
            if Some(child) != skip
                && !child.kind().ends_with("type")
                && !child.kind().ends_with("literal")
            {
                pending.push(child);
            }
        }
    }
    out
}

/// The left side of `let` and `for`.
pub(super) fn target(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    if node.kind() == "identifier" {
        return cx.expr(ExprKind::Name(cx.sym(node)), node);
    }
    if node.kind() == "tuple_pattern" {
        let mut parts = Vec::new();
        for child in all_children(node) {
            match child.kind() {
                "(" | ")" | "," => {}
                "_" => parts.push(cx.opaque(child)),
                _ => {
                    let part = cx.deeper(|cx| target(cx, child));
                    parts.push(part.unwrap_or_else(|| cx.opaque(child)));
                }
            }
        }
        return cx.expr(ExprKind::List(parts), node);
    }
    if node.kind() == "struct_pattern" {
        return fields_of_pattern(cx, node);
    }
    match bound_names(cx, node).as_slice() {
        [one] if node.kind() == "tuple_struct_pattern" => {
            let first = cx.expr(ExprKind::Str(Arc::from("0")), node);
            let name = cx.expr(ExprKind::Name(one.clone()), node);
            cx.expr(ExprKind::Dict(vec![(first, name)]), node)
        }
        [one] => cx.expr(ExprKind::Name(one.clone()), node),
        many => {
            let parts = many.iter().map(|name| cx.name(name, node)).collect();
            cx.expr(ExprKind::List(parts), node)
        }
    }
}

/// `Point { x, y: down }`: names by the fields they take.
fn fields_of_pattern(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let mut pairs = Vec::new();
    for part in children(node) {
        if part.kind() != "field_pattern" {
            continue;
        }
        let Some(name) = field(part, "name") else {
            continue;
        };
        let key = cx.expr(ExprKind::Str(cx.sym(name)), part);
        let inner = match field(part, "pattern") {
            Some(inner) => {
                let inner = cx.deeper(|cx| target(cx, inner));
                inner.unwrap_or_else(|| cx.opaque(part))
            }
            None => cx.expr(ExprKind::Name(cx.sym(name)), part),
        };
        pairs.push((key, inner));
    }
    cx.expr(ExprKind::Dict(pairs), node)
}
