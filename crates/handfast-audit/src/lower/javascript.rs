//! JavaScript and TypeScript: statements, functions, classes, modules.

#[path = "javascript_class.rs"]
mod classes;
#[path = "javascript_expr.rs"]
mod expression;
#[path = "javascript_import.rs"]
mod imports;

use std::sync::Arc;

use tree_sitter::Node;

use self::classes::class;
use self::expression::{boxed, expr, pattern};
use self::imports::{bind_named, clean_source, import, require, required};
use super::cases::{MatchArm, chain};
use super::{Cx, children, field};
use crate::ir::{Expr, ExprKind, Handler, Param, Stmt, StmtKind, Sym};

pub(super) fn module(cx: &mut Cx<'_>, root: Node<'_>) {
    let top = cx.begin(Arc::from("<module>"), root);
    let body = block(cx, root);
    cx.end(top).body = body;
    cx.module.top = top;
}

fn block(cx: &mut Cx<'_>, node: Node<'_>) -> Vec<Stmt> {
    let mut out = Vec::new();
    for child in children(node) {
        cx.deeper(|cx| statement(cx, child, &mut out));
    }
    out
}

/// A body that may be one statement without braces.
fn body(cx: &mut Cx<'_>, node: Option<Node<'_>>) -> Vec<Stmt> {
    let Some(node) = node else { return Vec::new() };
    if node.kind() == "statement_block" {
        return block(cx, node);
    }
    let mut out = Vec::new();
    cx.deeper(|cx| statement(cx, node, &mut out));
    out
}

fn statement(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let kind = match node.kind() {
        "expression_statement" => {
            let Some(inner) = children(node).first().copied() else {
                return;
            };
            expression_statement(cx, inner, out);
            return;
        }
        "lexical_declaration" | "variable_declaration" => {
            for child in children(node) {
                if child.kind() == "variable_declarator" {
                    declarator(cx, child, out);
                }
            }
            return;
        }
        "return_statement" => StmtKind::Return(children(node).first().map(|n| expr(cx, *n))),
        "throw_statement" => StmtKind::Throw(children(node).first().map(|n| expr(cx, *n))),
        "break_statement" => StmtKind::Break,
        "continue_statement" => StmtKind::Continue,
        "if_statement" => {
            let cond = *boxed(cx, field(node, "condition"), node);
            let then = body(cx, field(node, "consequence"));
            let otherwise = field(node, "alternative");
            let otherwise = otherwise.and_then(|n| children(n).first().copied());
            StmtKind::If {
                cond,
                then,
                otherwise: body(cx, otherwise),
            }
        }
        "for_statement" => {
            if let Some(init) = field(node, "initializer") {
                statement(cx, init, out);
            }
            let cond = field(node, "condition").map(|n| expr(cx, n));
            let mut step = Vec::new();
            if let Some(increment) = field(node, "increment") {
                expression_statement(cx, increment, &mut step);
            }
            StmtKind::While {
                cond,
                step,
                body: body(cx, field(node, "body")),
                body_first: false,
            }
        }
        "for_in_statement" => {
            let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else {
                return;
            };
            let is_pair = cx.s(right).ends_with(".entries()");
            StmtKind::ForEach {
                target: pattern(cx, left),
                iter: expr(cx, right),
                body: body(cx, field(node, "body")),
                is_pair,
            }
        }
        "while_statement" | "do_statement" => {
            let cond = field(node, "condition").map(|n| expr(cx, n));
            StmtKind::While {
                cond: cond.filter(|c| !matches!(c.kind, ExprKind::Bool(true))),
                step: Vec::new(),
                body: body(cx, field(node, "body")),
                body_first: node.kind() == "do_statement",
            }
        }
        "try_statement" => attempt(cx, node),
        "switch_statement" => switch(cx, node),
        "statement_block" => StmtKind::Block(block(cx, node)),
        "function_declaration" | "generator_function_declaration" => {
            let is_public = is_exported(cx, node);
            let Some(name) = field(node, "name").map(|n| cx.sym(n)) else {
                return;
            };
            let index = function(cx, node, name.clone());
            cx.module.functions[index].is_public = is_public;
            StmtKind::Bind {
                name,
                function: index,
            }
        }
        "class_declaration" | "abstract_class_declaration" | "class" => {
            class(cx, node, out);
            return;
        }
        "export_statement" => {
            export(cx, node, out);
            return;
        }
        "import_statement" => {
            import(cx, node);
            return;
        }
        "labeled_statement" | "ERROR" | "internal_module" | "module" => {
            StmtKind::Block(block(cx, node))
        }
        "interface_declaration"
        | "type_alias_declaration"
        | "empty_statement"
        | "function_signature"
        | "ambient_declaration" => return,
        _ => StmtKind::Expr(expr(cx, node)),
    };
    out.push(cx.stmt(kind, node));
}

fn attempt(cx: &mut Cx<'_>, node: Node<'_>) -> StmtKind {
    let statements = body(cx, field(node, "body"));
    let mut handlers = Vec::new();
    if let Some(catch) = field(node, "handler") {
        let name = field(catch, "parameter").map(|n| cx.sym(n));
        let inner = body(cx, field(catch, "body"));
        let span = cx.span(catch);
        handlers.push(Handler {
            types: Vec::new(),
            name,
            body: inner,
            span,
        });
    }
    let finally = field(node, "finalizer").and_then(|n| field(n, "body"));
    StmtKind::Try {
        body: statements,
        handlers,
        finally: body(cx, finally),
    }
}

fn expression_statement(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    match node.kind() {
        "assignment_expression" => {
            let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else {
                return;
            };
            let target = pattern(cx, left);
            if cx.s(left) == "module.exports" && right.kind() == "identifier" {
                let name = cx.s(right);
                let found = cx
                    .module
                    .functions
                    .iter()
                    .position(|function| *function.name == *name && function.class.is_none());
                cx.module.default = found.or(cx.module.default);
            }
            let value = named_function(cx, right, cx.s(left));
            let value = value.unwrap_or_else(|| expr(cx, right));
            out.push(cx.stmt(StmtKind::Assign { target, value }, node));
        }
        "augmented_assignment_expression" => {
            let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else {
                return;
            };
            let op = field(node, "operator").map_or("", |n| cx.s(n));
            let target = expr(cx, left);
            let old = Box::new(expr(cx, left));
            let add = Box::new(expr(cx, right));
            let op = expression::binary(op.trim_end_matches('='));
            let value = cx.expr(ExprKind::Binary(op, old, add), node);
            out.push(cx.stmt(StmtKind::Assign { target, value }, node));
        }
        _ => {
            let value = expr(cx, node);
            out.push(cx.stmt(StmtKind::Expr(value), node));
        }
    }
}

fn declarator(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let Some(name) = field(node, "name") else {
        return;
    };
    let Some(value) = field(node, "value") else {
        cx.declare(cx.s(name));
        return;
    };
    if require(cx, name, value) {
        return;
    }
    let target = pattern(cx, name);
    let lowered = named_function(cx, value, cx.s(name));
    if let (
        Some(Expr {
            kind: ExprKind::Lambda(index),
            ..
        }),
        1,
    ) = (&lowered, cx.open.len())
    {
        cx.module.functions[*index].is_public = is_exported(cx, node);
    }
    let value = lowered.unwrap_or_else(|| expr(cx, value));
    out.push(cx.stmt(StmtKind::Assign { target, value }, node));
}

/// A function that is given a name by assignment takes it.
fn named_function(cx: &mut Cx<'_>, node: Node<'_>, name: &str) -> Option<Expr> {
    if !matches!(
        node.kind(),
        "arrow_function" | "function_expression" | "function"
    ) {
        return None;
    }
    let is_exports = name.starts_with("exports.") || name.starts_with("module.exports");
    let name = name.rsplit('.').next().unwrap_or(name);
    let is_whole = cx.open.len() == 1 && matches!(name, "exports" | "default");
    let index = function(cx, node, Arc::from(name));
    if is_exports {
        cx.module.functions[index].is_public = true;
    }
    if is_whole && (is_exports || name == "default") {
        cx.module.default = Some(index);
    }
    Some(cx.expr(ExprKind::Lambda(index), node))
}

fn export(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    if let Some(inner) = field(node, "declaration") {
        let next = cx.module.functions.len();
        statement(cx, inner, out);
        let is_default = cx.s(node).starts_with("export default");
        if is_default && inner.kind().contains("function") && cx.module.functions.len() > next {
            cx.module.default = Some(next);
        }
    } else if let Some(value) = field(node, "value") {
        let lowered = named_function(cx, value, "default");
        let value = lowered.unwrap_or_else(|| expr(cx, value));
        if let ExprKind::Lambda(index) = value.kind {
            cx.module.functions[index].is_public = true;
        }
        out.push(cx.stmt(StmtKind::Expr(value), node));
    } else if let Some(source) = field(node, "source") {
        // `export { a } from "./b"`: a name here that stands for one there.
        let source = clean_source(cx.s(source));
        for clause in children(node)
            .into_iter()
            .filter(|n| n.kind() == "export_clause")
        {
            bind_named(cx, clause, &source);
        }
        if children(node).iter().all(|n| n.kind() != "export_clause") {
            cx.module
                .imports
                .push((Arc::from("*"), Arc::from(source.as_str())));
        }
    }
}

/// Exported by statement, by `exports`, or nothing at all is exported.
fn is_exported(cx: &Cx<'_>, node: Node<'_>) -> bool {
    if cx.open.len() != 1 {
        return false;
    }
    let mut up = node.parent();
    while let Some(parent) = up {
        if parent.kind() == "export_statement" {
            return true;
        }
        up = parent.parent();
    }
    let Some(name) = field(node, "name").map(|n| cx.s(n)) else {
        return false;
    };
    let Some(at) = cx.text.find("exports").or_else(|| cx.text.find("export ")) else {
        return true;
    };
    let rest = &cx.text[at..];
    let in_list =
        rest.find('{').is_some() && (rest.starts_with("exports") || rest.contains("export {"));
    in_list && rest.contains(name)
}

pub(super) fn function(cx: &mut Cx<'_>, node: Node<'_>, name: Sym) -> usize {
    let index = cx.begin(name, node);
    let params = parameters(cx, node);
    let inner = field(node, "body");
    let statements = match inner {
        Some(inner) if inner.kind() == "statement_block" => block(cx, inner),
        Some(inner) => {
            let value = expr(cx, inner);
            vec![cx.stmt(StmtKind::Return(Some(value)), inner)]
        }
        None => Vec::new(),
    };
    let function = cx.end(index);
    function.params = params;
    function.body = statements;
    index
}

fn parameters(cx: &mut Cx<'_>, node: Node<'_>) -> Vec<Param> {
    if let Some(one) = field(node, "parameter") {
        return vec![Param {
            name: cx.sym(one),
            ty: None,
            pattern: None,
        }];
    }
    let mut out = Vec::new();
    for child in field(node, "parameters").map(children).unwrap_or_default() {
        let ty = field(child, "type").map(|n| Arc::from(cx.s(n).trim_start_matches([':', ' '])));
        let mut inner = match child.kind() {
            "required_parameter" | "optional_parameter" => field(child, "pattern"),
            "identifier" | "object_pattern" | "array_pattern" | "assignment_pattern"
            | "rest_pattern" => Some(child),
            _ => None,
        };
        if let Some(node) = inner.filter(|n| n.kind() == "assignment_pattern") {
            inner = field(node, "left");
        }
        if let Some(node) = inner.filter(|n| n.kind() == "rest_pattern") {
            inner = children(node).first().copied();
        }
        let Some(inner) = inner else { continue };
        if inner.kind() == "identifier" {
            out.push(Param {
                name: cx.sym(inner),
                ty,
                pattern: None,
            });
        } else {
            let name = cx.fresh();
            let pattern = Some(Box::new(pattern(cx, inner)));
            out.push(Param { name, ty, pattern });
        }
    }
    out
}

fn switch(cx: &mut Cx<'_>, node: Node<'_>) -> StmtKind {
    let subject = *boxed(cx, field(node, "value"), node);
    let mut cases = Vec::new();
    for case in field(node, "body").map(children).unwrap_or_default() {
        let value = field(case, "value");
        let mut body = Vec::new();
        let mut falls = true;
        for child in children(case) {
            falls = !matches!(
                child.kind(),
                "break_statement" | "return_statement" | "throw_statement" | "continue_statement"
            );
            if Some(child) != value && child.kind() != "break_statement" {
                cx.deeper(|cx| statement(cx, child, &mut body));
            }
        }
        cases.push(MatchArm {
            values: value.map(|value| expr(cx, value)).into_iter().collect(),
            body,
            falls,
        });
    }
    chain(cx, &subject, cases, node)
}
