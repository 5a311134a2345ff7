//! Go: expressions.

use std::sync::Arc;

use tree_sitter::Node;

use super::super::{Cx, all_children, children, field, number, operator, unescape};
use super::{body, parameters};
use crate::ir::{Arg, Expr, ExprKind};

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
        "identifier" | "package_identifier" | "type_identifier" | "field_identifier" => {
            ExprKind::Name(cx.sym(node))
        }
        "qualified_type" => ExprKind::Name(Arc::from(cx.s(node))),
        "true" => ExprKind::Bool(true),
        "false" => ExprKind::Bool(false),
        "nil" => ExprKind::Null,
        "int_literal" => ExprKind::Num(number(cx.s(node))),
        "interpreted_string_literal" => {
            let text = cx.s(node).trim_matches('"');
            ExprKind::Str(Arc::from(unescape(text).as_str()))
        }
        "raw_string_literal" => ExprKind::Str(Arc::from(cx.s(node).trim_matches('`'))),
        "rune_literal" => {
            let text = cx.s(node);
            let text = text
                .get(1..text.len().saturating_sub(1))
                .unwrap_or_default();
            ExprKind::Str(Arc::from(unescape(text).as_str()))
        }
        "selector_expression" => {
            let base = boxed(cx, field(node, "operand"), node);
            let name = field(node, "field").map_or(Arc::from(""), |n| cx.sym(n));
            ExprKind::Field(base, name)
        }
        "index_expression" => {
            let base = boxed(cx, field(node, "operand"), node);
            ExprKind::Index(base, boxed(cx, field(node, "index"), node))
        }
        "slice_expression" => {
            let base = boxed(cx, field(node, "operand"), node);
            let from = field(node, "start").map(|n| Box::new(expr(cx, n)));
            let to = field(node, "end").map(|n| Box::new(expr(cx, n)));
            ExprKind::Slice(base, from, to)
        }
        "call_expression" => {
            let callee = boxed(cx, field(node, "function"), node);
            let mut args = Vec::new();
            for child in field(node, "arguments").map(children).unwrap_or_default() {
                args.push(Arg {
                    name: None,
                    value: expr(cx, child),
                });
            }
            ExprKind::Call {
                callee,
                args,
                is_new: false,
            }
        }
        "type_conversion_expression" => {
            let ty = field(node, "type").map_or(Arc::from(""), |n| cx.sym(n));
            ExprKind::Cast(boxed(cx, field(node, "operand"), node), ty)
        }
        "type_assertion_expression" => {
            let ty = field(node, "type").map_or(Arc::from(""), |n| cx.sym(n));
            ExprKind::Cast(boxed(cx, field(node, "operand"), node), ty)
        }
        "binary_expression" => {
            let op = operator(field(node, "operator").map_or("", |n| cx.s(n)));
            let left = boxed(cx, field(node, "left"), node);
            ExprKind::Binary(op, left, boxed(cx, field(node, "right"), node))
        }
        "unary_expression" => {
            let op = field(node, "operator").map_or("", |n| cx.s(n));
            let inner = boxed(cx, field(node, "operand"), node);
            match (op, &inner.kind) {
                ("!", _) => ExprKind::Not(inner),
                ("&" | "*", _) => ExprKind::Ref(inner),
                ("-", ExprKind::Num(n)) => ExprKind::Num(n.wrapping_neg()),
                _ => ExprKind::Opaque(vec![*inner]),
            }
        }
        "parenthesized_expression" | "literal_element" | "variadic_argument" => {
            match children(node).first() {
                Some(inner) => return expr(cx, *inner),
                None => ExprKind::Opaque(Vec::new()),
            }
        }
        "composite_literal" => composite(cx, node),
        "literal_value" => ExprKind::List(children(node).iter().map(|n| expr(cx, *n)).collect()),
        "func_literal" => {
            let index = cx.begin(Arc::from("<closure>"), node);
            let params = parameters(cx, field(node, "parameters"));
            let statements = body(cx, field(node, "body"));
            let function = cx.end(index);
            function.params = params;
            function.body = statements;
            ExprKind::Lambda(index)
        }
        _ => {
            let named: Vec<_> = all_children(node)
                .into_iter()
                .filter(Node::is_named)
                .collect();
            ExprKind::Opaque(named.iter().map(|n| expr(cx, *n)).collect())
        }
    };
    cx.expr(kind, node)
}

/// `[]rule{{pattern, handler}}`: an element has the type that the list names.
fn element(cx: &mut Cx<'_>, of: Option<Node<'_>>, node: Node<'_>) -> Expr {
    let inner = match node.kind() {
        "literal_element" => children(node).first().copied().unwrap_or(node),
        _ => node,
    };
    let of = match of {
        Some(pointer) if pointer.kind() == "pointer_type" => children(pointer).first().copied(),
        other => other,
    };
    match of {
        Some(of) if inner.kind() == "literal_value" && is_struct_name(of) => {
            let kind = made(cx, of, children(inner), node);
            cx.expr(kind, node)
        }
        _ => expr(cx, node),
    }
}

fn is_struct_name(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "type_identifier" | "qualified_type" | "generic_type"
    )
}

pub(super) fn composite(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let ty = field(node, "type");
    let parts = field(node, "body").map(children).unwrap_or_default();
    // `Repo[Key, Value]{…}` is a `Repo`.
    let ty = match ty {
        Some(generic) if generic.kind() == "generic_type" => field(generic, "type"),
        other => other,
    };
    let is_struct = ty.is_some_and(is_struct_name);
    if !is_struct {
        let is_map = ty.is_some_and(|n| n.kind() == "map_type");
        if is_map {
            let mut pairs = Vec::new();
            let of = ty.and_then(|n| field(n, "value"));
            for part in parts {
                let sides = children(part);
                if let [key, value] = sides.as_slice() {
                    pairs.push((expr(cx, *key), element(cx, of, *value)));
                }
            }
            return ExprKind::Dict(pairs);
        }
        let of = ty.and_then(|n| field(n, "element"));
        return ExprKind::List(parts.iter().map(|n| element(cx, of, *n)).collect());
    }
    match ty {
        Some(ty) => made(cx, ty, parts, node),
        None => ExprKind::Opaque(Vec::new()),
    }
}

/// A struct with its fields, by name or by place.
fn made(cx: &mut Cx<'_>, ty: Node<'_>, parts: Vec<Node<'_>>, node: Node<'_>) -> ExprKind {
    // `Repo[Key, Value]{…}`: the type without what it is made for.
    let ty = match ty.kind() {
        "generic_type" => field(ty, "type").unwrap_or(ty),
        _ => ty,
    };
    let callee = boxed(cx, Some(ty), node);
    let mut args = Vec::new();
    for part in parts {
        let sides = children(part);
        match (part.kind(), sides.as_slice()) {
            ("keyed_element", [key, value]) => {
                let name = Some(cx.sym(*key));
                args.push(Arg {
                    name,
                    value: expr(cx, *value),
                });
            }
            _ => args.push(Arg {
                name: None,
                value: expr(cx, part),
            }),
        }
    }
    ExprKind::Call {
        callee,
        args,
        is_new: true,
    }
}
