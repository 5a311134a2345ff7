//! Expressions and patterns.

use std::sync::Arc;

use tree_sitter::Node;

use super::super::{Cx, all_children, children, field, number, operator, unescape};
use super::function;
use crate::ir::{Arg, Expr, ExprKind, Operation};

pub(super) fn expr(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    cx.deeper(|cx| inner(cx, node))
        .unwrap_or_else(|| cx.opaque(node))
}

pub(super) fn boxed(cx: &mut Cx<'_>, node: Option<Node<'_>>, whole: Node<'_>) -> Box<Expr> {
    Box::new(match node {
        Some(node) => expr(cx, node),
        None => cx.opaque(whole),
    })
}

fn inner(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let kind = match node.kind() {
        "identifier" | "this" | "super" | "property_identifier" => ExprKind::Name(cx.sym(node)),
        "true" => ExprKind::Bool(true),
        "false" => ExprKind::Bool(false),
        "null" | "undefined" => ExprKind::Null,
        "number" => ExprKind::Num(number(cx.s(node))),
        "string" => {
            let text = cx.s(node);
            let text = text
                .get(1..text.len().saturating_sub(1))
                .unwrap_or_default();
            ExprKind::Str(Arc::from(unescape(text).as_str()))
        }
        "template_string" => template(cx, node),
        "regex" => {
            let pattern = field(node, "pattern").map_or(Arc::from(""), |n| cx.sym(n));
            let flags = field(node, "flags").map_or(Arc::from(""), |n| cx.sym(n));
            ExprKind::Regex(pattern, flags)
        }
        "member_expression" => {
            let base = boxed(cx, field(node, "object"), node);
            let name = field(node, "property").map_or(Arc::from(""), |n| cx.sym(n));
            ExprKind::Field(base, name)
        }
        "subscript_expression" => {
            let base = boxed(cx, field(node, "object"), node);
            ExprKind::Index(base, boxed(cx, field(node, "index"), node))
        }
        "import" => ExprKind::Name(Arc::from("import")),
        "call_expression" if super::required(cx, node).is_some() => {
            let source = super::required(cx, node).unwrap_or_default();
            let name: Arc<str> = Arc::from(format!("%{source}").as_str());
            let target: Arc<str> = Arc::from(source.as_str());
            cx.module.imports.push((name.clone(), target));
            ExprKind::Name(name)
        }
        "call_expression" | "new_expression" => call(cx, node),
        "await_expression" => ExprKind::Await(boxed(cx, children(node).first().copied(), node)),
        "binary_expression" => {
            let op = binary(field(node, "operator").map_or("", |n| cx.s(n)));
            let left = boxed(cx, field(node, "left"), node);
            ExprKind::Binary(op, left, boxed(cx, field(node, "right"), node))
        }
        "unary_expression" => {
            let op = field(node, "operator").map_or("", |n| cx.s(n));
            let value = boxed(cx, field(node, "argument"), node);
            match (op, &value.kind) {
                ("!", _) => ExprKind::Not(value),
                ("-", ExprKind::Num(n)) => ExprKind::Num(n.wrapping_neg()),
                // `~i` is zero, and false, for -1 only.
                ("~", _) => {
                    let none = cx.expr(ExprKind::Num(-1), node);
                    ExprKind::Binary(crate::ir::Operation::Ne, value, Box::new(none))
                }
                ("typeof", _) => cx.call_of("typeof", vec![*value], node),
                _ => ExprKind::Opaque(vec![*value]),
            }
        }
        "ternary_expression" => {
            let cond = boxed(cx, field(node, "condition"), node);
            let then = boxed(cx, field(node, "consequence"), node);
            ExprKind::Cond(cond, then, boxed(cx, field(node, "alternative"), node))
        }
        "assignment_expression" => {
            let target = field(node, "left").map(|n| pattern(cx, n));
            let target = Box::new(target.unwrap_or_else(|| cx.opaque(node)));
            ExprKind::Assign(target, boxed(cx, field(node, "right"), node))
        }
        "arrow_function" | "function_expression" | "function" | "generator_function" => {
            let name = field(node, "name").map_or(Arc::from("<closure>"), |n| cx.sym(n));
            ExprKind::Lambda(function(cx, node, name))
        }
        "object" => object(cx, node),
        "array" => ExprKind::List(children(node).iter().map(|n| expr(cx, *n)).collect()),
        "parenthesized_expression" | "spread_element" | "non_null_expression" => {
            match children(node).first() {
                Some(inner) => return expr(cx, *inner),
                None => ExprKind::Opaque(Vec::new()),
            }
        }
        "as_expression" | "satisfies_expression" | "type_assertion" => {
            let parts = children(node);
            let (value, ty) = if node.kind() == "type_assertion" {
                (parts.last(), parts.first())
            } else {
                (parts.first(), parts.last())
            };
            let ty = ty.map_or(Arc::from(""), |n| cx.sym(*n));
            ExprKind::Cast(boxed(cx, value.copied(), node), ty)
        }
        "sequence_expression" => {
            ExprKind::Opaque(children(node).iter().map(|n| expr(cx, *n)).collect())
        }
        "object_pattern" | "array_pattern" => return pattern(cx, node),
        "yield_expression" => {
            let given = children(node).iter().map(|n| expr(cx, *n)).collect();
            cx.call_of("%yield", given, node)
        }
        _ => ExprKind::Opaque(children(node).iter().map(|n| expr(cx, *n)).collect()),
    };
    cx.expr(kind, node)
}

fn call(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let is_new = node.kind() == "new_expression";
    let callee = field(node, if is_new { "constructor" } else { "function" });
    let callee = boxed(cx, callee, node);
    let mut args = Vec::new();
    match field(node, "arguments") {
        Some(list) if list.kind() == "template_string" => {
            args.push(Arg {
                name: None,
                value: expr(cx, list),
            });
        }
        Some(list) => {
            for child in children(list) {
                args.push(Arg {
                    name: None,
                    value: expr(cx, child),
                });
            }
        }
        None => {}
    }
    // `new RegExp("…")` and `RegExp("…")` are patterns.
    if let (ExprKind::Name(name), Some(ExprKind::Str(text))) =
        (&callee.kind, args.first().map(|a| &a.value.kind))
        && &**name == "RegExp"
    {
        let flags = match args.get(1).map(|a| &a.value.kind) {
            Some(ExprKind::Str(flags)) => flags.clone(),
            _ => Arc::from(""),
        };
        return ExprKind::Regex(text.clone(), flags);
    }
    ExprKind::Call {
        callee,
        args,
        is_new,
    }
}

fn template(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let mut parts = Vec::new();
    let mut at = node.start_byte() + 1;
    let end = node.end_byte().saturating_sub(1);
    for child in children(node) {
        if child.kind() != "template_substitution" {
            continue;
        }
        push_text(cx, node, at, child.start_byte(), &mut parts);
        at = child.end_byte();
        if let Some(value) = children(child).first() {
            parts.push(expr(cx, *value));
        }
    }
    push_text(cx, node, at, end, &mut parts);
    match parts.as_slice() {
        [] => ExprKind::Str(Arc::from("")),
        [
            Expr {
                kind: ExprKind::Str(text),
                ..
            },
        ] => ExprKind::Str(text.clone()),
        _ => ExprKind::Concat(parts),
    }
}

fn push_text(cx: &Cx<'_>, node: Node<'_>, from: usize, to: usize, parts: &mut Vec<Expr>) {
    if let Some(text) = cx.text.get(from..to).filter(|text| !text.is_empty()) {
        parts.push(cx.expr(ExprKind::Str(Arc::from(unescape(text).as_str())), node));
    }
}

fn object(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let mut pairs = Vec::new();
    for part in children(node) {
        match part.kind() {
            "pair" => {
                let Some(key) = field(part, "key") else {
                    continue;
                };
                let name = property_name(cx, key);
                let key = cx.expr(ExprKind::Str(Arc::from(name.as_str())), key);
                pairs.push((key, *boxed(cx, field(part, "value"), part)));
            }
            "shorthand_property_identifier" => {
                let key = cx.expr(ExprKind::Str(cx.sym(part)), part);
                pairs.push((key, cx.expr(ExprKind::Name(cx.sym(part)), part)));
            }
            "method_definition" => {
                let Some(key) = field(part, "name") else {
                    continue;
                };
                let name: crate::ir::Sym = Arc::from(property_name(cx, key).as_str());
                let index = function(cx, part, name.clone());
                let value = cx.expr(ExprKind::Lambda(index), part);
                pairs.push((cx.expr(ExprKind::Str(name), key), value));
            }
            // What is not named here comes from there.
            "spread_element" => {
                let key = cx.expr(ExprKind::Str(Arc::from("%rest")), part);
                pairs.push((key, *boxed(cx, children(part).first().copied(), part)));
            }
            _ => {}
        }
    }
    ExprKind::Dict(pairs)
}

pub(super) fn property_name(cx: &Cx<'_>, node: Node<'_>) -> String {
    cx.s(node).trim_matches(['"', '\'', '[', ']']).to_owned()
}

/// The left side of an assignment.
pub(super) fn pattern(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    cx.deeper(|cx| pattern_inner(cx, node))
        .unwrap_or_else(|| cx.opaque(node))
}

fn pattern_inner(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let kind = match node.kind() {
        "object_pattern" => {
            let mut pairs = Vec::new();
            for part in children(node) {
                let (key, target) = match part.kind() {
                    "pair_pattern" => (field(part, "key"), field(part, "value")),
                    "object_assignment_pattern" => (field(part, "left"), field(part, "left")),
                    "rest_pattern" => continue,
                    _ => (Some(part), Some(part)),
                };
                let (Some(key), Some(target)) = (key, target) else {
                    continue;
                };
                let name = property_name(cx, key);
                let key = cx.expr(ExprKind::Str(Arc::from(name.as_str())), key);
                pairs.push((key, pattern(cx, target)));
            }
            ExprKind::Dict(pairs)
        }
        "array_pattern" => {
            let mut parts = Vec::new();
            // Holes keep their place: `[, b] = pair`.
            let mut filled = false;
            for child in all_children(node) {
                match child.kind() {
                    "[" | "]" => {}
                    "," => {
                        if !filled {
                            parts.push(cx.opaque(node));
                        }
                        filled = false;
                    }
                    _ => {
                        parts.push(pattern(cx, child));
                        filled = true;
                    }
                }
            }
            ExprKind::List(parts)
        }
        "assignment_pattern" => match field(node, "left") {
            Some(left) => return pattern(cx, left),
            None => ExprKind::Opaque(Vec::new()),
        },
        "shorthand_property_identifier_pattern" | "identifier" => ExprKind::Name(cx.sym(node)),
        _ => return expr(cx, node),
    };
    cx.expr(kind, node)
}

pub(super) fn binary(op: &str) -> Operation {
    match op {
        "/" => Operation::Div,
        "in" => Operation::In,
        _ => operator(op),
    }
}
