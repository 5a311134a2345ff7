//! Expressions.

use std::sync::Arc;

use tree_sitter::Node;

use super::super::{Cx, children, field, number, operator, unescape};
use super::body;
use crate::ir::{Arg, Expr, ExprKind, Operation, Param};

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

/// `std::filesystem::path` with dots and without template arguments.
pub(super) fn dots(text: &str) -> String {
    let text = text.split('<').next().unwrap_or(text);
    text.trim().trim_start_matches("::").replace("::", ".")
}

/// An object made with arguments.
pub(super) fn construct(cx: &mut Cx<'_>, ty: &str, arguments: Node<'_>, node: Node<'_>) -> Expr {
    let callee = Box::new(cx.name(ty, node));
    let mut args = Vec::new();
    for child in children(arguments) {
        // A parameter declaration here is a name that looks like a type.
        if child.kind() == "parameter_declaration" {
            let value = misread(cx, child);
            args.push(Arg { name: None, value });
            continue;
        }
        if child.kind() == "initializer_pair" {
            let name = field(child, "designator").map(|n| cx.s(n).trim_start_matches('.'));
            args.push(Arg {
                name: name.map(Arc::from),
                value: *boxed(cx, field(child, "value"), child),
            });
            continue;
        }
        args.push(Arg {
            name: None,
            value: expr(cx, child),
        });
    }
    cx.expr(
        ExprKind::Call {
            callee,
            args,
            is_new: true,
        },
        node,
    )
}

/// `in(make(name))` reads like the declaration of a function: its parameter is a call, or a name.
fn misread(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let Some(ty) = field(node, "type") else {
        return cx.opaque(node);
    };
    let Some(declarator) = field(node, "declarator") else {
        return expr(cx, ty);
    };
    let callee = Box::new(expr(cx, ty));
    let mut args = Vec::new();
    let list = field(declarator, "parameters").map(children);
    for part in list.unwrap_or_else(|| children(declarator)) {
        let value = match part.kind() {
            "parameter_declaration" => misread(cx, part),
            _ => expr(cx, part),
        };
        args.push(Arg { name: None, value });
    }
    let kind = ExprKind::Call {
        callee,
        args,
        is_new: false,
    };
    cx.expr(kind, node)
}

fn inner(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let kind = match node.kind() {
        "identifier" | "field_identifier" | "type_identifier" | "this" | "namespace_identifier" => {
            match cx.s(node) {
                "NULL" | "nullptr" => ExprKind::Null,
                _ => ExprKind::Name(cx.sym(node)),
            }
        }
        "qualified_identifier" | "template_function" | "template_type" => {
            return qualified(cx, node);
        }
        "true" => ExprKind::Bool(true),
        "false" => ExprKind::Bool(false),
        "null" => ExprKind::Null,
        "number_literal" => ExprKind::Num(number(cx.s(node))),
        "string_literal" | "char_literal" | "raw_string_literal" => literal(cx, node),
        "concatenated_string" => concatenated(cx, node),
        "field_expression" => {
            let base = boxed(cx, field(node, "argument"), node);
            let name = field(node, "field").map_or("", |n| cx.s(n));
            ExprKind::Field(base, Arc::from(name.split('<').next().unwrap_or(name)))
        }
        "subscript_expression" => {
            let base = boxed(cx, field(node, "argument"), node);
            let index = field(node, "index")
                .or_else(|| field(node, "indices").and_then(|n| children(n).first().copied()));
            ExprKind::Index(base, boxed(cx, index, node))
        }
        "call_expression" if cast_of(cx, node).is_some() => {
            let value = field(node, "arguments").and_then(|n| children(n).first().copied());
            let ty = cast_of(cx, node).unwrap_or_default();
            ExprKind::Cast(boxed(cx, value, node), Arc::from(ty.as_str()))
        }
        "call_expression" if made_by(cx, node).is_some() => {
            let ty = made_by(cx, node).unwrap_or_default();
            return match field(node, "arguments") {
                Some(list) => construct(cx, &ty, list, node),
                None => cx.opaque(node),
            };
        }
        "call_expression" => call(cx, node),
        "new_expression" => {
            let ty = field(node, "type").map_or(String::new(), |n| dots(cx.s(n)));
            return match field(node, "arguments") {
                Some(list) => construct(cx, &ty, list, node),
                None => cx.opaque(node),
            };
        }
        "compound_literal_expression" => {
            let ty = field(node, "type").map_or(String::new(), |n| dots(cx.s(n)));
            return match field(node, "value") {
                Some(list) => construct(cx, &ty, list, node),
                None => cx.opaque(node),
            };
        }
        "initializer_list" => initializer(cx, node),
        "pointer_expression" => pointer(cx, node),
        "unary_expression" => unary(cx, node),
        "update_expression" => {
            let value = *boxed(cx, field(node, "argument"), node);
            cx.call_of("%step", vec![value], node)
        }
        "binary_expression" if reads_stream(cx, node) => {
            // `std::cin >> name`
            return match field(node, "right") {
                Some(right) => read_word(cx, right),
                None => cx.opaque(node),
            };
        }
        "binary_expression" => {
            let op = binary(field(node, "operator").map_or("", |n| cx.s(n)));
            let left = boxed(cx, field(node, "left"), node);
            ExprKind::Binary(op, left, boxed(cx, field(node, "right"), node))
        }
        "assignment_expression" => assignment(cx, node),
        "conditional_expression" => {
            let cond = boxed(cx, field(node, "condition"), node);
            let then = boxed(cx, field(node, "consequence"), node);
            ExprKind::Cond(cond, then, boxed(cx, field(node, "alternative"), node))
        }
        "cast_expression" => {
            let ty = field(node, "type").map_or(Arc::from(""), |n| cx.sym(n));
            ExprKind::Cast(boxed(cx, field(node, "value"), node), ty)
        }
        "parenthesized_expression" | "condition_clause" => {
            let part = field(node, "value").or_else(|| children(node).first().copied());
            match part {
                Some(inner) => return expr(cx, inner),
                None => ExprKind::Opaque(Vec::new()),
            }
        }
        "comma_expression" => {
            let parts: Vec<_> = children(node).iter().map(|n| expr(cx, *n)).collect();
            ExprKind::Opaque(parts)
        }
        "lambda_expression" => lambda(cx, node),
        _ => ExprKind::Opaque(children(node).iter().map(|n| expr(cx, *n)).collect()),
    };
    cx.expr(kind, node)
}

/// Text between its quotes.
fn literal(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let text = cx.s(node).trim_start_matches(['L', 'u', 'U', 'R', '8']);
    let text = text
        .get(1..text.len().saturating_sub(1))
        .unwrap_or_default();
    ExprKind::Str(Arc::from(unescape(text).as_str()))
}

/// Strings one behind the other.
fn concatenated(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let parts: Vec<_> = children(node).iter().map(|n| expr(cx, *n)).collect();
    let mut text = String::new();
    let mut all = true;
    for part in &parts {
        match &part.kind {
            ExprKind::Str(one) => text.push_str(one),
            _ => all = false,
        }
    }
    if all {
        ExprKind::Str(Arc::from(text.as_str()))
    } else {
        ExprKind::Concat(parts)
    }
}

/// A call, as it is written.
fn call(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
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

/// `{ .a = 1 }` is an object, `{ 1, 2 }` a list.
fn initializer(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let mut args = Vec::new();
    let mut list = Vec::new();
    for part in children(node) {
        if part.kind() == "initializer_pair" {
            let name = field(part, "designator").map(|n| cx.s(n).trim_start_matches('.'));
            let value = *boxed(cx, field(part, "value"), part);
            args.push(Arg {
                name: name.map(Arc::from),
                value,
            });
        } else {
            list.push(expr(cx, part));
        }
    }
    if args.is_empty() {
        ExprKind::List(list)
    } else {
        let callee = Box::new(cx.name("struct", node));
        ExprKind::Call {
            callee,
            args,
            is_new: true,
        }
    }
}

/// `*p`, `&x`.
fn pointer(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let value = boxed(cx, field(node, "argument"), node);
    if cx.s(node).starts_with('*')
        && let Some(path) = begun(&value)
    {
        // `*path.begin()`: the first of its parts.
        let parts = cx.call_of("%components", vec![path], node);
        let parts = Box::new(cx.expr(parts, node));
        let first = Box::new(cx.expr(ExprKind::Num(0), node));
        ExprKind::Index(parts, first)
    } else if cx.s(node).starts_with('*') {
        // What it points at: one of the characters, for a string.
        let any = Box::new(cx.opaque(node));
        ExprKind::Index(value, any)
    } else {
        ExprKind::Ref(value)
    }
}

/// `!x`, `-1`, `~x`.
fn unary(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let op = field(node, "operator").map_or("", |n| cx.s(n));
    let value = boxed(cx, field(node, "argument"), node);
    match (op, &value.kind) {
        ("!" | "not", _) => ExprKind::Not(value),
        ("-", ExprKind::Num(n)) => ExprKind::Num(n.wrapping_neg()),
        ("~", _) => ExprKind::Opaque(vec![*value]),
        _ => ExprKind::Ref(value),
    }
}

/// `a = b`, `a += b`.
fn assignment(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let target = boxed(cx, field(node, "left"), node);
    let value = boxed(cx, field(node, "right"), node);
    let op = field(node, "operator").map_or("=", |n| cx.s(n));
    if op == "=" {
        ExprKind::Assign(target, value)
    } else {
        let op = binary(op.trim_end_matches('='));
        let sum = cx.expr(ExprKind::Binary(op, target.clone(), value), node);
        ExprKind::Assign(target, Box::new(sum))
    }
}

/// A function without a name.
fn lambda(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let index = cx.begin(Arc::from("<closure>"), node);
    let mut params = Vec::new();
    let list = field(node, "declarator").and_then(|n| field(n, "parameters"));
    for one in list.map(children).unwrap_or_default() {
        if let Some(declarator) = field(one, "declarator") {
            let (name, _) = super::declared(cx, declarator);
            let ty = field(one, "type").map(|n| cx.sym(n));
            params.push(Param {
                name,
                ty,
                pattern: None,
            });
        }
    }
    let statements = body(cx, field(node, "body"));
    let function = cx.end(index);
    function.params = params;
    function.body = statements;
    ExprKind::Lambda(index)
}

/// The type in `static_cast<T>(x)`.
fn cast_of(cx: &Cx<'_>, node: Node<'_>) -> Option<String> {
    let function = field(node, "function").map(|n| cx.s(n))?;
    let (name, rest) = function.split_once('<')?;
    let casts = [
        "static_cast",
        "reinterpret_cast",
        "const_cast",
        "dynamic_cast",
    ];
    casts
        .contains(&name)
        .then(|| dots(rest.trim_end_matches('>')))
}

/// The type in `std::make_unique<T>(…)`.
fn made_by(cx: &Cx<'_>, node: Node<'_>) -> Option<String> {
    let function = field(node, "function").map(|n| cx.s(n))?;
    let (name, rest) = function.split_once('<')?;
    let makers = [
        "std::make_unique",
        "std::make_shared",
        "make_unique",
        "make_shared",
    ];
    makers
        .contains(&name)
        .then(|| dots(rest.trim_end_matches('>')))
}

pub(super) fn read_word(cx: &mut Cx<'_>, into: Node<'_>) -> Expr {
    let value = expr(cx, into);
    let kind = cx.call_of("std.cin.read", vec![value], into);
    cx.expr(kind, into)
}

fn reads_stream(cx: &Cx<'_>, node: Node<'_>) -> bool {
    let op = field(node, "operator").map_or("", |n| cx.s(n));
    let left = field(node, "left").map_or("", |n| cx.s(n));
    op == ">>" && (left == "cin" || left == "std::cin")
}

fn qualified(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let mut out: Option<Expr> = None;
    for part in dots(cx.s(node)).split('.') {
        if part.is_empty() {
            continue;
        }
        let kind = match out {
            None => ExprKind::Name(Arc::from(part)),
            Some(base) => ExprKind::Field(Box::new(base), Arc::from(part)),
        };
        out = Some(cx.expr(kind, node));
    }
    out.unwrap_or_else(|| cx.opaque(node))
}

pub(super) fn binary(op: &str) -> Operation {
    match op {
        // `/` puts C++ paths together.
        "/" => Operation::Div,
        _ => operator(op),
    }
}

/// What `x.begin()` is the beginning of.
fn begun(value: &Expr) -> Option<Expr> {
    let ExprKind::Call { callee, args, .. } = &value.kind else {
        return None;
    };
    match &callee.kind {
        ExprKind::Field(base, name) if args.is_empty() && matches!(&**name, "begin" | "cbegin") => {
            Some((**base).clone())
        }
        _ => None,
    }
}
