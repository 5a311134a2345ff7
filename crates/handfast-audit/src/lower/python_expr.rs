//! Python: expressions.

use std::sync::Arc;

use tree_sitter::Node;

use super::super::{Cx, all_children, children, field, number, unescape};
use super::parameters;
use crate::ir::{Arg, Expr, ExprKind, Operation, StmtKind};

pub(super) fn expr(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    cx.deeper(|cx| expr_inner(cx, node))
        .unwrap_or_else(|| cx.opaque(node))
}

pub(super) fn boxed(cx: &mut Cx<'_>, node: Option<Node<'_>>, whole: Node<'_>) -> Box<Expr> {
    Box::new(match node {
        Some(node) => expr(cx, node),
        None => cx.opaque(whole),
    })
}

pub(super) fn expr_inner(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let kind = match node.kind() {
        "identifier" => ExprKind::Name(cx.sym(node)),
        "true" => ExprKind::Bool(true),
        "false" => ExprKind::Bool(false),
        "none" => ExprKind::Null,
        "integer" => ExprKind::Num(number(cx.s(node))),
        "string" => return string(cx, node),
        "concatenated_string" => {
            ExprKind::Concat(children(node).iter().map(|n| expr(cx, *n)).collect())
        }
        "attribute" => {
            let base = boxed(cx, field(node, "object"), node);
            let name = field(node, "attribute").map_or(Arc::from(""), |n| cx.sym(n));
            ExprKind::Field(base, name)
        }
        "subscript" => {
            let base = boxed(cx, field(node, "value"), node);
            match field(node, "subscript") {
                Some(part) if part.kind() == "slice" => slice(cx, base, part),
                part => ExprKind::Index(base, boxed(cx, part, node)),
            }
        }
        "call" => call(cx, node),
        "binary_operator" => {
            let op = field(node, "operator").map_or("", |n| cx.s(n));
            let left = boxed(cx, field(node, "left"), node);
            ExprKind::Binary(binary(op), left, boxed(cx, field(node, "right"), node))
        }
        "boolean_operator" => {
            let op = field(node, "operator").map_or("", |n| cx.s(n));
            let op = if op == "and" {
                Operation::And
            } else {
                Operation::Or
            };
            let left = boxed(cx, field(node, "left"), node);
            ExprKind::Binary(op, left, boxed(cx, field(node, "right"), node))
        }
        "not_operator" => ExprKind::Not(boxed(cx, field(node, "argument"), node)),
        "comparison_operator" => return comparison(cx, node),
        "conditional_expression" => {
            let parts = children(node);
            let then = boxed(cx, parts.first().copied(), node);
            let cond = boxed(cx, parts.get(1).copied(), node);
            ExprKind::Cond(cond, then, boxed(cx, parts.get(2).copied(), node))
        }
        "lambda" => {
            let index = cx.begin(Arc::from("<lambda>"), node);
            let params = parameters(cx, field(node, "parameters"));
            let value = boxed(cx, field(node, "body"), node);
            let result = cx.stmt(StmtKind::Return(Some(*value)), node);
            let function = cx.end(index);
            function.params = params;
            function.body = vec![result];
            ExprKind::Lambda(index)
        }
        "list" | "tuple" | "set" | "pattern_list" | "tuple_pattern" | "list_pattern"
        | "expression_list" => {
            ExprKind::List(children(node).iter().map(|n| expr(cx, *n)).collect())
        }
        "list_splat_pattern" => {
            let rest = boxed(cx, children(node).first().copied(), node);
            ExprKind::Slice(rest, None, None)
        }
        "dictionary" => {
            let mut pairs = Vec::new();
            for pair in children(node) {
                if pair.kind() == "pair" {
                    let key = boxed(cx, field(pair, "key"), pair);
                    pairs.push((*key, *boxed(cx, field(pair, "value"), pair)));
                }
            }
            ExprKind::Dict(pairs)
        }
        "list_comprehension" | "generator_expression" | "set_comprehension" => {
            return comprehension(cx, node);
        }
        "await" => ExprKind::Await(boxed(cx, children(node).first().copied(), node)),
        "parenthesized_expression" | "list_splat" | "dictionary_splat" | "as_pattern_target" => {
            match children(node).first() {
                Some(inner) => return expr(cx, *inner),
                None => ExprKind::Opaque(Vec::new()),
            }
        }
        "named_expression" => {
            let name = boxed(cx, field(node, "name"), node);
            ExprKind::Assign(name, boxed(cx, field(node, "value"), node))
        }
        "unary_operator" if cx.s(node).starts_with('-') => {
            let inner = boxed(cx, field(node, "argument"), node);
            match inner.kind {
                ExprKind::Num(n) => ExprKind::Num(n.wrapping_neg()),
                _ => ExprKind::Opaque(vec![*inner]),
            }
        }
        "yield" => {
            let given = children(node).iter().map(|n| expr(cx, *n)).collect();
            cx.call_of("%yield", given, node)
        }
        _ => ExprKind::Opaque(children(node).iter().map(|n| expr(cx, *n)).collect()),
    };
    cx.expr(kind, node)
}

pub(super) fn slice(cx: &mut Cx<'_>, base: Box<Expr>, part: Node<'_>) -> ExprKind {
    let mut bounds: [Option<Box<Expr>>; 2] = [None, None];
    let mut at = 0;
    for child in all_children(part) {
        if child.kind() == ":" {
            at += 1;
        } else if let Some(slot) = bounds.get_mut(at) {
            *slot = Some(Box::new(expr(cx, child)));
        }
    }
    let [from, to] = bounds;
    ExprKind::Slice(base, from, to)
}

pub(super) fn call(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let callee = boxed(cx, field(node, "function"), node);
    let mut args = Vec::new();
    match field(node, "arguments") {
        Some(list) if list.kind() == "generator_expression" => {
            args.push(Arg {
                name: None,
                value: expr(cx, list),
            });
        }
        Some(list) => {
            for child in children(list) {
                if child.kind() == "keyword_argument" {
                    let name = field(child, "name").map(|n| cx.sym(n));
                    let value = *boxed(cx, field(child, "value"), child);
                    args.push(Arg { name, value });
                } else {
                    let is_named = child.kind() == "dictionary_splat";
                    args.push(Arg {
                        name: is_named.then(|| Arc::from("**")),
                        value: expr(cx, child),
                    });
                }
            }
        }
        None => {}
    }
    ExprKind::Call {
        callee,
        args,
        is_new: false,
    }
}

pub(super) fn comparison(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let mut result: Option<Expr> = None;
    let mut left: Option<Node<'_>> = None;
    let mut op = String::new();
    for child in all_children(node) {
        if !child.is_named() || child.kind() == "not in" || child.kind() == "is not" {
            if !op.is_empty() {
                op.push(' ');
            }
            op.push_str(child.kind());
            continue;
        }
        if let Some(before) = left {
            let which = match op.as_str() {
                "==" | "is" => Operation::Eq,
                "!=" | "is not" => Operation::Ne,
                "<" => Operation::Lt,
                "<=" => Operation::Le,
                ">" => Operation::Gt,
                ">=" => Operation::Ge,
                "in" => Operation::In,
                "not in" => Operation::NotIn,
                _ => Operation::Other,
            };
            let l = expr(cx, before);
            let r = expr(cx, child);
            let one = cx.expr(ExprKind::Binary(which, Box::new(l), Box::new(r)), node);
            result = Some(match result {
                Some(before) => cx.expr(
                    ExprKind::Binary(Operation::And, Box::new(before), Box::new(one)),
                    node,
                ),
                None => one,
            });
            op.clear();
        }
        left = Some(child);
    }
    result.unwrap_or_else(|| cx.opaque(node))
}

pub(super) fn comprehension(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let element = boxed(cx, field(node, "body"), node);
    let mut target = None;
    let mut iter = None;
    let mut filters = Vec::new();
    for clause in children(node) {
        match clause.kind() {
            "for_in_clause" if target.is_none() => {
                target = Some(boxed(cx, field(clause, "left"), clause));
                iter = Some(boxed(cx, field(clause, "right"), clause));
            }
            "if_clause" => {
                filters.extend(children(clause).first().map(|n| expr(cx, *n)));
            }
            _ => {}
        }
    }
    let (Some(target), Some(iter)) = (target, iter) else {
        return cx.opaque(node);
    };
    let kind = ExprKind::Comprehension {
        element,
        target,
        iter,
        filters,
    };
    cx.expr(kind, node)
}

pub(super) fn string(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let start = children_with_start(node).map_or("", |n| cx.s(n));
    let raw = start.contains(['r', 'R']);
    let mut parts: Vec<Expr> = Vec::new();
    for child in children(node) {
        match child.kind() {
            "string_content" => {
                let text = cx.s(child);
                let text = if raw { text.to_owned() } else { unescape(text) };
                parts.push(cx.expr(ExprKind::Str(Arc::from(text.as_str())), child));
            }
            "interpolation" => {
                let inner = field(child, "expression").or_else(|| children(child).first().copied());
                if let Some(inner) = inner {
                    parts.push(expr(cx, inner));
                }
            }
            _ => {}
        }
    }
    if parts.len() == 1 && matches!(parts[0].kind, ExprKind::Str(_)) {
        let mut only = parts.remove(0);
        only.span = cx.span(node);
        return only;
    }
    if parts.is_empty() {
        return cx.expr(ExprKind::Str(Arc::from("")), node);
    }
    cx.expr(ExprKind::Concat(parts), node)
}

pub(super) fn children_with_start(node: Node<'_>) -> Option<Node<'_>> {
    all_children(node)
        .into_iter()
        .find(|n| n.kind() == "string_start")
}

pub(super) fn binary(op: &str) -> Operation {
    match op {
        "+" => Operation::Add,
        "/" => Operation::Div,
        "%" => Operation::Mod,
        "-" => Operation::Sub,
        "*" => Operation::Mul,
        "//" => Operation::Quot,
        "|" => Operation::BitOr,
        "&" => Operation::BitAnd,
        _ => Operation::Other,
    }
}
