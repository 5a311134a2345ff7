//! C and C++: declarations, functions, classes, statements.

#[path = "c_decl.rs"]
mod declarations;
#[path = "c_expr.rs"]
mod expression;
#[path = "c_mend.rs"]
mod mend;

use std::borrow::Cow;
use std::sync::Arc;

use tree_sitter::{Node, Tree};

use self::declarations::{class, declaration, function_definition};
use self::expression::{boxed, dots, expr};
use super::cases::{MatchArm, chain};
use super::{Cx, children, field, number, reparse, unescape};
use crate::ir::{Expr, ExprKind, Handler, Operation, Stmt, StmtKind, Sym};
use crate::lang::Lang;

/// A jump to a label repeats what stands after it, up to this many statements.
const MAX_TAIL: usize = 12;

/// The text and its tree with the fewest errors: as it is, or without what only the preprocessor
/// understands.
pub(super) fn mended<'t>(lang: Lang, text: &'t str, tree: Tree) -> (Cow<'t, str>, Tree) {
    let mut best = (errors(&tree), Cow::Borrowed(text), tree);
    let plain = mend::without_macros(text);
    let first = mend::first_alternatives(&plain);
    for text in [plain, first] {
        if best.0 == 0 || text == best.1 {
            continue;
        }
        if let Some(tree) = super::parse(lang, &text) {
            let count = errors(&tree);
            if count < best.0 {
                best = (count, Cow::Owned(text), tree);
            }
        }
    }
    (best.1, best.2)
}

/// How many bytes lie in errors, and what is missing.
fn errors(tree: &Tree) -> usize {
    let mut open = vec![tree.root_node()];
    let mut count = 0;
    while let Some(node) = open.pop() {
        if node.is_error() || node.is_missing() {
            count += 1 + node.byte_range().len();
        } else if node.has_error() {
            open.extend(super::all_children(node));
        }
    }
    count
}

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
    let Some(node) = node else { return Vec::new() };
    if node.kind() == "compound_statement" {
        return block(cx, node);
    }
    let mut out = Vec::new();
    cx.deeper(|cx| statement(cx, node, &mut out));
    out
}

/// What declares something, or only holds other statements; `false` for the rest.
fn declares(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) -> bool {
    match node.kind() {
        "function_definition" => {
            function_definition(cx, node, out);
        }
        "declaration" | "field_declaration" => {
            declaration(cx, node, out);
        }
        "preproc_def" => {
            define(cx, node, out);
        }
        "preproc_function_def" => {
            macro_function(cx, node, out);
        }
        "preproc_ifdef"
        | "preproc_if"
        | "preproc_else"
        | "preproc_elif"
        | "linkage_specification"
        | "declaration_list"
        | "namespace_definition"
        | "template_declaration"
        | "ERROR" => {
            out.extend(block(cx, node));
        }
        "struct_specifier" | "class_specifier" => {
            class(cx, node, out);
        }
        "namespace_alias_definition" => {
            let parts = children(node);
            if let [name, target, ..] = parts.as_slice() {
                let target = dots(cx.s(*target));
                cx.module
                    .imports
                    .push((cx.sym(*name), Arc::from(target.as_str())));
            }
        }
        "using_declaration" => {
            if let Some(inner) = children(node).first() {
                let full = dots(cx.s(*inner));
                let is_namespace = cx.s(node).contains("namespace");
                let local = if is_namespace {
                    "*"
                } else {
                    full.rsplit('.').next().unwrap_or("")
                };
                cx.module
                    .imports
                    .push((Arc::from(local), Arc::from(full.as_str())));
            }
        }
        _ => return false,
    }
    true
}

fn statement(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    if declares(cx, node, out) {
        return;
    }
    let kind = match node.kind() {
        "expression_statement" => {
            let Some(inner) = children(node).first().copied() else {
                return;
            };
            expression_statement(cx, inner, out);
            return;
        }
        "compound_statement" => StmtKind::Block(block(cx, node)),
        "return_statement" => StmtKind::Return(children(node).first().map(|n| expr(cx, *n))),
        "throw_statement" => StmtKind::Throw(children(node).first().map(|n| expr(cx, *n))),
        "break_statement" => StmtKind::Break,
        "continue_statement" => StmtKind::Continue,
        "goto_statement" => goto(cx, node),
        "labeled_statement" => {
            let label = field(node, "label");
            for child in children(node) {
                if Some(child) != label {
                    statement(cx, child, out);
                }
            }
            return;
        }
        "if_statement" => {
            let cond = *boxed(cx, field(node, "condition"), node);
            let then = body(cx, field(node, "consequence"));
            let alternative = field(node, "alternative");
            let otherwise = alternative.and_then(|n| children(n).first().copied());
            StmtKind::If {
                cond,
                then,
                otherwise: body(cx, otherwise),
            }
        }
        "while_statement" | "do_statement" => {
            let cond = field(node, "condition").map(|n| expr(cx, n));
            let cond = cond.filter(|c| !matches!(c.kind, ExprKind::Bool(true) | ExprKind::Num(1)));
            StmtKind::While {
                cond,
                step: Vec::new(),
                body: body(cx, field(node, "body")),
                body_first: node.kind() == "do_statement",
            }
        }
        "for_statement" => for_loop(cx, node, out),
        "for_range_loop" => {
            let (Some(name), Some(right)) = (field(node, "declarator"), field(node, "right"))
            else {
                return;
            };
            let (name, _) = declared(cx, name);
            StmtKind::ForEach {
                target: cx.name(&name, node),
                iter: expr(cx, right),
                body: body(cx, field(node, "body")),
                is_pair: false,
            }
        }
        "try_statement" => try_block(cx, node),
        "switch_statement" => switch(cx, node),
        "preproc_include" | "preproc_call" | "type_definition" | "enum_specifier"
        | "access_specifier" | "alias_declaration" | ";" => return,
        _ => StmtKind::Expr(expr(cx, node)),
    };
    out.push(cx.stmt(kind, node));
}

/// C's `for`: what comes first stands before the loop.
fn for_loop(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) -> StmtKind {
    if let Some(init) = field(node, "initializer") {
        if init.kind() == "declaration" {
            declaration(cx, init, out);
        } else {
            expression_statement(cx, init, out);
        }
    }
    let cond = field(node, "condition").map(|n| expr(cx, n));
    let mut step = Vec::new();
    if let Some(update) = field(node, "update") {
        expression_statement(cx, update, &mut step);
    }
    StmtKind::While {
        cond,
        step,
        body: body(cx, field(node, "body")),
        body_first: false,
    }
}

/// `try` with its handlers.
fn try_block(cx: &mut Cx<'_>, node: Node<'_>) -> StmtKind {
    let statements = body(cx, field(node, "body"));
    let mut handlers = Vec::new();
    for clause in children(node)
        .into_iter()
        .filter(|n| n.kind() == "catch_clause")
    {
        let types = field(clause, "parameters")
            .map(|n| cx.s(n))
            .unwrap_or_default();
        let types = if types.contains("...") {
            Vec::new()
        } else {
            vec![Arc::from(types)]
        };
        let inner = body(cx, field(clause, "body"));
        let span = cx.span(clause);
        handlers.push(Handler {
            types,
            name: None,
            body: inner,
            span,
        });
    }
    StmtKind::Try {
        body: statements,
        handlers,
        finally: Vec::new(),
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What the body of a macro has to speak of before it is worth reading.
const WORTHY: [&str; 14] = [
    "open", "printf", "strcat", "strcpy", "strlcat", "strlcpy", "unlink", "remove", "mkdir",
    "rename", "chmod", "chown", "exec", "path",
];

/// `#define UNDER(buf, name) snprintf(buf, …, name)`: a function, for what matters here.
fn macro_function(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let name = field(node, "name").map_or("", |n| cx.s(n)).to_owned();
    let params = field(node, "parameters").map_or("", |n| cx.s(n)).to_owned();
    let Some(value) = field(node, "value") else {
        return;
    };
    let text = cx.s(value).replace("\\\n", " ");
    if !WORTHY.iter().any(|word| text.contains(word)) || text.contains('#') {
        return;
    }
    let text = text.trim().trim_end_matches(';');
    // A block with a value: only what it does is read.
    let text = text
        .strip_prefix("({")
        .and_then(|text| text.strip_suffix("})"))
        .unwrap_or(text);
    let is_block = text.contains(';') || text.starts_with("do") || text.starts_with('{');
    let body = if is_block {
        text.to_owned()
    } else {
        format!("return {text}")
    };
    let params = params.trim_matches(['(', ')']).replace("...", "rest");
    let params: Vec<String> = params
        .split(',')
        .map(|name| format!("char *{}", name.trim()))
        .collect();
    let source = format!("static char *{name}({}) {{ {body}; }}", params.join(", "));
    let span = cx.span(node);
    reparse(cx, Lang::C, &source, span, |cx, root| {
        let function = children(root)
            .into_iter()
            .find(|n| n.kind() == "function_definition")?;
        let first = cx.module.functions.len();
        function_definition(cx, function, out);
        for function in &mut cx.module.functions[first..] {
            function.is_macro = true;
        }
        Some(())
    });
}

fn define(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let (Some(name), Some(value)) = (field(node, "name"), field(node, "value")) else {
        return;
    };
    let text = cx.s(value).trim();
    let kind = if text.starts_with('"') && text.len() > 1 {
        ExprKind::Str(Arc::from(unescape(text.trim_matches('"')).as_str()))
    } else if text.starts_with(|c: char| c.is_ascii_digit()) {
        ExprKind::Num(number(text))
    } else if is_word(text) && !text.starts_with("O_") {
        // Another name of the same thing: `#define OPEN open`.
        cx.module.imports.push((cx.sym(name), Arc::from(text)));
        return;
    } else if text.contains("O_") && text.contains('|') {
        let mut result: Option<Expr> = None;
        for flag in text.trim_matches(['(', ')']).split('|') {
            let one = cx.name(flag.trim(), value);
            result = Some(match result {
                Some(before) => cx.expr(
                    ExprKind::Binary(Operation::BitOr, Box::new(before), Box::new(one)),
                    value,
                ),
                None => one,
            });
        }
        match result {
            Some(expr) => expr.kind,
            None => return,
        }
    } else {
        return;
    };
    let target = cx.expr(ExprKind::Name(cx.sym(name)), name);
    let value = cx.expr(kind, value);
    out.push(cx.stmt(StmtKind::Assign { target, value }, node));
}

fn expression_statement(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    if node.kind() == "assignment_expression" {
        let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else {
            return;
        };
        let op = field(node, "operator").map_or("=", |n| cx.s(n));
        let target = expr(cx, left);
        let mut value = expr(cx, right);
        if op != "=" {
            let old = Box::new(expr(cx, left));
            let op = expression::binary(op.trim_end_matches('='));
            value = cx.expr(ExprKind::Binary(op, old, Box::new(value)), node);
        }
        out.push(cx.stmt(StmtKind::Assign { target, value }, node));
        return;
    }
    if node.kind() == "binary_expression" && stream(cx, node, out) {
        return;
    }
    let value = expr(cx, node);
    out.push(cx.stmt(StmtKind::Expr(value), node));
}

/// `out << root << name`: the stream holds the text. `std::cin >> a >> b`: each gets a word.
fn stream(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) -> bool {
    let op = field(node, "operator").map_or("", |n| cx.s(n));
    if op != "<<" && op != ">>" {
        return false;
    }
    let mut parts = Vec::new();
    let mut left = node;
    while left.kind() == "binary_expression"
        && field(left, "operator").map(|n| cx.s(n)) == Some(op)
        && parts.len() < 64
    {
        let (Some(next), Some(right)) = (field(left, "left"), field(left, "right")) else {
            return false;
        };
        parts.push(right);
        left = next;
    }
    parts.reverse();
    if op == ">>" {
        let is_input = matches!(cx.s(left), "cin" | "std::cin");
        for part in parts.into_iter().filter(|_| is_input) {
            let value = expression::read_word(cx, part);
            out.push(cx.stmt(StmtKind::Expr(value), part));
        }
        return is_input;
    }
    if left.kind() != "identifier" {
        return false;
    }
    let target = expr(cx, left);
    let mut all = vec![target.clone()];
    all.extend(parts.into_iter().map(|part| expr(cx, part)));
    let value = cx.expr(ExprKind::Concat(all), node);
    out.push(cx.stmt(StmtKind::Assign { target, value }, node));
    true
}

/// The name inside `*name[10]`, and the initial arguments of `name(args)`.
fn declared<'n>(cx: &Cx<'_>, node: Node<'n>) -> (Sym, Option<Node<'n>>) {
    let mut node = node;
    let mut arguments = None;
    loop {
        match node.kind() {
            "identifier" | "field_identifier" | "type_identifier" | "destructor_name" => {
                return (cx.sym(node), arguments);
            }
            "qualified_identifier" => {
                return (Arc::from(dots(cx.s(node)).as_str()), arguments);
            }
            "function_declarator" => arguments = field(node, "parameters"),
            _ => {}
        }
        let next = field(node, "declarator").or_else(|| children(node).first().copied());
        match next {
            Some(inner) => node = inner,
            None => return (Arc::from(""), arguments),
        }
    }
}

/// A jump forward to a label at the function's end: what stands there, then out.
fn goto(cx: &mut Cx<'_>, node: Node<'_>) -> StmtKind {
    let label = field(node, "label").map_or("", |n| cx.s(n));
    let mut up = node.parent();
    while let Some(parent) = up {
        if parent.kind() == "compound_statement" {
            let siblings = children(parent);
            let at = siblings.iter().position(|n| {
                n.kind() == "labeled_statement"
                    && field(*n, "label").map(|l| cx.s(l)) == Some(label)
            });
            if let Some(at) = at.filter(|at| siblings[*at].start_byte() > node.start_byte()) {
                let mut tail = Vec::new();
                for sibling in siblings[at..].iter().take(MAX_TAIL) {
                    cx.deeper(|cx| statement(cx, *sibling, &mut tail));
                }
                tail.push(cx.stmt(StmtKind::Return(None), node));
                return StmtKind::Block(tail);
            }
        }
        up = parent.parent();
    }
    // A jump backwards is a loop's `continue`.
    StmtKind::Continue
}

fn switch(cx: &mut Cx<'_>, node: Node<'_>) -> StmtKind {
    let subject = *boxed(cx, field(node, "condition"), node);
    let mut cases = Vec::new();
    for case in field(node, "body").map(children).unwrap_or_default() {
        if case.kind() != "case_statement" {
            continue;
        }
        let value = field(case, "value");
        let mut body = Vec::new();
        let mut falls = true;
        for child in children(case) {
            falls = !matches!(
                child.kind(),
                "break_statement" | "return_statement" | "goto_statement" | "continue_statement"
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
