//! Rust: items and statements.

#[path = "rust_expr.rs"]
mod expression;
#[path = "rust_macro.rs"]
mod macros;
#[path = "rust_pattern.rs"]
mod patterns;

use std::sync::Arc;

use tree_sitter::Node;

use self::expression::{condition, expr};
use super::{Cx, all_children, children, field};
use crate::ir::{Class, Expr, ExprKind, Param, Stmt, StmtKind, Sym};

pub(super) fn module(cx: &mut Cx<'_>, root: Node<'_>) {
    let top = cx.begin(Arc::from("<module>"), root);
    let body = items(cx, root);
    cx.end(top).body = body;
    cx.module.top = top;
}

/// Traits of the standard library, which bring no methods of the program.
fn is_of_library(name: &str) -> bool {
    let known = [
        "Display",
        "Debug",
        "Default",
        "Drop",
        "Clone",
        "Iterator",
        "Deref",
        "DerefMut",
        "FromStr",
        "Read",
        "Write",
        "Error",
        "Hash",
        "PartialEq",
        "Eq",
        "Ord",
        "PartialOrd",
        "Future",
        "Serialize",
    ];
    let last = name.rsplit(':').next().unwrap_or(name);
    name.contains('<') || known.contains(&last)
}

fn items(cx: &mut Cx<'_>, node: Node<'_>) -> Vec<Stmt> {
    let mut out = Vec::new();
    let mut attributes = Vec::new();
    for child in children(node) {
        if child.kind() == "attribute_item" {
            attributes.push(cx.s(child));
            continue;
        }
        let is_test = attributes.iter().any(|text| {
            text.contains("test]") || text.contains("test(") || text.contains("(test)")
        });
        let before = cx.module.functions.len();
        cx.deeper(|cx| item(cx, child, is_test, &mut out));
        if child.kind() == "function_item"
            && let Some(verb) = attributes.iter().find_map(|text| route_verb(text))
        {
            let decorator = cx.name(&format!("route.{verb}"), child);
            if let Some(function) = cx.module.functions.get_mut(before) {
                function.decorators.push(decorator);
            }
        }
        attributes.clear();
    }
    out
}

/// `#[get("/…")]`, `#[rocket::post("/…")]`.
fn route_verb(attribute: &str) -> Option<&'static str> {
    let inner = attribute.trim_start_matches("#[");
    let name = inner.split('(').next()?;
    let last = name.rsplit("::").next()?.trim();
    ["get", "post", "put", "delete", "patch", "route"]
        .into_iter()
        .find(|verb| *verb == last && inner.contains('"'))
}

fn item(cx: &mut Cx<'_>, node: Node<'_>, is_test: bool, out: &mut Vec<Stmt>) {
    match node.kind() {
        "function_item" => function_item(cx, node, is_test, out),
        "impl_item" | "trait_item" => {
            let ty = field(node, "type").or_else(|| field(node, "name"));
            let ty = ty.map(|n| Arc::from(cx.s(n).split('<').next().unwrap_or("")));
            let saved = std::mem::replace(&mut cx.class, ty);
            let first = cx.module.functions.len();
            if let Some(inner) = field(node, "body") {
                out.extend(items(cx, inner));
            }
            // What a trait asks for is called by the users of the trait.
            if let Some(of) = field(node, "trait") {
                let name = cx.sym(of);
                let class = cx.class.clone();
                let mut classes = cx.module.classes.iter_mut();
                let class = classes.find(|known| Some(&known.name) == class.as_ref());
                // Its own methods are inherited.
                if let Some(class) = class.filter(|_| !is_of_library(&name)) {
                    class.bases.push(name);
                }
                let top = cx.open.last().copied();
                for function in &mut cx.module.functions[first..] {
                    function.is_public |= function.parent == top && !function.is_test;
                }
            }
            cx.class = saved;
        }
        "mod_item" => {
            if let Some(inner) = field(node, "body") {
                let first = cx.module.functions.len();
                out.extend(items(cx, inner));
                if is_test {
                    for function in &mut cx.module.functions[first..] {
                        function.is_test |= function.name.starts_with("test");
                        function.is_public = false;
                    }
                }
            }
        }
        "struct_item" => {
            let Some(name) = field(node, "name") else {
                return;
            };
            let mut fields = Vec::new();
            for one in field(node, "body").map(children).unwrap_or_default() {
                if let (Some(name), Some(ty)) = (field(one, "name"), field(one, "type")) {
                    fields.push((cx.sym(name), cx.sym(ty)));
                } else if one.kind().ends_with("type") || one.kind() == "type_identifier" {
                    let index = fields.len().to_string();
                    fields.push((Arc::from(index.as_str()), cx.sym(one)));
                }
            }
            cx.module.classes.push(Class {
                name: cx.sym(name),
                bases: Vec::new(),
                fields,
            });
        }
        "use_declaration" => {
            if let Some(tree) = field(node, "argument") {
                use_tree(cx, tree, String::new());
            }
        }
        "const_item" | "static_item" => {
            if let (Some(name), Some(value)) = (field(node, "name"), field(node, "value")) {
                let target = cx.expr(ExprKind::Name(cx.sym(name)), name);
                let value = expr(cx, value);
                out.push(cx.stmt(StmtKind::Assign { target, value }, node));
            }
        }
        "ERROR" | "declaration_list" | "foreign_mod_item" => {
            let inner = items(cx, node);
            out.extend(inner);
        }
        _ => statement(cx, node, out),
    }
}

fn use_tree(cx: &mut Cx<'_>, node: Node<'_>, prefix: String) {
    let joined = |text: &str| {
        let text = text.replace("::", ".");
        if prefix.is_empty() {
            text
        } else {
            format!("{prefix}.{text}")
        }
    };
    match node.kind() {
        "use_as_clause" => {
            let (Some(path), Some(alias)) = (field(node, "path"), field(node, "alias")) else {
                return;
            };
            let target = joined(cx.s(path));
            cx.module
                .imports
                .push((cx.sym(alias), Arc::from(target.as_str())));
        }
        "scoped_use_list" => {
            let path = field(node, "path").map_or(String::new(), |n| joined(cx.s(n)));
            if let Some(list) = field(node, "list") {
                for one in children(list) {
                    use_tree(cx, one, path.clone());
                }
            }
        }
        "use_list" => {
            for one in children(node) {
                use_tree(cx, one, prefix.clone());
            }
        }
        "use_wildcard" => {
            let target = joined(cx.s(node).trim_end_matches("::*"));
            cx.module
                .imports
                .push((Arc::from("*"), Arc::from(target.as_str())));
        }
        "self" => {
            let last = prefix.rsplit('.').next().unwrap_or(&prefix).to_owned();
            cx.module
                .imports
                .push((Arc::from(last.as_str()), Arc::from(prefix.as_str())));
        }
        _ => {
            let text = cx.s(node);
            let last = text.rsplit("::").next().unwrap_or(text);
            let target = joined(text);
            cx.module
                .imports
                .push((Arc::from(last), Arc::from(target.as_str())));
        }
    }
}

fn function_item(cx: &mut Cx<'_>, node: Node<'_>, is_test: bool, out: &mut Vec<Stmt>) {
    let Some(name) = field(node, "name") else {
        return;
    };
    let name = cx.sym(name);
    let class = cx.class.clone();
    let index = cx.begin(name.clone(), node);
    cx.class = None;
    let (params, receiver) = parameters(cx, field(node, "parameters"));
    let statements = match field(node, "body") {
        Some(inner) => function_body(cx, inner),
        None => Vec::new(),
    };
    cx.class = class.clone();
    let is_public = all_children(node)
        .iter()
        .any(|n| n.kind() == "visibility_modifier");
    let returns = field(node, "return_type").map_or("", |n| cx.s(n));
    let makes_self =
        returns.contains("Self") || class.as_deref().is_some_and(|c| returns.contains(c));
    let nested = cx.open.len() > 2;
    let function = cx.end(index);
    function.params = params;
    function.is_ctor = class.is_some() && receiver.is_none() && makes_self;
    function.receiver = receiver;
    function.body = statements;
    function.is_public = is_public && !nested;
    function.is_test = is_test;
    if class.is_none() {
        out.push(cx.stmt(
            StmtKind::Bind {
                name,
                function: index,
            },
            node,
        ));
    }
}

/// The last expression is what the function gives back.
fn function_body(cx: &mut Cx<'_>, node: Node<'_>) -> Vec<Stmt> {
    let (mut statements, value) = block(cx, node);
    if let Some(value) = value {
        let span = value.span;
        statements.push(Stmt {
            kind: StmtKind::Return(Some(value)),
            span,
        });
    }
    statements
}

fn parameters(cx: &mut Cx<'_>, list: Option<Node<'_>>) -> (Vec<Param>, Option<Sym>) {
    let mut out = Vec::new();
    let mut receiver = None;
    for one in list.map(children).unwrap_or_default() {
        match one.kind() {
            "self_parameter" => receiver = Some(Arc::from("self")),
            "parameter" | "closure_parameter" => {
                let Some(inner) = field(one, "pattern") else {
                    continue;
                };
                let ty = field(one, "type").map(|n| cx.sym(n));
                out.push(parameter(cx, inner, ty));
            }
            "attribute_item" => {}
            _ => out.push(parameter(cx, one, None)),
        }
    }
    (out, receiver)
}

fn parameter(cx: &mut Cx<'_>, node: Node<'_>, ty: Option<Sym>) -> Param {
    let names = patterns::bound_names(cx, node);
    match names.as_slice() {
        // `Path(name): Path<String>` is its payload.
        [name] => Param {
            name: name.clone(),
            ty,
            pattern: None,
        },
        [] => Param {
            name: cx.fresh(),
            ty,
            pattern: None,
        },
        _ => {
            let parts = names.iter().map(|n| cx.name(n, node)).collect();
            let list = cx.expr(ExprKind::List(parts), node);
            Param {
                name: cx.fresh(),
                ty,
                pattern: Some(Box::new(list)),
            }
        }
    }
}

/// The statements of a block, and the expression it ends with.
fn block(cx: &mut Cx<'_>, node: Node<'_>) -> (Vec<Stmt>, Option<Expr>) {
    let mut out = Vec::new();
    let mut value = None;
    let parts = children(node);
    let last = parts.len().saturating_sub(1);
    let mut is_test = false;
    for (index, child) in parts.iter().enumerate() {
        if child.kind() == "attribute_item" {
            is_test = cx.s(*child).contains("test");
            continue;
        }
        let is_item = child.kind().ends_with("_item") || child.kind() == "use_declaration";
        if is_item {
            cx.deeper(|cx| item(cx, *child, is_test, &mut out));
        } else if index == last && is_value(*child) {
            value = Some(expr(cx, *child));
        } else {
            cx.deeper(|cx| statement(cx, *child, &mut out));
        }
    }
    (out, value)
}

/// An expression without a semicolon at a block's end.
fn is_value(node: Node<'_>) -> bool {
    match node.kind() {
        "expression_statement" => {
            let ends = all_children(node);
            !ends.iter().any(|n| n.kind() == ";")
        }
        "let_declaration" | "empty_statement" | "line_comment" => false,
        _ => true,
    }
}

fn statements(cx: &mut Cx<'_>, node: Node<'_>) -> Vec<Stmt> {
    let (mut out, value) = block(cx, node);
    if let Some(value) = value {
        let span = value.span;
        out.push(Stmt {
            kind: StmtKind::Expr(value),
            span,
        });
    }
    out
}

fn statement(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    match node.kind() {
        "expression_statement" => {
            if let Some(inner) = children(node).first() {
                statement(cx, *inner, out);
            }
        }
        "let_declaration" => let_declaration(cx, node, out),
        "empty_statement" | "line_comment" | "block_comment" => {}
        _ => {
            if let Some(kind) = control(cx, node) {
                out.push(cx.stmt(kind, node));
            } else {
                let value = expr(cx, node);
                out.push(cx.stmt(StmtKind::Expr(value), node));
            }
        }
    }
}

/// Control flow that stands as a statement keeps its shape.
fn control(cx: &mut Cx<'_>, node: Node<'_>) -> Option<StmtKind> {
    Some(match node.kind() {
        "return_expression" => StmtKind::Return(children(node).first().map(|n| expr(cx, *n))),
        "break_expression" => StmtKind::Break,
        "continue_expression" => StmtKind::Continue,
        "block" | "unsafe_block" | "async_block" => {
            let inner = if node.kind() == "block" {
                Some(node)
            } else {
                children(node).into_iter().find(|n| n.kind() == "block")
            };
            StmtKind::Block(inner.map(|n| statements(cx, n)).unwrap_or_default())
        }
        "while_expression" => {
            let cond = field(node, "condition").map(|n| condition(cx, n));
            let body = field(node, "body")
                .map(|n| statements(cx, n))
                .unwrap_or_default();
            StmtKind::While {
                cond,
                step: Vec::new(),
                body,
                body_first: false,
            }
        }
        "loop_expression" => {
            let body = field(node, "body")
                .map(|n| statements(cx, n))
                .unwrap_or_default();
            StmtKind::While {
                cond: None,
                step: Vec::new(),
                body,
                body_first: false,
            }
        }
        "for_expression" => {
            let target = field(node, "pattern").map(|n| patterns::target(cx, n))?;
            let iter = field(node, "value").map(|n| expr(cx, n))?;
            let is_pair = cx.s(field(node, "value")?).contains(".enumerate()");
            let body = field(node, "body")
                .map(|n| statements(cx, n))
                .unwrap_or_default();
            StmtKind::ForEach {
                target,
                iter,
                body,
                is_pair,
            }
        }
        "if_expression" => {
            let cond = match field(node, "condition") {
                Some(cond) => condition(cx, cond),
                None => cx.opaque(node),
            };
            let then = field(node, "consequence")
                .map(|n| statements(cx, n))
                .unwrap_or_default();
            let mut otherwise = Vec::new();
            if let Some(alternative) = field(node, "alternative") {
                for inner in children(alternative) {
                    cx.deeper(|cx| statement(cx, inner, &mut otherwise));
                }
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            }
        }
        _ => return None,
    })
}

fn let_declaration(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let Some(pattern) = field(node, "pattern") else {
        return;
    };
    let Some(value) = field(node, "value") else {
        return;
    };
    if let Some(alternative) = field(node, "alternative") {
        // `let Some(x) = e else { return };`
        let value = expr(cx, value);
        let test = patterns::pattern_test(cx, pattern, value);
        let otherwise = statements(cx, alternative);
        let kind = StmtKind::If {
            cond: test,
            then: Vec::new(),
            otherwise,
        };
        out.push(cx.stmt(kind, node));
        return;
    }
    let target = patterns::target(cx, pattern);
    let mut value = expr(cx, value);
    if let Some(ty) = field(node, "type") {
        expression::parse_as(cx, &mut value, ty);
        value = cx.expr(ExprKind::Cast(Box::new(value), cx.sym(ty)), node);
    }
    out.push(cx.stmt(StmtKind::Assign { target, value }, node));
}
