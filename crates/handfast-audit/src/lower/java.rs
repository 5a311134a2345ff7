//! Java: statements. Declarations and expressions have files of their own.

#[path = "java_decl.rs"]
mod declarations;
#[path = "java_expr.rs"]
mod expression;

use std::sync::Arc;

use tree_sitter::Node;

use self::declarations::{class, import, written_out};
use self::expression::{boxed, condition, expr, simple_type};
use super::cases::{MatchArm, chain};
use super::{Cx, children, field, operator};
use crate::ir::{Expr, ExprKind, Handler, Stmt, StmtKind, Sym};

pub(super) fn module(cx: &mut Cx<'_>, root: Node<'_>) {
    let top = cx.begin(Arc::from("<module>"), root);
    let body = block(cx, root);
    cx.end(top).body = body;
    cx.module.top = top;
    written_out(cx, root);
}

fn block(cx: &mut Cx<'_>, node: Node<'_>) -> Vec<Stmt> {
    let mut out = Vec::new();
    for child in children(node) {
        cx.deeper(|cx| statement(cx, child, &mut out));
    }
    out
}

fn body(cx: &mut Cx<'_>, node: Option<Node<'_>>) -> Vec<Stmt> {
    let Some(node) = node else { return Vec::new() };
    if matches!(node.kind(), "block" | "constructor_body") {
        return block(cx, node);
    }
    let mut out = Vec::new();
    cx.deeper(|cx| statement(cx, node, &mut out));
    out
}

fn statement(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let kind = match node.kind() {
        "import_declaration" => return import(cx, node),
        "class_declaration"
        | "record_declaration"
        | "interface_declaration"
        | "enum_declaration" => return class(cx, node, out),
        "local_variable_declaration" => return local(cx, node, out),
        "expression_statement" => {
            if let Some(inner) = children(node).first() {
                expression_statement(cx, *inner, out);
            }
            return;
        }
        "block" => StmtKind::Block(block(cx, node)),
        "return_statement" | "yield_statement" => {
            StmtKind::Return(children(node).first().map(|n| expr(cx, *n)))
        }
        "throw_statement" => StmtKind::Throw(children(node).first().map(|n| expr(cx, *n))),
        "break_statement" => StmtKind::Break,
        "continue_statement" => StmtKind::Continue,
        "if_statement" => StmtKind::If {
            cond: condition(cx, node),
            then: body(cx, field(node, "consequence")),
            otherwise: body(cx, field(node, "alternative")),
        },
        "while_statement" | "do_statement" => {
            let cond = Some(condition(cx, node));
            StmtKind::While {
                cond: cond.filter(|c| !matches!(c.kind, ExprKind::Bool(true))),
                step: Vec::new(),
                body: body(cx, field(node, "body")),
                body_first: node.kind() == "do_statement",
            }
        }
        "for_statement" => for_loop(cx, node, out),
        "enhanced_for_statement" => {
            let name = field(node, "name").map_or(Arc::from(""), |n| cx.sym(n));
            let target = cx.name(&name, node);
            let iter = *boxed(cx, field(node, "value"), node);
            let mut inner = typed_element(cx, node, &name);
            inner.extend(body(cx, field(node, "body")));
            StmtKind::ForEach {
                target,
                iter,
                body: inner,
                is_pair: false,
            }
        }
        "try_statement" | "try_with_resources_statement" => guarded(cx, node),
        "switch_expression" => switch(cx, node),
        "synchronized_statement" => StmtKind::Block(body(cx, field(node, "body"))),
        "labeled_statement" => StmtKind::Block(block(cx, node)),
        "explicit_constructor_invocation" => {
            let value = declarations::constructor_call(cx, node);
            StmtKind::Expr(value)
        }
        // An assertion is off unless somebody switches it on: it guards nothing.
        "assert_statement" | "package_declaration" | "identifier" | ";" => return,
        "ERROR" => StmtKind::Block(block(cx, node)),
        _ => StmtKind::Expr(expr(cx, node)),
    };
    out.push(cx.stmt(kind, node));
}

/// `for (Part part : parts)`: the element has the type that is written.
fn typed_element(cx: &Cx<'_>, node: Node<'_>, name: &Sym) -> Vec<Stmt> {
    let Some(ty) = field(node, "type").map(|n| simple_type(cx, n)) else {
        return Vec::new();
    };
    if &*ty == "var" {
        return Vec::new();
    }
    let value = Box::new(cx.name(name, node));
    let value = cx.expr(ExprKind::Cast(value, ty), node);
    vec![cx.stmt(StmtKind::Expr(value), node)]
}

fn local(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let ty = field(node, "type").map_or(Arc::from("var"), |n| simple_type(cx, n));
    let mut cursor = node.walk();
    let all: Vec<_> = node
        .children_by_field_name("declarator", &mut cursor)
        .collect();
    for one in all {
        let Some(name) = field(one, "name") else {
            continue;
        };
        let target = cx.expr(ExprKind::Name(cx.sym(name)), name);
        let value = match field(one, "value") {
            Some(value) => cast(cx, value, &ty),
            // A name that exists from here on, so that it hides a field.
            None => cx.expr(ExprKind::Null, one),
        };
        out.push(cx.stmt(StmtKind::Assign { target, value }, node));
    }
}

fn cast(cx: &mut Cx<'_>, value: Node<'_>, ty: &Sym) -> Expr {
    let inner = expr(cx, value);
    if &**ty == "var" {
        return inner;
    }
    cx.expr(ExprKind::Cast(Box::new(inner), ty.clone()), value)
}

fn expression_statement(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    if node.kind() != "assignment_expression" {
        if node.kind() == "switch_expression" {
            let kind = switch(cx, node);
            out.push(cx.stmt(kind, node));
            return;
        }
        let kind = match put(cx, node) {
            Some(kind) => kind,
            None => StmtKind::Expr(expr(cx, node)),
        };
        out.push(cx.stmt(kind, node));
        return;
    }
    let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else {
        return;
    };
    let op = field(node, "operator").map_or("=", |n| cx.s(n));
    let target = expr(cx, left);
    let mut value = expr(cx, right);
    if op != "=" {
        let old = Box::new(expr(cx, left));
        let op = operator(op.trim_end_matches('='));
        value = cx.expr(ExprKind::Binary(op, old, Box::new(value)), node);
    }
    out.push(cx.stmt(StmtKind::Assign { target, value }, node));
}

/// `table.put(key, value)`: the table has an entry.
fn put(cx: &mut Cx<'_>, node: Node<'_>) -> Option<StmtKind> {
    let is_put =
        node.kind() == "method_invocation" && field(node, "name").map(|n| cx.s(n)) == Some("put");
    let given = field(node, "arguments").map(children).unwrap_or_default();
    let (true, Some(table), [key, value]) = (is_put, field(node, "object"), given.as_slice())
    else {
        return None;
    };
    let table = Box::new(expr(cx, table));
    let key = Box::new(expr(cx, *key));
    let target = cx.expr(ExprKind::Index(table, key), node);
    let value = expr(cx, *value);
    Some(StmtKind::Assign { target, value })
}

fn for_loop(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) -> StmtKind {
    let mut cursor = node.walk();
    let first: Vec<_> = node.children_by_field_name("init", &mut cursor).collect();
    for one in first {
        if one.kind() == "local_variable_declaration" {
            local(cx, one, out);
        } else {
            expression_statement(cx, one, out);
        }
    }
    let cond = field(node, "condition").map(|n| expr(cx, n));
    let mut step = Vec::new();
    let mut cursor = node.walk();
    let updates: Vec<_> = node.children_by_field_name("update", &mut cursor).collect();
    for update in updates {
        expression_statement(cx, update, &mut step);
    }
    StmtKind::While {
        cond,
        step,
        body: body(cx, field(node, "body")),
        body_first: false,
    }
}

/// `try`, with or without things that are closed at its end.
fn guarded(cx: &mut Cx<'_>, node: Node<'_>) -> StmtKind {
    let mut items = Vec::new();
    for resource in field(node, "resources").map(children).unwrap_or_default() {
        match (field(resource, "name"), field(resource, "value")) {
            (Some(name), Some(value)) => {
                let ty = field(resource, "type").map_or(Arc::from("var"), |n| simple_type(cx, n));
                let value = cast(cx, value, &ty);
                let name = cx.expr(ExprKind::Name(cx.sym(name)), name);
                items.push((value, Some(name)));
            }
            _ => {
                if let Some(inner) = children(resource).first() {
                    items.push((expr(cx, *inner), None));
                }
            }
        }
    }
    let mut statements = body(cx, field(node, "body"));
    if !items.is_empty() {
        let kind = StmtKind::With {
            items,
            body: statements,
        };
        statements = vec![cx.stmt(kind, node)];
    }
    let mut handlers = Vec::new();
    let mut finally = Vec::new();
    for clause in children(node) {
        match clause.kind() {
            "catch_clause" => handlers.push(handler(cx, clause)),
            "finally_clause" => finally = body(cx, children(clause).first().copied()),
            _ => {}
        }
    }
    if handlers.is_empty() && finally.is_empty() {
        return StmtKind::Block(statements);
    }
    StmtKind::Try {
        body: statements,
        handlers,
        finally,
    }
}

fn handler(cx: &mut Cx<'_>, clause: Node<'_>) -> Handler {
    let mut types = Vec::new();
    let mut name = None;
    for parameter in children(clause) {
        if parameter.kind() != "catch_formal_parameter" {
            continue;
        }
        name = field(parameter, "name").map(|n| cx.sym(n));
        for list in children(parameter) {
            if list.kind() == "catch_type" {
                types.extend(children(list).iter().map(|n| simple_type(cx, *n)));
            }
        }
    }
    // These two catch everything that a check throws.
    if types
        .iter()
        .any(|ty| matches!(&**ty, "Exception" | "Throwable"))
    {
        types.clear();
    }
    Handler {
        types,
        name,
        body: body(cx, field(clause, "body")),
        span: cx.span(clause),
    }
}

fn switch(cx: &mut Cx<'_>, node: Node<'_>) -> StmtKind {
    let subject = condition(cx, node);
    let mut cases = Vec::new();
    for case in field(node, "body").map(children).unwrap_or_default() {
        let is_rule = case.kind() == "switch_rule";
        let mut values = Vec::new();
        let mut body = Vec::new();
        let mut falls = !is_rule;
        for child in children(case) {
            if child.kind() == "switch_label" {
                let labels = children(child);
                values.extend(labels.iter().map(|n| expr(cx, *n)));
                continue;
            }
            falls = !is_rule
                && !matches!(
                    child.kind(),
                    "break_statement"
                        | "return_statement"
                        | "throw_statement"
                        | "continue_statement"
                        | "yield_statement"
                );
            if child.kind() != "break_statement" {
                cx.deeper(|cx| statement(cx, child, &mut body));
            }
        }
        cases.push(MatchArm {
            values,
            body,
            falls,
        });
    }
    chain(cx, &subject, cases, node)
}
