//! What is declared: variables, functions, classes and their members.

use std::sync::Arc;

use tree_sitter::Node;

use super::super::{Cx, children, field};
use super::expression::{self, dots, expr};
use super::{body, declared};
use crate::ir::{Class, ExprKind, Param, Stmt, StmtKind, Sym};

pub(super) fn declaration(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let ty = field(node, "type");
    if let Some(ty) = ty.filter(|n| matches!(n.kind(), "struct_specifier" | "class_specifier")) {
        class(cx, ty, out);
    }
    let type_name = ty.map_or(String::new(), |n| dots(cx.s(n)));
    let mut cursor = node.walk();
    let declarators: Vec<_> = node
        .children_by_field_name("declarator", &mut cursor)
        .collect();
    for declarator in declarators {
        let (name, arguments) = declared(cx, declarator);
        let target = cx.name(&name, declarator);
        let value = if declarator.kind() == "init_declarator" {
            let Some(value) = field(declarator, "value") else {
                continue;
            };
            match value.kind() {
                // `std::ofstream out(path);`, `Store s{root};`
                "argument_list" => expression::construct(cx, &type_name, value, declarator),
                "initializer_list"
                    if ty.is_some_and(|n| n.kind() != "primitive_type")
                        && !type_name.is_empty() =>
                {
                    expression::construct(cx, &type_name, value, declarator)
                }
                _ => {
                    let value = expr(cx, value);
                    cx.expr(
                        ExprKind::Cast(Box::new(value), Arc::from(type_name.as_str())),
                        declarator,
                    )
                }
            }
        } else if let (Some(arguments), true) = (arguments, cx.open.len() > 1) {
            // The most vexing parse: inside a function it is an object far more often.
            expression::construct(cx, &type_name, arguments, declarator)
        } else if cx.open.len() > 1
            && (type_name.contains('.') || cx.module.classes.iter().any(|c| *c.name == *type_name))
            && declarator.kind() == "identifier"
        {
            let callee = Box::new(cx.name(&type_name, declarator));
            cx.expr(
                ExprKind::Call {
                    callee,
                    args: Vec::new(),
                    is_new: true,
                },
                declarator,
            )
        } else {
            if arguments.is_none() {
                cx.declare(&name);
            }
            continue;
        };
        let kind = StmtKind::Assign { target, value };
        out.push(cx.stmt(kind, node));
    }
}

pub(super) fn function_definition(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let Some(declarator) = field(node, "declarator") else {
        return;
    };
    let (name, parameters) = declared(cx, declarator);
    let (class, name) = match name.rsplit_once('.') {
        Some((class, name)) => {
            let class = class.rsplit('.').next().unwrap_or(class);
            (Some(Arc::from(class)), Arc::from(name))
        }
        None => (cx.class.clone(), name),
    };
    let is_method = class.is_some();
    let is_ctor = class.as_ref().is_some_and(|class: &Sym| *class == name);
    let saved = std::mem::replace(&mut cx.class, class);
    let index = cx.begin(name.clone(), node);
    cx.class = None;
    let mut params = Vec::new();
    for one in parameters.map(children).unwrap_or_default() {
        if !one.kind().ends_with("parameter_declaration") {
            continue;
        }
        let ty = field(one, "type").map(|n| cx.sym(n));
        let name = field(one, "declarator").map(|n| declared(cx, n).0);
        params.push(Param {
            name: name.unwrap_or_else(|| cx.fresh()),
            ty,
            pattern: None,
        });
    }
    let mut statements = Vec::new();
    for list in children(node)
        .into_iter()
        .filter(|n| n.kind() == "field_initializer_list")
    {
        initializers(cx, list, &mut statements);
    }
    statements.extend(body(cx, field(node, "body")));
    cx.class = saved;
    let is_static = cx.s(node).starts_with("static ");
    let is_test =
        matches!(&*name, "TEST" | "TEST_F" | "TEST_P" | "TEST_CASE") || name.starts_with("test_");
    let function = cx.end(index);
    function.params = params;
    function.receiver = is_method.then(|| Arc::from("this"));
    function.body = statements;
    function.is_ctor = is_ctor;
    function.is_public = !is_static;
    function.is_test = is_test;
    if !is_method {
        out.push(cx.stmt(
            StmtKind::Bind {
                name,
                function: index,
            },
            node,
        ));
    }
}

/// `Store(path root) : root_(std::move(root))`.
pub(super) fn initializers(cx: &mut Cx<'_>, list: Node<'_>, out: &mut Vec<Stmt>) {
    for one in children(list) {
        let parts = children(one);
        let [name, value, ..] = parts.as_slice() else {
            continue;
        };
        let Some(value) = children(*value).first().copied() else {
            continue;
        };
        let this = Box::new(cx.name("this", *name));
        let target = cx.expr(ExprKind::Field(this, cx.sym(*name)), *name);
        let value = expr(cx, value);
        out.push(cx.stmt(StmtKind::Assign { target, value }, one));
    }
}

pub(super) fn class(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let Some(name) = field(node, "name") else {
        return;
    };
    let Some(inner) = field(node, "body") else {
        return;
    };
    let name = cx.sym(name);
    let mut fields = Vec::new();
    for member in children(inner) {
        if member.kind() == "field_declaration"
            && let Some(declarator) = field(member, "declarator")
        {
            let ty = field(member, "type").map_or(Arc::from(""), |n| cx.sym(n));
            fields.push((declared(cx, declarator).0, ty));
        }
    }
    cx.module.classes.push(Class {
        name: name.clone(),
        bases: Vec::new(),
        fields,
    });
    let saved = cx.class.replace(name);
    for member in children(inner) {
        if member.kind() == "function_definition" {
            cx.deeper(|cx| function_definition(cx, member, out));
        }
    }
    cx.class = saved;
}
