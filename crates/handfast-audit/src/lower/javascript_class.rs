//! Classes: fields, constructors, methods, getters.

use std::sync::Arc;

use tree_sitter::Node;

use super::super::{Cx, all_children, children, field};
use super::expression::{expr, property_name};
use super::function;
use crate::ir::{Class, ExprKind, Stmt, StmtKind, Sym};

pub(super) fn class(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
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

pub(super) fn field_statements(
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
pub(super) fn parameter_properties(cx: &mut Cx<'_>, method: Node<'_>) -> Vec<Stmt> {
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
