//! Macros whose arguments matter are parsed once more, as the arguments of a call.

use std::sync::Arc;

use tree_sitter::Node;

use super::super::{Cx, children, field, reparse};
use super::expression::expr;
use super::patterns::pattern_test;
use crate::ir::{Arg, Expr, ExprKind, Span, Stmt, StmtKind};
use crate::lang::Lang;

pub(super) fn invocation(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let name = field(node, "macro").map_or("", |n| cx.s(n));
    let name = name.rsplit("::").next().unwrap_or(name).to_owned();
    let Some(tokens) = children(node)
        .into_iter()
        .find(|n| n.kind() == "token_tree")
    else {
        return cx.opaque(node);
    };
    let text = cx.s(tokens);
    let text = text
        .get(1..text.len().saturating_sub(1))
        .unwrap_or_default();
    let span = cx.span(node);
    match name.as_str() {
        "format" | "format_args" | "concat" | "write" | "writeln" | "println" | "eprintln"
        | "print" | "eprint" | "info" | "warn" | "error" | "debug" | "trace" => {
            let args = arguments(cx, text, span);
            if name == "format" || name == "format_args" || name == "concat" {
                formatted(cx, args, span)
            } else {
                Expr::new(ExprKind::Opaque(args), span)
            }
        }
        "bail" | "panic" | "unreachable" | "todo" | "unimplemented" => {
            let throw = Stmt {
                kind: StmtKind::Throw(None),
                span,
            };
            Expr::new(ExprKind::Block(vec![throw], None), span)
        }
        "ensure" | "assert" => {
            let mut args = arguments(cx, text, span);
            if args.is_empty() {
                return cx.opaque(node);
            }
            let cond = args.remove(0);
            let throw = Stmt {
                kind: StmtKind::Throw(None),
                span,
            };
            let kind = StmtKind::If {
                cond,
                then: Vec::new(),
                otherwise: vec![throw],
            };
            Expr::new(ExprKind::Block(vec![Stmt { kind, span }], None), span)
        }
        "matches" => matches_macro(cx, text, span).unwrap_or_else(|| cx.opaque(node)),
        "vec" => {
            let args = arguments(cx, text, span);
            Expr::new(ExprKind::List(args), span)
        }
        // `debug_assert!` is no guard: it vanishes in releases.
        "debug_assert" => cx.opaque(node),
        _ => {
            let args = arguments(cx, text, span);
            let callee = Expr::new(ExprKind::Name(Arc::from(format!("{name}!").as_str())), span);
            let args = args
                .into_iter()
                .map(|value| Arg { name: None, value })
                .collect();
            Expr::new(
                ExprKind::Call {
                    callee: Box::new(callee),
                    args,
                    is_new: false,
                },
                span,
            )
        }
    }
}

/// `"{root}/{}"` and its arguments as a concatenation.
fn formatted(cx: &mut Cx<'_>, args: Vec<Expr>, span: Span) -> Expr {
    let mut rest = args.into_iter();
    let Some(Expr {
        kind: ExprKind::Str(format),
        ..
    }) = rest.next()
    else {
        return Expr::new(ExprKind::Opaque(rest.collect()), span);
    };
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '{' && chars.peek() != Some(&'{') {
            let inside: String = chars.by_ref().take_while(|c| *c != '}').collect();
            if !text.is_empty() {
                parts.push(Expr::new(ExprKind::Str(Arc::from(text.as_str())), span));
                text.clear();
            }
            let name = inside.split(':').next().unwrap_or("").trim();
            let value = if name.is_empty() || name.chars().all(|c| c.is_ascii_digit()) {
                rest.next()
            } else {
                Some(Expr::new(ExprKind::Name(Arc::from(name)), span))
            };
            parts.extend(value);
        } else {
            text.push(c);
            if matches!(c, '{' | '}') {
                chars.next();
            }
        }
    }
    if !text.is_empty() {
        parts.push(Expr::new(ExprKind::Str(Arc::from(text.as_str())), span));
    }
    let _ = cx;
    Expr::new(ExprKind::Concat(parts), span)
}

fn arguments(cx: &mut Cx<'_>, text: &str, span: Span) -> Vec<Expr> {
    let source = format!("fn f() {{ f({text}) }}");
    reparse(cx, Lang::Rust, &source, span, |cx, root| {
        let call = find(root, "call_expression")?;
        let args = field(call, "arguments")?;
        Some(children(args).into_iter().map(|n| expr(cx, n)).collect())
    })
    .unwrap_or_default()
}

fn matches_macro(cx: &mut Cx<'_>, text: &str, span: Span) -> Option<Expr> {
    let (subject, pattern) = split_top(text)?;
    let source = format!("fn f() {{ match {subject} {{ {pattern} => 1 }} }}");
    reparse(cx, Lang::Rust, &source, span, |cx, root| {
        let whole = find(root, "match_expression")?;
        let value = expr(cx, field(whole, "value")?);
        let arm = find(whole, "match_arm")?;
        Some(pattern_test(cx, field(arm, "pattern")?, value))
    })
}

/// Splits at the first comma that is in no bracket.
fn split_top(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_i32;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

fn find<'n>(node: Node<'n>, kind: &str) -> Option<Node<'n>> {
    let mut pending = vec![node];
    while let Some(node) = pending.pop() {
        if node.kind() == kind {
            return Some(node);
        }
        pending.extend(children(node).into_iter().rev());
    }
    None
}
