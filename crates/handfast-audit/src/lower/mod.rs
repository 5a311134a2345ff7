//! From text to syntax tree to the small form, one file per language.
//!
//! A lowering never fails: what it does not know becomes opaque, and depth is bounded by
//! [`MAX_DEPTH`], below which everything is opaque. A syntax error marks the functions it lies in.

mod c;
mod cases;
mod go;
mod java;
mod javascript;
mod python;
mod rust;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::ir::{Arg, Expr, ExprKind, Function, Module, Operation, Span, Stmt, StmtKind, Sym};
use crate::lang::Lang;
use crate::quick::Quick;

/// Nesting beyond this is opaque.
const MAX_DEPTH: usize = 120;

/// The parser may look at the clock of steps this often; a file that needs more is given up.
const MAX_PARSE_STEPS: usize = 400_000;

/// Parses and lowers one file. `None`: the parser gave up within its bounds.
pub(crate) fn lower(lang: Lang, file: u32, text: &str) -> Option<Module> {
    let tree = parse(lang, text)?;
    if matches!(lang, Lang::C | Lang::Cpp) && tree.root_node().has_error() {
        let (text, tree) = c::mended(lang, text, tree);
        return Some(lowered(lang, file, &text, &tree));
    }
    Some(lowered(lang, file, text, &tree))
}

fn parse(lang: Lang, text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&lang.grammar()).ok()?;
    let bytes = text.as_bytes();
    let mut steps = 0_usize;
    let mut watch = |_: &tree_sitter::ParseState| {
        steps += 1;
        if steps > MAX_PARSE_STEPS {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut watch);
    let mut read = |offset: usize, _| bytes.get(offset..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(options))
}

fn lowered(lang: Lang, file: u32, text: &str, tree: &Tree) -> Module {
    let mut cx = Cx::new(file, text);
    let root = tree.root_node();
    cx.module.damaged = root.has_error();
    match lang {
        Lang::Python => python::module(&mut cx, root),
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => javascript::module(&mut cx, root),
        Lang::Go => go::module(&mut cx, root),
        Lang::Rust => rust::module(&mut cx, root),
        Lang::C | Lang::Cpp => c::module(&mut cx, root),
        Lang::Java => java::module(&mut cx, root),
    }
    cx.module
}

/// What every lowering needs: the text, where it is, and what it has made so far.
struct Cx<'t> {
    file: u32,
    text: &'t str,
    module: Module,
    depth: usize,
    /// Functions being lowered, innermost last.
    open: Vec<usize>,
    class: Option<Sym>,
    fresh: u32,
    names: RefCell<HashMap<&'t str, Sym, Quick>>,
    /// Text that was taken out of its place stands where it came from.
    pinned: Option<Span>,
}

impl<'t> Cx<'t> {
    fn new(file: u32, text: &'t str) -> Self {
        Self {
            file,
            text,
            module: Module::default(),
            depth: 0,
            open: Vec::new(),
            class: None,
            fresh: 0,
            names: RefCell::default(),
            pinned: None,
        }
    }

    fn s(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn sym(&self, node: Node<'_>) -> Sym {
        self.intern(self.s(node))
    }

    /// The same name is the same allocation, as long as it stands in this text.
    fn intern(&self, text: &'t str) -> Sym {
        let mut names = self.names.borrow_mut();
        names.entry(text).or_insert_with(|| Arc::from(text)).clone()
    }

    fn span(&self, node: Node<'_>) -> Span {
        if let Some(span) = self.pinned {
            return span;
        }
        Span {
            file: self.file,
            line: line(node.start_position().row),
            end_line: line(node.end_position().row),
            start: u32::try_from(node.start_byte()).unwrap_or(u32::MAX),
            end: u32::try_from(node.end_byte()).unwrap_or(u32::MAX),
        }
    }

    fn expr(&self, kind: ExprKind, node: Node<'_>) -> Expr {
        Expr::new(kind, self.span(node))
    }

    fn stmt(&self, kind: StmtKind, node: Node<'_>) -> Stmt {
        Stmt {
            kind,
            span: self.span(node),
        }
    }

    /// A module-level name that has no value yet.
    fn declare(&mut self, name: &str) {
        if self.open.len() <= 1 && !name.is_empty() {
            self.module.declared.push(Arc::from(name));
        }
    }

    fn name(&self, name: &str, node: Node<'_>) -> Expr {
        self.expr(ExprKind::Name(Arc::from(name)), node)
    }

    /// A call of something that has a meaning of ours and no name in the language.
    fn call_of(&self, name: &str, values: Vec<Expr>, node: Node<'_>) -> ExprKind {
        let args = values.into_iter().map(|value| Arg { name: None, value });
        ExprKind::Call {
            callee: Box::new(self.name(name, node)),
            args: args.collect(),
            is_new: false,
        }
    }

    fn opaque(&self, node: Node<'_>) -> Expr {
        self.expr(ExprKind::Opaque(Vec::new()), node)
    }

    /// A name nobody wrote.
    fn fresh(&mut self) -> Sym {
        self.fresh += 1;
        Arc::from(format!("%{}", self.fresh).as_str())
    }

    /// Makes room for a function whose body is lowered next.
    fn begin(&mut self, name: Sym, node: Node<'_>) -> usize {
        let index = self.module.functions.len();
        self.module.functions.push(Function {
            name,
            class: self.class.clone(),
            params: Vec::new(),
            receiver: None,
            body: Vec::new(),
            decorators: Vec::new(),
            span: self.span(node),
            is_public: false,
            is_ctor: false,
            makes: None,
            is_test: false,
            is_async: self
                .s(node)
                .strip_prefix("async")
                .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)),
            parent: self.open.last().copied(),
            damaged: node.has_error(),
            is_macro: false,
        });
        self.open.push(index);
        index
    }

    fn end(&mut self, index: usize) -> &mut Function {
        self.open.pop();
        &mut self.module.functions[index]
    }

    /// Runs something one level deeper, or gives up below the bound.
    fn deeper<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> Option<R> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        Some(result)
    }
}

fn line(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
}

fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor)
        .filter(|child| !child.is_extra())
        .collect()
}

fn all_children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

fn field<'n>(node: Node<'n>, name: &str) -> Option<Node<'n>> {
    node.child_by_field_name(name)
}

/// What an operator does, as far as the languages agree.
fn operator(op: &str) -> Operation {
    match op {
        "+" => Operation::Add,
        "|" => Operation::BitOr,
        "&" => Operation::BitAnd,
        "&&" | "and" => Operation::And,
        "||" | "or" => Operation::Or,
        "??" => Operation::Coalesce,
        "==" | "===" => Operation::Eq,
        "!=" | "!==" => Operation::Ne,
        "-" => Operation::Sub,
        "*" => Operation::Mul,
        "/" => Operation::Quot,
        "%" => Operation::Rem,
        "<" => Operation::Lt,
        "<=" => Operation::Le,
        ">" => Operation::Gt,
        ">=" => Operation::Ge,
        _ => Operation::Other,
    }
}

/// A string literal's content with the usual escapes undone.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('0') => out.push('\0'),
            Some(q @ ('\\' | '\'' | '"' | '`' | '/')) => out.push(q),
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
            None => out.push('\\'),
        }
    }
    out
}

/// A number literal, as far as it matters.
fn number(text: &str) -> i64 {
    if let Some(rest) = text.strip_prefix('-') {
        return number(rest).wrapping_neg();
    }
    let digits: String = text.chars().filter(|c| *c != '_' && *c != '\'').collect();
    if let Some(hex) = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        let hex: String = hex.chars().take_while(char::is_ascii_hexdigit).collect();
        return i64::from_str_radix(&hex, 16).unwrap_or(i64::MAX);
    }
    if let Some(octal) = digits.strip_prefix("0o") {
        return i64::from_str_radix(octal, 8).unwrap_or(i64::MAX);
    }
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(end);
    if rest.starts_with(['.', 'e', 'E']) {
        return i64::MAX;
    }
    whole.parse().unwrap_or(i64::MAX)
}

/// Lowers a piece of text as if it stood at a span.
fn reparse<R>(
    cx: &mut Cx<'_>,
    lang: Lang,
    source: &str,
    span: Span,
    run: impl FnOnce(&mut Cx<'_>, Node<'_>) -> Option<R>,
) -> Option<R> {
    if source.len() > 4096 {
        return None;
    }
    cx.deeper(|cx| {
        let mut parser = Parser::new();
        parser.set_language(&lang.grammar()).ok()?;
        let tree = parser.parse(source, None)?;
        let mut inner = Cx::new(cx.file, source);
        std::mem::swap(&mut inner.module, &mut cx.module);
        std::mem::swap(&mut inner.open, &mut cx.open);
        inner.depth = cx.depth;
        inner.fresh = cx.fresh + 1000;
        inner.pinned = Some(span);
        let result = run(&mut inner, tree.root_node());
        std::mem::swap(&mut inner.module, &mut cx.module);
        std::mem::swap(&mut inner.open, &mut cx.open);
        cx.fresh = inner.fresh;
        result
    })
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_language_are_read() {
        assert_eq!(number("0x1F"), 31);
        assert_eq!(number("0o17"), 15);
        assert_eq!(number("-1"), -1);
        assert_eq!(number("1_000"), 1000);
        assert_eq!(number("255u32"), 255);
        assert_eq!(number("1.5e3"), i64::MAX);
    }

    #[test]
    fn deep_nesting_does_not_exhaust_the_stack() {
        for lang in Lang::ALL {
            let text = format!("{}x{}", "(".repeat(5000), ")".repeat(5000));
            lower(lang, 0, &text);
            let text = "{[if(".repeat(3000);
            lower(lang, 0, &text);
        }
    }
}
