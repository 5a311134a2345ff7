//! JavaScript and TypeScript: statements, functions, classes, modules.

#[path = "javascript_expr.rs"]
mod expression;

use std::sync::Arc;

use tree_sitter::Node;

use self::expression::{boxed, expr, pattern, property_name};
use super::{Cx, all_children, children, field};
use crate::ir::{Class, Expr, ExprKind, Handler, Op, Param, Stmt, StmtKind, Sym};

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
        "try_statement" => {
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

fn expression_statement(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    match node.kind() {
        "assignment_expression" => {
            let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else {
                return;
            };
            let target = pattern(cx, left);
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
    let index = function(cx, node, Arc::from(name));
    if is_exports {
        cx.module.functions[index].is_public = true;
    }
    Some(cx.expr(ExprKind::Lambda(index), node))
}

/// `const fs = require("fs")`, `const { join } = require("path")`.
fn require(cx: &mut Cx<'_>, name: Node<'_>, value: Node<'_>) -> bool {
    let (value, member) = match value.kind() {
        "member_expression" => {
            let Some(object) = field(value, "object") else {
                return false;
            };
            (object, field(value, "property").map(|n| cx.s(n)))
        }
        _ => (value, None),
    };
    let Some(mut source) = required(cx, value) else {
        return false;
    };
    if let Some(member) = member {
        source = format!("{source}.{member}");
    }
    bind_import(cx, name, &source);
    true
}

/// The module that `require("fs")` names.
fn required(cx: &Cx<'_>, value: Node<'_>) -> Option<String> {
    let function = field(value, "function").map(|n| cx.s(n));
    if value.kind() != "call_expression" || function != Some("require") {
        return None;
    }
    let argument = field(value, "arguments").and_then(|n| children(n).first().copied());
    let argument = argument.filter(|n| n.kind() == "string")?;
    Some(clean_source(cx.s(argument)))
}

fn bind_import(cx: &mut Cx<'_>, name: Node<'_>, source: &str) {
    if name.kind() != "object_pattern" {
        cx.module.imports.push((cx.sym(name), Arc::from(source)));
        return;
    }
    for part in children(name) {
        let (key, local) = match part.kind() {
            "pair_pattern" => (field(part, "key"), field(part, "value")),
            _ => (Some(part), Some(part)),
        };
        if let (Some(key), Some(local)) = (key, local) {
            let target = format!("{source}.{}", cx.s(key));
            cx.module
                .imports
                .push((cx.sym(local), Arc::from(target.as_str())));
        }
    }
}

/// `node:fs` is `fs`; the promise form has the same names.
fn clean_source(text: &str) -> String {
    let text = text.trim_matches(['"', '\'', '`']);
    let text = text.strip_prefix("node:").unwrap_or(text);
    match text {
        "fs/promises" | "graceful-fs" | "mz/fs" => "fs".to_owned(),
        "path/posix" | "path/win32" => "path".to_owned(),
        other => other.to_owned(),
    }
}

fn import(cx: &mut Cx<'_>, node: Node<'_>) {
    let Some(source) = field(node, "source") else {
        return;
    };
    let source = clean_source(cx.s(source));
    for clause in children(node) {
        if clause.kind() != "import_clause" {
            continue;
        }
        for part in children(clause) {
            match part.kind() {
                "identifier" => cx
                    .module
                    .imports
                    .push((cx.sym(part), Arc::from(source.as_str()))),
                "namespace_import" => {
                    if let Some(name) = children(part).first() {
                        cx.module
                            .imports
                            .push((cx.sym(*name), Arc::from(source.as_str())));
                    }
                }
                "named_imports" => {
                    for one in children(part) {
                        let Some(name) = field(one, "name") else {
                            continue;
                        };
                        let local = field(one, "alias").unwrap_or(name);
                        let target = format!("{source}.{}", cx.s(name));
                        cx.module
                            .imports
                            .push((cx.sym(local), Arc::from(target.as_str())));
                    }
                }
                _ => {}
            }
        }
    }
}

fn export(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    if let Some(inner) = field(node, "declaration") {
        statement(cx, inner, out);
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
            for one in children(clause) {
                let Some(name) = field(one, "name") else {
                    continue;
                };
                let local = field(one, "alias").unwrap_or(name);
                let target = format!("{source}.{}", cx.s(name));
                cx.module
                    .imports
                    .push((cx.sym(local), Arc::from(target.as_str())));
            }
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

fn class(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let name = field(node, "name").map_or(Arc::from("<class>"), |n| cx.sym(n));
    let bases = children(node)
        .into_iter()
        .filter(|n| n.kind() == "class_heritage")
        .map(|n| Arc::from(cx.s(n).trim_start_matches("extends ")))
        .collect();
    let members = field(node, "body").map(children).unwrap_or_default();
    let mut fields = Vec::new();
    let mut initial = Vec::new();
    for member in &members {
        if matches!(
            member.kind(),
            "public_field_definition" | "field_definition"
        ) {
            let key = field(*member, "name").or_else(|| field(*member, "property"));
            let Some(key) = key else { continue };
            let ty = field(*member, "type").map_or(Arc::from(""), |n| cx.sym(n));
            fields.push((cx.sym(key), ty));
            initial.push((key, field(*member, "value"), *member));
        }
    }
    cx.module.classes.push(Class {
        name: name.clone(),
        bases,
        fields,
    });
    let saved = cx.class.replace(name.clone());
    let is_public = cx.open.len() == 1;
    let mut has_ctor = false;
    for member in &members {
        if member.kind() != "method_definition" {
            continue;
        }
        let Some(key) = field(*member, "name") else {
            continue;
        };
        let method: Sym = Arc::from(property_name(cx, key).as_str());
        let is_ctor = &*method == "constructor";
        let index = function(cx, *member, method.clone());
        let mut prologue = Vec::new();
        if is_ctor {
            has_ctor = true;
            prologue = field_statements(cx, &initial);
            prologue.extend(parameter_properties(cx, *member));
        }
        let text = cx.s(*member);
        let private =
            text.starts_with("private") || text.starts_with("protected") || method.starts_with('#');
        let is_static = all_children(*member).iter().any(|n| n.kind() == "static");
        let is_getter = all_children(*member).iter().any(|n| n.kind() == "get");
        let property = is_getter.then(|| cx.name("property", *member));
        let function = &mut cx.module.functions[index];
        function.decorators.extend(property);
        prologue.append(&mut function.body);
        function.body = prologue;
        function.is_ctor = is_ctor;
        function.is_public = is_public && !private;
        function.receiver = (!is_static).then(|| Arc::from("this"));
    }
    if !has_ctor && !initial.is_empty() {
        let index = cx.begin(Arc::from("constructor"), node);
        let statements = field_statements(cx, &initial);
        let function = cx.end(index);
        function.body = statements;
        function.is_ctor = true;
        function.receiver = Some(Arc::from("this"));
    }
    cx.class = saved;
    let _ = out;
}

fn field_statements(
    cx: &mut Cx<'_>,
    fields: &[(Node<'_>, Option<Node<'_>>, Node<'_>)],
) -> Vec<Stmt> {
    let mut out = Vec::new();
    for (key, value, node) in fields {
        let Some(value) = value else { continue };
        let this = Box::new(cx.name("this", *key));
        let target = cx.expr(ExprKind::Field(this, cx.sym(*key)), *key);
        let value = expr(cx, *value);
        out.push(cx.stmt(StmtKind::Assign { target, value }, *node));
    }
    out
}

/// `constructor(private readonly root: string)` assigns `this.root`.
fn parameter_properties(cx: &mut Cx<'_>, method: Node<'_>) -> Vec<Stmt> {
    let mut out = Vec::new();
    for param in field(method, "parameters")
        .map(children)
        .unwrap_or_default()
    {
        let has = all_children(param)
            .iter()
            .any(|n| matches!(n.kind(), "accessibility_modifier" | "readonly"));
        let Some(name) = field(param, "pattern").filter(|_| has) else {
            continue;
        };
        let this = Box::new(cx.name("this", name));
        let target = cx.expr(ExprKind::Field(this, cx.sym(name)), name);
        let value = cx.expr(ExprKind::Name(cx.sym(name)), name);
        out.push(cx.stmt(StmtKind::Assign { target, value }, param));
    }
    out
}

fn switch(cx: &mut Cx<'_>, node: Node<'_>) -> StmtKind {
    let subject = *boxed(cx, field(node, "value"), node);
    let mut chain: Vec<Stmt> = Vec::new();
    let cases = field(node, "body").map(children).unwrap_or_default();
    for case in cases.into_iter().rev() {
        let mut inner = Vec::new();
        let value = field(case, "value");
        for child in children(case) {
            if Some(child) != value && child.kind() != "break_statement" {
                cx.deeper(|cx| statement(cx, child, &mut inner));
            }
        }
        let Some(value) = value else {
            chain = inner;
            continue;
        };
        let value = Box::new(expr(cx, value));
        let cond = ExprKind::Binary(Op::Eq, Box::new(subject.clone()), value);
        let cond = cx.expr(cond, case);
        let kind = StmtKind::If {
            cond,
            then: inner,
            otherwise: std::mem::take(&mut chain),
        };
        chain = vec![cx.stmt(kind, case)];
    }
    StmtKind::Block(chain)
}
