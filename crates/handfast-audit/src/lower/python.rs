//! Python: statements, functions, classes, modules.

#[path = "python_expr.rs"]
mod expression;

use std::sync::Arc;

use tree_sitter::Node;

use super::cases::{MatchArm, chain};
use super::{Cx, children, field};
use crate::ir::{Arg, Class, Expr, ExprKind, Handler, Param, Stmt, StmtKind, Sym};

use self::expression::{binary, expr};

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

fn body(cx: &mut Cx<'_>, node: Option<Node<'_>>) -> Vec<Stmt> {
    node.map(|node| block(cx, node)).unwrap_or_default()
}

fn statement(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let kind = match node.kind() {
        "expression_statement" => {
            for child in children(node) {
                assignment_or_expression(cx, child, out);
            }
            return;
        }
        "return_statement" => StmtKind::Return(children(node).first().map(|n| expr(cx, *n))),
        "raise_statement" => StmtKind::Throw(children(node).first().map(|n| expr(cx, *n))),
        "break_statement" => StmtKind::Break,
        "continue_statement" => StmtKind::Continue,
        // An assert vanishes under -O; people rely on it nevertheless.
        "assert_statement" => {
            let parts: Vec<Expr> = children(node).iter().map(|n| expr(cx, *n)).collect();
            let given = parts.into_iter().map(|value| Arg { name: None, value });
            let callee = Box::new(cx.name("%assert", node));
            let args = given.collect();
            StmtKind::Expr(cx.expr(
                ExprKind::Call {
                    callee,
                    args,
                    is_new: false,
                },
                node,
            ))
        }
        "if_statement" => {
            let alternatives: Vec<_> = children(node)
                .into_iter()
                .filter(|n| matches!(n.kind(), "elif_clause" | "else_clause"))
                .collect();
            if_chain(cx, node, &alternatives)
        }
        "while_statement" => {
            let cond = field(node, "condition").map(|n| expr(cx, n));
            let cond = cond.filter(|c| !matches!(c.kind, ExprKind::Bool(true)));
            StmtKind::While {
                cond,
                step: Vec::new(),
                body: body(cx, field(node, "body")),
                body_first: false,
            }
        }
        "for_statement" => {
            let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else {
                return;
            };
            let is_pair = is_enumerate(cx, right);
            StmtKind::ForEach {
                target: expr(cx, left),
                iter: expr(cx, right),
                body: body(cx, field(node, "body")),
                is_pair,
            }
        }
        "try_statement" => try_statement(cx, node),
        "with_statement" => with_statement(cx, node),
        "function_definition" => {
            function(cx, node, Vec::new(), out);
            return;
        }
        "class_definition" => {
            class(cx, node, out);
            return;
        }
        "decorated_definition" => {
            let decorators: Vec<Expr> = children(node)
                .iter()
                .filter(|n| n.kind() == "decorator")
                .filter_map(|n| children(*n).first().map(|inner| expr(cx, *inner)))
                .collect();
            match field(node, "definition") {
                Some(inner) if inner.kind() == "function_definition" => {
                    function(cx, inner, decorators, out);
                }
                Some(inner) => class(cx, inner, out),
                None => {}
            }
            return;
        }
        "import_statement" | "import_from_statement" => {
            import(cx, node);
            return;
        }
        "match_statement" => {
            let subject = field(node, "subject").map(|n| expr(cx, n));
            let subject = subject.unwrap_or_else(|| cx.opaque(node));
            let mut cases = Vec::new();
            for case in body_children(node) {
                let patterns = children(case);
                let patterns = patterns.iter().filter(|n| n.kind() == "case_pattern");
                let is_rest = patterns.clone().any(|n| cx.s(*n).trim() == "_");
                let values = patterns.map(|n| pattern_values(cx, *n)).collect::<Vec<_>>();
                let values = values.into_iter().flatten().collect();
                cases.push(MatchArm {
                    values: if is_rest { Vec::new() } else { values },
                    body: body(cx, field(case, "consequence")),
                    falls: false,
                });
            }
            chain(cx, &subject, cases, node)
        }
        "delete_statement" | "pass_statement" | "global_statement" | "nonlocal_statement" => return,
        "ERROR" | "block" => StmtKind::Block(block(cx, node)),
        _ => StmtKind::Expr(expr(cx, node)),
    };
    out.push(cx.stmt(kind, node));
}

/// The values of a pattern; what is more than a value is opaque.
fn pattern_values(cx: &mut Cx<'_>, node: Node<'_>) -> Vec<Expr> {
    let Some(inner) = children(node).first().copied() else {
        return vec![cx.opaque(node)];
    };
    match inner.kind() {
        "union_pattern" => children(inner).iter().map(|n| expr(cx, *n)).collect(),
        "string" | "integer" | "dotted_name" | "concatenated_string" | "true" | "false" => {
            vec![expr(cx, inner)]
        }
        _ => vec![cx.opaque(node)],
    }
}

fn body_children(node: Node<'_>) -> Vec<Node<'_>> {
    let inner = field(node, "body").unwrap_or(node);
    let mut found = children(inner);
    found.retain(|n| n.kind() == "case_clause");
    found
}

fn is_enumerate(cx: &Cx<'_>, node: Node<'_>) -> bool {
    let text = cx.s(node);
    text.starts_with("enumerate(") || text.ends_with(".items()")
}

fn assignment_or_expression(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    match node.kind() {
        "assignment" => {
            let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else {
                return;
            };
            if right.kind() == "assignment" {
                assignment_or_expression(cx, right, out);
                let inner = field(right, "left").map(|n| expr(cx, n));
                if let Some(value) = inner {
                    let target = expr(cx, left);
                    let kind = StmtKind::Assign { target, value };
                    out.push(cx.stmt(kind, node));
                }
                return;
            }
            let target = expr(cx, left);
            let value = expr(cx, right);
            let kind = StmtKind::Assign { target, value };
            out.push(cx.stmt(kind, node));
        }
        "augmented_assignment" => {
            let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else {
                return;
            };
            let op = field(node, "operator").map_or("", |n| cx.s(n));
            let target = expr(cx, left);
            let old = expr(cx, left);
            let add = expr(cx, right);
            let op = binary(op.trim_end_matches('='));
            let value = cx.expr(ExprKind::Binary(op, Box::new(old), Box::new(add)), node);
            let kind = StmtKind::Assign { target, value };
            out.push(cx.stmt(kind, node));
        }
        _ => {
            let value = expr(cx, node);
            out.push(cx.stmt(StmtKind::Expr(value), node));
        }
    }
}

fn if_chain(cx: &mut Cx<'_>, node: Node<'_>, rest: &[Node<'_>]) -> StmtKind {
    let cond = match field(node, "condition") {
        Some(cond) => expr(cx, cond),
        None => cx.opaque(node),
    };
    let then = body(cx, field(node, "consequence"));
    let otherwise = match rest.split_first() {
        None => Vec::new(),
        Some((first, _)) if first.kind() == "else_clause" => body(cx, field(*first, "body")),
        Some((first, rest)) => {
            // A long chain of `elif` nests.
            let kind = cx.deeper(|cx| if_chain(cx, *first, rest));
            kind.map(|kind| vec![cx.stmt(kind, *first)])
                .unwrap_or_default()
        }
    };
    StmtKind::If {
        cond,
        then,
        otherwise,
    }
}

fn try_statement(cx: &mut Cx<'_>, node: Node<'_>) -> StmtKind {
    let mut statements = body(cx, field(node, "body"));
    let mut handlers = Vec::new();
    let mut finally = Vec::new();
    for clause in children(node) {
        match clause.kind() {
            "except_clause" | "except_group_clause" => handlers.push(handler(cx, clause)),
            "finally_clause" => {
                for inner in children(clause) {
                    finally.extend(block(cx, inner));
                }
            }
            // What follows without an exception; an exception there is not caught, which is
            // close enough to the end of the body.
            "else_clause" => statements.extend(body(cx, field(clause, "body"))),
            _ => {}
        }
    }
    StmtKind::Try {
        body: statements,
        handlers,
        finally,
    }
}

fn handler(cx: &mut Cx<'_>, node: Node<'_>) -> Handler {
    let mut types = Vec::new();
    let mut name = None;
    let mut statements = Vec::new();
    for child in children(node) {
        match child.kind() {
            "block" => statements = block(cx, child),
            "as_pattern" => {
                let parts = children(child);
                if let Some(first) = parts.first() {
                    collect_types(cx, *first, &mut types);
                }
                if let Some(alias) = parts.get(1) {
                    name = Some(cx.sym(*alias));
                }
            }
            _ if field(node, "alias") == Some(child) => name = Some(cx.sym(child)),
            _ => collect_types(cx, child, &mut types),
        }
    }
    let span = cx.span(node);
    Handler {
        types,
        name,
        body: statements,
        span,
    }
}

fn collect_types(cx: &Cx<'_>, node: Node<'_>, out: &mut Vec<Sym>) {
    if node.kind() == "tuple" {
        for child in children(node) {
            out.push(cx.sym(child));
        }
    } else {
        out.push(cx.sym(node));
    }
}

fn with_statement(cx: &mut Cx<'_>, node: Node<'_>) -> StmtKind {
    let mut items = Vec::new();
    for clause in children(node) {
        if clause.kind() != "with_clause" {
            continue;
        }
        for item in children(clause) {
            let value = field(item, "value").unwrap_or(item);
            if value.kind() == "as_pattern" {
                let parts = children(value);
                let Some(first) = parts.first() else { continue };
                let target = parts.get(1).map(|alias| {
                    let inner = children(*alias).first().copied().unwrap_or(*alias);
                    expr(cx, inner)
                });
                items.push((expr(cx, *first), target));
            } else {
                items.push((expr(cx, value), None));
            }
        }
    }
    StmtKind::With {
        items,
        body: body(cx, field(node, "body")),
    }
}

fn function(cx: &mut Cx<'_>, node: Node<'_>, decorators: Vec<Expr>, out: &mut Vec<Stmt>) {
    let Some(name) = field(node, "name") else {
        return;
    };
    let name = cx.sym(name);
    let in_class = cx.class.is_some() && cx.open.len() == 1;
    let class = if in_class { cx.class.clone() } else { None };
    let saved = std::mem::replace(&mut cx.class, class);
    let index = cx.begin(name.clone(), node);
    let mut params = parameters(cx, field(node, "parameters"));
    let is_static = decorators
        .iter()
        .any(|d| d.dotted().as_deref() == Some("staticmethod"));
    let receiver = if in_class && !is_static && !params.is_empty() {
        Some(params.remove(0).name)
    } else {
        None
    };
    cx.class = None;
    let statements = body(cx, field(node, "body"));
    cx.class = saved;
    let depth = cx.open.len();
    let function = cx.end(index);
    function.params = params;
    function.receiver = receiver;
    function.body = statements;
    function.is_ctor = in_class && matches!(&*name, "__init__" | "__post_init__" | "__new__");
    function.is_public = depth == 2 && (!name.starts_with('_') || function.is_ctor);
    function.is_test = name.starts_with("test_") || name.starts_with("test");
    function.decorators = decorators;
    if !in_class {
        out.push(cx.stmt(
            StmtKind::Bind {
                name,
                function: index,
            },
            node,
        ));
    }
}

fn parameters(cx: &mut Cx<'_>, node: Option<Node<'_>>) -> Vec<Param> {
    let mut out = Vec::new();
    for child in node.map(children).unwrap_or_default() {
        let (name, ty) = match child.kind() {
            "identifier" => (Some(child), None),
            "default_parameter" => (field(child, "name"), None),
            "typed_default_parameter" => (field(child, "name"), field(child, "type")),
            "typed_parameter" => (children(child).first().copied(), field(child, "type")),
            "list_splat_pattern" | "dictionary_splat_pattern" => {
                (children(child).first().copied(), None)
            }
            _ => (None, None),
        };
        if let Some(name) = name {
            // What a framework makes itself is told by the default value, too.
            let made = field(child, "value")
                .map(|value| cx.s(value))
                .filter(|text| text.contains("Depends(") || text.contains("Security("));
            let ty = match (made, child.kind()) {
                (Some(_), _) => Some(Arc::from("Depends")),
                (None, "list_splat_pattern") => Some(Arc::from("*")),
                (None, "dictionary_splat_pattern") => Some(Arc::from("**")),
                (None, _) => ty.map(|ty| cx.sym(ty)),
            };
            out.push(Param {
                name: cx.sym(name),
                ty,
                pattern: None,
            });
        }
    }
    out
}

fn class(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let Some(name) = field(node, "name") else {
        return;
    };
    let name = cx.sym(name);
    let bases = field(node, "superclasses")
        .map(children)
        .unwrap_or_default();
    let bases = bases.iter().map(|n| cx.sym(*n)).collect();
    let mut fields = Vec::new();
    if let Some(inner) = field(node, "body") {
        for statement in children(inner) {
            let Some(assign) = children(statement).first().copied() else {
                continue;
            };
            if assign.kind() == "assignment"
                && let Some(left) = field(assign, "left")
            {
                let ty = field(assign, "type").map_or("", |n| cx.s(n));
                // What a model lets through stands on the other side.
                let right = field(assign, "right").map_or("", |n| cx.s(n));
                let says = right.contains("pattern=") || right.contains("regex=");
                let text = if says {
                    format!("{ty} = {right}")
                } else {
                    ty.to_owned()
                };
                fields.push((cx.sym(left), Arc::from(text.as_str())));
            }
        }
    }
    cx.module.classes.push(Class {
        name: name.clone(),
        bases,
        fields,
    });
    let saved = cx.class.replace(name);
    let inner = body(cx, field(node, "body"));
    cx.class = saved;
    // Class-level assignments are module-level ones for our purposes.
    out.extend(inner);
}

fn import(cx: &mut Cx<'_>, node: Node<'_>) {
    let prefix = field(node, "module_name").map(|n| cx.s(n).trim_start_matches('.').to_owned());
    let mut cursor = node.walk();
    let names: Vec<_> = node.children_by_field_name("name", &mut cursor).collect();
    for name in names {
        let (full, alias) = if name.kind() == "aliased_import" {
            let full = field(name, "name").map_or("", |n| cx.s(n));
            (full, field(name, "alias").map(|n| cx.s(n)))
        } else {
            (cx.s(name), None)
        };
        let (local, target) = match (&prefix, alias) {
            (Some(prefix), alias) => {
                let target = if prefix.is_empty() {
                    full.to_owned()
                } else {
                    format!("{prefix}.{full}")
                };
                (alias.unwrap_or(full), target)
            }
            (None, Some(alias)) => (alias, full.to_owned()),
            // `import os.path` binds `os`.
            (None, None) => {
                let first = full.split('.').next().unwrap_or(full);
                (first, first.to_owned())
            }
        };
        cx.module
            .imports
            .push((Arc::from(local), Arc::from(target.as_str())));
    }
}
