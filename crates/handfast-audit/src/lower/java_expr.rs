//! Java: expressions.

use std::sync::Arc;

use tree_sitter::Node;

use super::super::{Cx, children, field, number, operator, unescape};
use super::body;
use super::declarations::parameters;
use crate::ir::{Arg, Expr, ExprKind, Operation, Param, StmtKind, Sym};

/// Types whose methods are called without an object: `Files::exists` is a function of one argument.
const HOLDERS: [&str; 14] = [
    "Arrays",
    "Character",
    "FileUtils",
    "FilenameUtils",
    "Files",
    "IOUtils",
    "Integer",
    "List",
    "Long",
    "Objects",
    "Optional",
    "Paths",
    "URLDecoder",
    "UUID",
];

/// Lists that begin empty.
const LISTS: [&str; 5] = ["ArrayList", "LinkedList", "Vector", "Stack", "ArrayDeque"];

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

/// What stands in the parentheses of `if`, `while` and `switch`.
pub(super) fn condition(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    *boxed(cx, field(node, "condition"), node)
}

/// A type without its package, type arguments and annotations.
pub(super) fn simple_type(cx: &Cx<'_>, node: Node<'_>) -> Sym {
    let text = cx.s(node);
    let text = text.split('<').next().unwrap_or(text).trim();
    let text = text.rsplit([' ', '\n']).next().unwrap_or(text);
    let types: Vec<&str> = text
        .split('.')
        .skip_while(|part| !part.starts_with(char::is_uppercase))
        .collect();
    if types.is_empty() {
        return Arc::from(text);
    }
    // A nested type goes by its own name.
    Arc::from(types.last().copied().unwrap_or(text))
}

pub(super) fn arguments(cx: &mut Cx<'_>, node: Node<'_>) -> Vec<Arg> {
    let list = field(node, "arguments").map(children).unwrap_or_default();
    list.iter()
        .map(|one| Arg {
            name: None,
            value: expr(cx, *one),
        })
        .collect()
}

fn expr_inner(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let kind = match node.kind() {
        "identifier" | "type_identifier" => ExprKind::Name(cx.sym(node)),
        "this" => ExprKind::Name(Arc::from("this")),
        "super" => ExprKind::Name(Arc::from("super")),
        "scoped_identifier" | "scoped_type_identifier" | "generic_type" => {
            ExprKind::Name(simple_type(cx, node))
        }
        "true" => ExprKind::Bool(true),
        "false" => ExprKind::Bool(false),
        "null_literal" => ExprKind::Null,
        "decimal_integer_literal"
        | "hex_integer_literal"
        | "octal_integer_literal"
        | "binary_integer_literal" => ExprKind::Num(number(cx.s(node))),
        "string_literal" => ExprKind::Str(Arc::from(text(cx.s(node)).as_str())),
        "character_literal" => {
            let inner = cx.s(node).trim_matches('\'');
            let inner = if inner.is_empty() { "'" } else { inner };
            ExprKind::Str(Arc::from(unescape(inner).as_str()))
        }
        "field_access" => field_access(cx, node),
        "array_access" => {
            let base = boxed(cx, field(node, "array"), node);
            ExprKind::Index(base, boxed(cx, field(node, "index"), node))
        }
        "method_invocation" => invocation(cx, node),
        "object_creation_expression" => creation(cx, node),
        "array_creation_expression" => match field(node, "value") {
            Some(value) => return expr(cx, value),
            None => ExprKind::List(Vec::new()),
        },
        "array_initializer" => {
            ExprKind::List(children(node).iter().map(|n| expr(cx, *n)).collect())
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
                ("-", ExprKind::Num(n)) => ExprKind::Num(n.wrapping_neg()),
                _ => ExprKind::Opaque(vec![*inner]),
            }
        }
        "update_expression" => {
            let inner = boxed(cx, children(node).first().copied(), node);
            cx.call_of("%step", vec![*inner], node)
        }
        "ternary_expression" => {
            let cond = boxed(cx, field(node, "condition"), node);
            let then = boxed(cx, field(node, "consequence"), node);
            ExprKind::Cond(cond, then, boxed(cx, field(node, "alternative"), node))
        }
        "assignment_expression" => {
            let target = boxed(cx, field(node, "left"), node);
            ExprKind::Assign(target, boxed(cx, field(node, "right"), node))
        }
        "cast_expression" => {
            let ty = field(node, "type").map_or(Arc::from(""), |n| simple_type(cx, n));
            ExprKind::Cast(boxed(cx, field(node, "value"), node), ty)
        }
        "instanceof_expression" => instance_of(cx, node),
        "parenthesized_expression" | "guard" => match children(node).first() {
            Some(inner) => return expr(cx, *inner),
            None => ExprKind::Opaque(Vec::new()),
        },
        "lambda_expression" => lambda(cx, node),
        "method_reference" => reference(cx, node),
        "switch_expression" => choice(cx, node),
        "class_literal" => ExprKind::Opaque(Vec::new()),
        _ => ExprKind::Opaque(children(node).iter().map(|n| expr(cx, *n)).collect()),
    };
    cx.expr(kind, node)
}

fn text(literal: &str) -> String {
    match literal.strip_prefix("\"\"\"") {
        Some(block) => unescape(block.trim_end_matches("\"\"\"").trim_start()),
        None => {
            let inner = literal.strip_prefix('"').unwrap_or(literal);
            unescape(inner.strip_suffix('"').unwrap_or(inner))
        }
    }
}

/// `this.root`, `File.separator`, `java.io.File.separator`.
fn field_access(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let name = field(node, "field").map_or(Arc::from(""), |n| cx.sym(n));
    let object = field(node, "object");
    let is_package = object.is_some_and(|n| {
        let text = cx.s(n);
        text.split('.')
            .all(|part| part.starts_with(char::is_lowercase))
            && name.starts_with(char::is_uppercase)
            && name.chars().any(char::is_lowercase)
    });
    if is_package {
        return ExprKind::Name(name);
    }
    ExprKind::Field(boxed(cx, object, node), name)
}

fn invocation(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let name = field(node, "name").map_or(Arc::from(""), |n| cx.sym(n));
    let callee = match field(node, "object") {
        Some(object)
            if matches!(cx.s(object), "Map" | "java.util.Map")
                && matches!(&*name, "of" | "ofEntries") =>
        {
            return table(cx, node);
        }
        Some(object) => {
            let base = Box::new(expr(cx, object));
            ExprKind::Field(base, name)
        }
        None => ExprKind::Name(name),
    };
    let callee = Box::new(cx.expr(callee, node));
    ExprKind::Call {
        callee,
        args: arguments(cx, node),
        is_new: false,
    }
}

/// `Map.of("a", one, "b", two)`.
fn table(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let given: Vec<Expr> = arguments(cx, node)
        .into_iter()
        .map(|arg| arg.value)
        .collect();
    let mut pairs = Vec::new();
    let mut rest = given.into_iter();
    while let (Some(key), Some(value)) = (rest.next(), rest.next()) {
        pairs.push((key, value));
    }
    ExprKind::Dict(pairs)
}

/// `new File(root, name)`; a class without a name is the functions that it consists of.
fn creation(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let ty = field(node, "type").map_or(Arc::from(""), |n| simple_type(cx, n));
    let inner = children(node)
        .into_iter()
        .find(|n| n.kind() == "class_body");
    if let Some(inner) = inner {
        let mut functions = Vec::new();
        for member in children(inner) {
            if member.kind() != "method_declaration" {
                continue;
            }
            let params = parameters(cx, field(member, "parameters"));
            let index = cx.begin(Arc::from("<closure>"), member);
            let statements = body(cx, field(member, "body"));
            let function = cx.end(index);
            function.params = params;
            function.body = statements;
            functions.push(cx.expr(ExprKind::Lambda(index), member));
        }
        return match functions.len() {
            1 => functions.remove(0).kind,
            _ => ExprKind::Opaque(functions),
        };
    }
    let args = arguments(cx, node);
    if ty.ends_with("Map") && args.is_empty() {
        return ExprKind::Dict(Vec::new());
    }
    if LISTS.contains(&&*ty) && args.is_empty() {
        return ExprKind::List(Vec::new());
    }
    let callee = Box::new(cx.name(&ty, node));
    ExprKind::Call {
        callee,
        args,
        is_new: true,
    }
}

/// `x instanceof Path p`: the name is the same thing under its type.
fn instance_of(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let left = boxed(cx, field(node, "left"), node);
    let Some(name) = field(node, "name") else {
        return ExprKind::Opaque(vec![*left]);
    };
    let target = Box::new(cx.expr(ExprKind::Name(cx.sym(name)), name));
    let ty = field(node, "right").map_or(Arc::from(""), |n| simple_type(cx, n));
    let value = Box::new(cx.expr(ExprKind::Cast(left, ty), node));
    ExprKind::Opaque(vec![cx.expr(ExprKind::Assign(target, value), node)])
}

fn lambda(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let list = field(node, "parameters");
    let params = match list {
        Some(one) if one.kind() == "identifier" => vec![Param {
            name: cx.sym(one),
            ty: None,
            pattern: None,
        }],
        list => parameters(cx, list),
    };
    let index = cx.begin(Arc::from("<closure>"), node);
    let inner = field(node, "body");
    let statements = match inner {
        Some(inner) if inner.kind() != "block" => {
            let value = expr(cx, inner);
            vec![cx.stmt(StmtKind::Return(Some(value)), inner)]
        }
        inner => body(cx, inner),
    };
    let function = cx.end(index);
    function.params = params;
    function.body = statements;
    ExprKind::Lambda(index)
}

/// `this::tail`, `Slug::parse`, `Path::normalize`, `File::new` as functions of their arguments.
fn reference(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let whole = cx.s(node);
    let Some((of, name)) = whole.rsplit_once("::") else {
        return ExprKind::Opaque(Vec::new());
    };
    let (of, name) = (of.trim(), name.trim());
    let object = children(node).first().copied();
    let is_type = of
        .rsplit('.')
        .next()
        .is_some_and(|last| last.starts_with(char::is_uppercase))
        && object.is_none_or(|n| n.kind() != "field_access" || !of.starts_with("this"));
    let is_instance = is_type && !HOLDERS.contains(&of) && !declares(cx, node, name);
    let index = cx.begin(Arc::from("<closure>"), node);
    let param = Param {
        name: Arc::from("%given"),
        ty: None,
        pattern: None,
    };
    let given = cx.name("%given", node);
    let args = |value: Expr| vec![Arg { name: None, value }];
    let of_expr = match object {
        Some(object) => expr(cx, object),
        None => cx.name(of, node),
    };
    let (callee, args, is_new) = if name == "new" {
        (of_expr, args(given), true)
    } else if is_instance {
        let callee = ExprKind::Field(Box::new(given), Arc::from(name));
        (cx.expr(callee, node), Vec::new(), false)
    } else {
        let callee = ExprKind::Field(Box::new(of_expr), Arc::from(name));
        (cx.expr(callee, node), args(given), false)
    };
    let call = ExprKind::Call {
        callee: Box::new(callee),
        args,
        is_new,
    };
    let value = cx.expr(call, node);
    let result = cx.stmt(StmtKind::Return(Some(value)), node);
    let function = cx.end(index);
    function.params = vec![param];
    function.body = vec![result];
    ExprKind::Lambda(index)
}

/// Whether the file declares a method of this name that needs no object.
fn declares(cx: &Cx<'_>, node: Node<'_>, name: &str) -> bool {
    let mut root = node;
    while let Some(parent) = root.parent() {
        root = parent;
    }
    let mut pending = vec![root];
    while let Some(one) = pending.pop() {
        if one.kind() == "method_declaration"
            && field(one, "name").map(|n| cx.s(n)) == Some(name)
            && children(one)
                .first()
                .is_some_and(|n| cx.s(*n).contains("static"))
        {
            return true;
        }
        if matches!(one.kind(), "program" | "class_declaration" | "class_body") {
            pending.extend(children(one));
        }
    }
    false
}

/// A `switch` that is a value: one after the other.
fn choice(cx: &mut Cx<'_>, node: Node<'_>) -> ExprKind {
    let subject = condition(cx, node);
    let mut result: Option<Expr> = None;
    let rules = field(node, "body").map(children).unwrap_or_default();
    for rule in rules.into_iter().rev() {
        let mut tests: Option<Expr> = None;
        let mut value = None;
        for child in children(rule) {
            if child.kind() == "switch_label" {
                for label in children(child) {
                    let one = Box::new(expr(cx, label));
                    let test = ExprKind::Binary(Operation::Eq, Box::new(subject.clone()), one);
                    let test = cx.expr(test, label);
                    tests = Some(match tests {
                        Some(before) => {
                            let either =
                                ExprKind::Binary(Operation::Or, Box::new(before), Box::new(test));
                            cx.expr(either, label)
                        }
                        None => test,
                    });
                }
                continue;
            }
            let inner = match child.kind() {
                "expression_statement" => children(child).first().copied(),
                _ => None,
            };
            value = Some(match inner {
                Some(inner) => expr(cx, inner),
                None => {
                    let statements = body(cx, Some(child));
                    cx.expr(ExprKind::Block(statements, None), child)
                }
            });
        }
        let value = value.unwrap_or_else(|| cx.opaque(rule));
        result = Some(match (tests, result) {
            (Some(test), Some(rest)) => {
                let kind = ExprKind::Cond(Box::new(test), Box::new(value), Box::new(rest));
                cx.expr(kind, rule)
            }
            (_, _) => value,
        });
    }
    result.map_or(ExprKind::Opaque(Vec::new()), |whole| whole.kind)
}
