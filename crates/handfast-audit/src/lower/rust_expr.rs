//! Expressions, patterns and conditions.

use std::sync::Arc;

use tree_sitter::Node;

use super::super::{Cx, children, field, number, operator, unescape};
use super::patterns::pattern_test;
use super::{block, control, macros, parameters};
use crate::ir::{Arg, Expr, ExprKind, Operation, Stmt, StmtKind, Sym};

/// The name of the argument that says what a text is parsed as.
pub(super) const PARSED_AS: &str = "%type";

pub(super) fn expr(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    cx.deeper(|cx| inner(cx, node))
        .unwrap_or_else(|| cx.opaque(node))
}

fn boxed(cx: &mut Cx<'_>, node: Option<Node<'_>>, whole: Node<'_>) -> Box<Expr> {
    Box::new(match node {
        Some(node) => expr(cx, node),
        None => cx.opaque(whole),
    })
}

fn inner(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    if let Some(kind) = literal(cx, node) {
        return cx.expr(kind, node);
    }
    let kind = match node.kind() {
        "identifier" | "self" | "field_identifier" | "type_identifier" | "crate" | "super" => {
            ExprKind::Name(cx.sym(node))
        }
        "scoped_identifier" | "scoped_type_identifier" => return scoped(cx, node),
        "generic_function" | "generic_type" | "generic_type_with_turbofish" => {
            let part = field(node, "function").or_else(|| field(node, "type"));
            return *boxed(cx, part, node);
        }
        "field_expression" => {
            let base = boxed(cx, field(node, "value"), node);
            let name = field(node, "field").map_or(Arc::from(""), |n| cx.sym(n));
            ExprKind::Field(base, name)
        }
        "call_expression" => {
            let callee = boxed(cx, field(node, "function"), node);
            let mut args = Vec::new();
            for child in field(node, "arguments").map(children).unwrap_or_default() {
                if child.kind() != "attribute_item" {
                    args.push(Arg {
                        name: None,
                        value: expr(cx, child),
                    });
                }
            }
            args.extend(parsed_type(cx, node));
            ExprKind::Call {
                callee,
                args,
                is_new: false,
            }
        }
        "macro_invocation" => return macros::invocation(cx, node),
        "binary_expression" => {
            let op = operator(field(node, "operator").map_or("", |n| cx.s(n)));
            let left = boxed(cx, field(node, "left"), node);
            ExprKind::Binary(op, left, boxed(cx, field(node, "right"), node))
        }
        "unary_expression" => {
            let value = boxed(cx, children(node).first().copied(), node);
            match (cx.s(node).chars().next(), &value.kind) {
                (Some('!'), _) => ExprKind::Not(value),
                (Some('-'), ExprKind::Num(n)) => ExprKind::Num(n.wrapping_neg()),
                _ => ExprKind::Ref(value),
            }
        }
        "reference_expression" => ExprKind::Ref(boxed(cx, field(node, "value"), node)),
        "parenthesized_expression" | "expression_statement" => match children(node).first() {
            Some(inner) => return expr(cx, *inner),
            None => ExprKind::Opaque(Vec::new()),
        },
        "try_expression" => ExprKind::Question(boxed(cx, children(node).first().copied(), node)),
        "await_expression" => ExprKind::Await(boxed(cx, children(node).first().copied(), node)),
        "type_cast_expression" => {
            let ty = field(node, "type").map_or(Arc::from(""), |n| cx.sym(n));
            ExprKind::Cast(boxed(cx, field(node, "value"), node), ty)
        }
        "assignment_expression" => {
            let target = boxed(cx, field(node, "left"), node);
            ExprKind::Assign(target, boxed(cx, field(node, "right"), node))
        }
        "compound_assignment_expr" => {
            let op = field(node, "operator").map_or("", |n| cx.s(n));
            let op = operator(op.trim_end_matches('='));
            let target = boxed(cx, field(node, "left"), node);
            let right = boxed(cx, field(node, "right"), node);
            let value = cx.expr(ExprKind::Binary(op, target.clone(), right), node);
            ExprKind::Assign(target, Box::new(value))
        }
        "closure_expression" => closure(cx, node),
        "struct_expression" => struct_expression(cx, node),
        "tuple_expression" | "array_expression" => {
            ExprKind::List(children(node).iter().map(|n| expr(cx, *n)).collect())
        }
        "index_expression" => {
            let parts = children(node);
            let base = boxed(cx, parts.first().copied(), node);
            match parts.get(1) {
                Some(range) if range.kind() == "range_expression" => {
                    ExprKind::Slice(base, None, None)
                }
                part => ExprKind::Index(base, boxed(cx, part.copied(), node)),
            }
        }
        "if_expression" => return if_value(cx, node),
        "match_expression" => return match_value(cx, node),
        "block" | "unsafe_block" | "async_block" => {
            let whole = if node.kind() == "block" {
                Some(node)
            } else {
                children(node).into_iter().find(|n| n.kind() == "block")
            };
            let Some(whole) = whole else {
                return cx.opaque(node);
            };
            let (statements, value) = block(cx, whole);
            ExprKind::Block(statements, value.map(Box::new))
        }
        "let_condition" | "let_chain" => return condition(cx, node),
        _ => {
            if let Some(kind) = control(cx, node) {
                let statement = cx.stmt(kind, node);
                ExprKind::Block(vec![statement], None)
            } else {
                ExprKind::Opaque(children(node).iter().map(|n| expr(cx, *n)).collect())
            }
        }
    };
    cx.expr(kind, node)
}

fn literal(cx: &Cx<'_>, node: Node<'_>) -> Option<ExprKind> {
    match node.kind() {
        "string_literal" => {
            let text: String = children(node).iter().map(|n| cx.s(*n)).collect();
            Some(ExprKind::Str(Arc::from(unescape(&text).as_str())))
        }
        "raw_string_literal" => {
            let text = cx.s(node).trim_start_matches(['r', 'b']);
            let text = text.trim_matches('#').trim_matches('"');
            Some(ExprKind::Str(Arc::from(text)))
        }
        "char_literal" => {
            let text = cx.s(node).trim_start_matches('b');
            let text = text
                .get(1..text.len().saturating_sub(1))
                .unwrap_or_default();
            Some(ExprKind::Str(Arc::from(unescape(text).as_str())))
        }
        "integer_literal" => Some(ExprKind::Num(number(cx.s(node)))),
        "boolean_literal" => Some(ExprKind::Bool(cx.s(node) == "true")),
        _ => None,
    }
}

fn closure(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let index = cx.begin(Arc::from("<closure>"), node);
    let (params, _) = parameters(cx, field(node, "parameters"));
    let value = boxed(cx, field(node, "body"), node);
    let span = value.span;
    let function = cx.end(index);
    function.params = params;
    function.body = vec![Stmt {
        kind: StmtKind::Return(Some(*value)),
        span,
    }];
    ExprKind::Lambda(index)
}

/// The type that `text.parse::<T>()` is parsed as, as an argument of its own.
fn parsed_type(cx: &Cx<'_>, call: Node<'_>) -> Option<Arg> {
    let function = field(call, "function").filter(|n| n.kind() == "generic_function")?;
    let method = field(function, "function").and_then(|n| field(n, "field"))?;
    let types = field(function, "type_arguments")?;
    let first = children(types).first().copied()?;
    (cx.s(method) == "parse").then(|| typed_argument(cx, first))
}

fn typed_argument(cx: &Cx<'_>, ty: Node<'_>) -> Arg {
    Arg {
        name: Some(Arc::from(PARSED_AS)),
        value: cx.expr(ExprKind::Str(cx.sym(ty)), ty),
    }
}

/// `let id: Id = text.parse()?`: the declared type is the one that the text is parsed as.
pub(super) fn parse_as(cx: &Cx<'_>, value: &mut Expr, ty: Node<'_>) {
    match &mut value.kind {
        ExprKind::Question(inner) | ExprKind::Await(inner) => parse_as(cx, inner, ty),
        ExprKind::Call { callee, args, .. } => {
            let ExprKind::Field(base, method) = &mut callee.kind else {
                return;
            };
            match &**method {
                "parse" if args.is_empty() => args.push(typed_argument(cx, ty)),
                "unwrap" | "expect" | "map_err" | "context" | "with_context" | "unwrap_or"
                | "unwrap_or_else" | "unwrap_or_default" => parse_as(cx, base, ty),
                _ => {}
            }
        }
        _ => {}
    }
}

/// `std::fs::read` as nested fields of names.
fn scoped(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let text = cx.s(node);
    let mut out: Option<Expr> = None;
    for part in text.split("::") {
        let part = part.split('<').next().unwrap_or(part).trim();
        if part.is_empty() {
            continue;
        }
        let part: Sym = Arc::from(part);
        let kind = match out {
            None => ExprKind::Name(part),
            Some(base) => ExprKind::Field(Box::new(base), part),
        };
        out = Some(cx.expr(kind, node));
    }
    out.unwrap_or_else(|| cx.opaque(node))
}

fn struct_expression(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let callee = boxed(cx, field(node, "name"), node);
    let mut args = Vec::new();
    for part in field(node, "body").map(children).unwrap_or_default() {
        match part.kind() {
            "field_initializer" => {
                let name = field(part, "field").or_else(|| field(part, "name"));
                let name = name.map(|n| cx.sym(n));
                let value = *boxed(cx, field(part, "value"), part);
                args.push(Arg { name, value });
            }
            "shorthand_field_initializer" => {
                let name = cx.sym(part);
                let value = cx.expr(ExprKind::Name(name.clone()), part);
                args.push(Arg {
                    name: Some(name),
                    value,
                });
            }
            _ => {}
        }
    }
    ExprKind::Call {
        callee,
        args,
        is_new: true,
    }
}

/// A condition, with `let` patterns and chains of them.
pub(super) fn condition(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    match node.kind() {
        "let_condition" => {
            let value = *boxed(cx, field(node, "value"), node);
            match field(node, "pattern") {
                Some(pattern) => pattern_test(cx, pattern, value),
                None => value,
            }
        }
        "let_chain" => {
            let mut result: Option<Expr> = None;
            for part in children(node) {
                let one = condition(cx, part);
                result = Some(match result {
                    Some(before) => cx.expr(
                        ExprKind::Binary(Operation::And, Box::new(before), Box::new(one)),
                        node,
                    ),
                    None => one,
                });
            }
            result.unwrap_or_else(|| cx.opaque(node))
        }
        _ => expr(cx, node),
    }
}

/// `if` as a value: branches that assign one name.
fn if_value(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let result = cx.fresh();
    let cond = match field(node, "condition") {
        Some(cond) => condition(cx, cond),
        None => cx.opaque(node),
    };
    let then = field(node, "consequence")
        .map(|n| assigning(cx, n, &result))
        .unwrap_or_default();
    let mut otherwise = Vec::new();
    if let Some(alternative) = field(node, "alternative") {
        for inner in children(alternative) {
            otherwise.extend(assigning(cx, inner, &result));
        }
    }
    let first = cx.stmt(
        StmtKind::If {
            cond,
            then,
            otherwise,
        },
        node,
    );
    let value = Some(Box::new(cx.name(&result, node)));
    cx.expr(ExprKind::Block(vec![first], value), node)
}

fn match_value(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let result = cx.fresh();
    let subject = cx.fresh();
    let value = *boxed(cx, field(node, "value"), node);
    let target = cx.name(&subject, node);
    let bind = StmtKind::Assign { target, value };
    let bind = cx.stmt(bind, node);
    // One of the arms is taken.
    let never = cx.call_of("%unreachable", Vec::new(), node);
    let never = cx.expr(never, node);
    let mut chain: Vec<Stmt> = vec![cx.stmt(StmtKind::Expr(never), node)];
    let arms = field(node, "body").map(children).unwrap_or_default();
    for arm in arms.into_iter().rev() {
        if arm.kind() != "match_arm" {
            continue;
        }
        let Some(pattern) = field(arm, "pattern") else {
            continue;
        };
        let value = cx.name(&subject, arm);
        let cond = pattern_test(cx, pattern, value);
        let then = field(arm, "value")
            .map(|n| assigning(cx, n, &result))
            .unwrap_or_default();
        let kind = StmtKind::If {
            cond,
            then,
            otherwise: std::mem::take(&mut chain),
        };
        chain = vec![cx.stmt(kind, arm)];
    }
    let mut statements = vec![bind];
    statements.append(&mut chain);
    let value = Some(Box::new(cx.name(&result, node)));
    cx.expr(ExprKind::Block(statements, value), node)
}

/// The statements of a branch, its value assigned to a name.
fn assigning(cx: &mut Cx<'_>, node: Node<'_>, result: &str) -> Vec<Stmt> {
    let (mut statements, value) = if node.kind() == "block" {
        block(cx, node)
    } else {
        (Vec::new(), Some(expr(cx, node)))
    };
    if let Some(value) = value {
        let target = cx.name(result, node);
        let kind = StmtKind::Assign { target, value };
        statements.push(cx.stmt(kind, node));
    }
    statements
}
