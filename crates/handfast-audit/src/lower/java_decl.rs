//! Java: imports, classes, records, methods, fields.

use std::sync::Arc;

use tree_sitter::Node;

use super::super::{Cx, children, field};
use super::body;
use super::expression::{arguments, expr, simple_type};
use crate::ir::{Class, Expr, ExprKind, Param, Stmt, StmtKind, Sym};

/// Packages whose types the knowledge base speaks of, as `java.Path`, `java.HttpServletRequest`.
const KNOWN: [&str; 17] = [
    "java.",
    "javax.",
    "jakarta.",
    "org.springframework.",
    "org.apache.commons.",
    "org.apache.tomcat.",
    "org.apache.tools.",
    "com.google.common.",
    "com.google.gson.",
    "com.fasterxml.jackson.",
    "com.sun.net.httpserver.",
    "io.javalin.",
    "io.micronaut.",
    "io.undertow.",
    "io.vertx.",
    "org.yaml.snakeyaml.",
    "spark.",
];

/// What `import java.io.*` brings, as far as it matters.
const STARS: [(&str, &[&str]); 6] = [
    (
        "java.io",
        &[
            "BufferedReader",
            "File",
            "FileInputStream",
            "FileOutputStream",
            "FileReader",
            "FileWriter",
            "InputStreamReader",
            "PrintStream",
            "PrintWriter",
            "RandomAccessFile",
        ],
    ),
    (
        "java.nio.file",
        &[
            "FileSystems",
            "Files",
            "LinkOption",
            "Path",
            "Paths",
            "SecureDirectoryStream",
            "StandardCopyOption",
            "StandardOpenOption",
        ],
    ),
    ("java.util.zip", &["ZipEntry", "ZipFile", "ZipInputStream"]),
    (
        "java.util",
        &[
            "Base64", "List", "Map", "Objects", "Optional", "Scanner", "UUID",
        ],
    ),
    (
        "jakarta.servlet.http",
        &["HttpServletRequest", "HttpServletResponse", "Part"],
    ),
    (
        "javax.servlet.http",
        &["HttpServletRequest", "HttpServletResponse", "Part"],
    ),
];

pub(super) fn import(cx: &mut Cx<'_>, node: Node<'_>) {
    let Some(inner) = children(node).first().copied() else {
        return;
    };
    let full = cx.s(inner);
    let is_star = children(node).iter().any(|n| n.kind() == "asterisk");
    if is_star {
        let known = STARS.iter().find(|(package, _)| *package == full);
        for name in known.map(|(_, names)| *names).unwrap_or_default() {
            let target = format!("java.{name}");
            let import = (Arc::from(*name), Arc::from(target.as_str()));
            cx.module.imports.push(import);
        }
        return;
    }
    let local = full.rsplit('.').next().unwrap_or(full);
    let target = known_name(full).unwrap_or_else(|| full.to_owned());
    cx.module
        .imports
        .push((Arc::from(local), Arc::from(target.as_str())));
}

/// `java.io.File` as the knowledge base calls it, from the first type on:
/// `java.StandardOpenOption.CREATE`.
fn known_name(full: &str) -> Option<String> {
    KNOWN.iter().find(|start| full.starts_with(**start))?;
    let types = full
        .split('.')
        .skip_while(|part| !part.starts_with(char::is_uppercase));
    let types: Vec<&str> = types.collect();
    (!types.is_empty()).then(|| format!("java.{}", types.join(".")))
}

/// `new java.io.File(name)`: what is written with its package needs no import.
pub(super) fn written_out(cx: &mut Cx<'_>, root: Node<'_>) {
    let text = cx.s(root);
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    for word in text.split(|c: char| !is_part(c)) {
        if !word.contains('.') || !word.starts_with(char::is_lowercase) {
            continue;
        }
        let Some(full) = known_name(word) else {
            continue;
        };
        let name = full.split('.').nth(1).unwrap_or("");
        let is_there = cx.module.imports.iter().any(|(local, _)| **local == *name);
        if !name.is_empty() && !is_there {
            let target = format!("java.{name}");
            let import = (Arc::from(name), Arc::from(target.as_str()));
            cx.module.imports.push(import);
        }
    }
}

/// What stands before a declaration: words, and annotations as calls or names.
struct Modifiers {
    words: Vec<String>,
    annotations: Vec<Expr>,
}

impl Modifiers {
    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|known| known == word)
    }
}

fn modifiers(cx: &mut Cx<'_>, node: Node<'_>) -> Modifiers {
    let mut out = Modifiers {
        words: Vec::new(),
        annotations: Vec::new(),
    };
    for list in children(node) {
        if list.kind() != "modifiers" {
            continue;
        }
        for one in super::super::all_children(list) {
            if !matches!(one.kind(), "annotation" | "marker_annotation") {
                out.words.push(cx.s(one).to_owned());
                continue;
            }
            let Some(name) = field(one, "name") else {
                continue;
            };
            let name = cx.s(name);
            let name = name.rsplit('.').next().unwrap_or(name);
            out.annotations.push(cx.name(name, one));
        }
    }
    out
}

pub(super) fn class(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let Some(name) = field(node, "name").map(|n| cx.sym(n)) else {
        return;
    };
    let mut bases = Vec::new();
    for list in children(node) {
        if matches!(
            list.kind(),
            "superclass" | "super_interfaces" | "extends_interfaces"
        ) {
            let of = children(list);
            let inner = match of.first() {
                Some(first) if first.kind() == "type_list" => children(*first),
                _ => of,
            };
            bases.extend(inner.iter().map(|n| simple_type(cx, *n)));
        }
    }
    let mut members = field(node, "body").map(children).unwrap_or_default();
    if let Some(more) = members
        .iter()
        .find(|n| n.kind() == "enum_body_declarations")
    {
        members = children(*more);
    }
    let saved = cx.class.replace(name.clone());
    let open = std::mem::take(&mut cx.open);
    cx.open.extend(open.first());
    let mut parts = Parts::default();
    if node.kind() == "record_declaration" {
        record(cx, node, &mut parts);
    }
    for member in &members {
        if matches!(member.kind(), "field_declaration" | "constant_declaration") {
            fields(
                cx,
                *member,
                node.kind() == "interface_declaration",
                &mut parts,
                out,
            );
        }
    }
    cx.module.classes.push(Class {
        name: name.clone(),
        bases: bases.clone(),
        fields: parts.fields,
    });
    let mut has_ctor = false;
    for member in &members {
        match member.kind() {
            "method_declaration" => cx.deeper(|cx| method(cx, *member)).unwrap_or_default(),
            "constructor_declaration" | "compact_constructor_declaration" => {
                has_ctor = true;
                constructor(cx, *member, &name, bases.first(), &parts.initial);
            }
            "class_declaration"
            | "record_declaration"
            | "interface_declaration"
            | "enum_declaration" => {
                cx.deeper(|cx| class(cx, *member, out));
            }
            "static_initializer" => out.extend(body(cx, children(*member).first().copied())),
            _ => {}
        }
    }
    if !has_ctor && (!parts.initial.is_empty() || !bases.is_empty()) {
        implied_constructor(cx, node, &name, bases.first(), parts.params, parts.initial);
    }
    cx.class = saved;
    cx.open = open;
}

/// What a class is made of besides its methods.
#[derive(Default)]
struct Parts {
    fields: Vec<(Sym, Sym)>,
    /// Statements with which every constructor begins.
    initial: Vec<Stmt>,
    /// Parameters of a record's implicit constructor.
    params: Vec<Param>,
}

/// Fields of the object are set by its constructor, fields of the class by the module.
fn fields(
    cx: &mut Cx<'_>,
    member: Node<'_>,
    is_constant: bool,
    parts: &mut Parts,
    out: &mut Vec<Stmt>,
) {
    let words = modifiers(cx, member);
    let is_static = is_constant || words.has("static");
    let ty = field(member, "type").map_or(Arc::from(""), |n| simple_type(cx, n));
    let mut cursor = member.walk();
    let all: Vec<_> = member
        .children_by_field_name("declarator", &mut cursor)
        .collect();
    for one in all {
        let Some(name) = field(one, "name") else {
            continue;
        };
        let value = field(one, "value").map(|n| expr(cx, n));
        if is_static {
            match value {
                Some(value) => {
                    let value = cx.expr(ExprKind::Cast(Box::new(value), ty.clone()), one);
                    let target = cx.expr(ExprKind::Name(cx.sym(name)), name);
                    out.push(cx.stmt(StmtKind::Assign { target, value }, one));
                }
                None => cx.declare(cx.s(name)),
            }
            continue;
        }
        parts.fields.push((cx.sym(name), ty.clone()));
        if let Some(value) = value {
            let target = own(cx, cx.sym(name), name);
            parts
                .initial
                .push(cx.stmt(StmtKind::Assign { target, value }, one));
        }
    }
}

fn own(cx: &Cx<'_>, name: Sym, node: Node<'_>) -> Expr {
    let this = Box::new(cx.name("this", node));
    cx.expr(ExprKind::Field(this, name), node)
}

/// A record's parts are its fields, its constructor's parameters, and methods that give them.
fn record(cx: &mut Cx<'_>, node: Node<'_>, parts: &mut Parts) {
    parts.params = parameters(cx, field(node, "parameters"));
    for param in &parts.params {
        let ty = param.ty.clone().unwrap_or_else(|| Arc::from(""));
        parts.fields.push((param.name.clone(), ty));
        let target = own(cx, param.name.clone(), node);
        let value = cx.name(&param.name, node);
        parts
            .initial
            .push(cx.stmt(StmtKind::Assign { target, value }, node));
        let index = cx.begin(param.name.clone(), node);
        let value = own(cx, param.name.clone(), node);
        let give = cx.stmt(StmtKind::Return(Some(value)), node);
        let function = cx.end(index);
        function.body = vec![give];
        function.receiver = Some(Arc::from("this"));
    }
}

fn method(cx: &mut Cx<'_>, node: Node<'_>) {
    let Some(name) = field(node, "name").map(|n| cx.sym(n)) else {
        return;
    };
    let words = modifiers(cx, node);
    let index = cx.begin(name, node);
    let class = cx.class.take();
    let params = parameters(cx, field(node, "parameters"));
    let statements = body(cx, field(node, "body"));
    cx.class = class;
    let is_test = words
        .annotations
        .iter()
        .any(|one| one.dotted().is_some_and(|name| name.ends_with("Test")));
    let function = cx.end(index);
    function.params = params;
    function.body = statements;
    function.receiver = (!words.has("static")).then(|| Arc::from("this"));
    function.is_public = !words.has("private") && !words.has("abstract");
    function.is_test = is_test;
    function.decorators = words.annotations;
}

fn constructor(cx: &mut Cx<'_>, node: Node<'_>, class: &Sym, base: Option<&Sym>, initial: &[Stmt]) {
    let words = modifiers(cx, node);
    let index = cx.begin(class.clone(), node);
    let mut params = parameters(cx, field(node, "parameters"));
    let is_compact = node.kind() == "compact_constructor_declaration";
    if is_compact && let Some(whole) = node.parent().and_then(|n| n.parent()) {
        params = parameters(cx, field(whole, "parameters"));
    }
    let inner = body(cx, field(node, "body"));
    let calls_other = field(node, "body")
        .map(children)
        .unwrap_or_default()
        .first()
        .is_some_and(|n| n.kind() == "explicit_constructor_invocation");
    let mut statements = Vec::new();
    if !calls_other {
        statements.extend(base.map(|base| implied_super(cx, base, node)));
    }
    // A compact constructor checks its parameters before they become fields.
    if is_compact {
        statements.extend(inner);
        statements.extend(initial.iter().cloned());
    } else {
        statements.extend(initial.iter().cloned());
        statements.extend(inner);
    }
    let function = cx.end(index);
    function.params = params;
    function.body = statements;
    function.receiver = Some(Arc::from("this"));
    function.is_ctor = true;
    function.is_public = !words.has("private");
}

fn implied_constructor(
    cx: &mut Cx<'_>,
    node: Node<'_>,
    class: &Sym,
    base: Option<&Sym>,
    params: Vec<Param>,
    initial: Vec<Stmt>,
) {
    let index = cx.begin(class.clone(), node);
    let mut statements: Vec<Stmt> = base
        .map(|base| implied_super(cx, base, node))
        .into_iter()
        .collect();
    statements.extend(initial);
    let function = cx.end(index);
    function.params = params;
    function.body = statements;
    function.receiver = Some(Arc::from("this"));
    function.is_ctor = true;
}

fn implied_super(cx: &Cx<'_>, base: &Sym, node: Node<'_>) -> Stmt {
    let callee = cx.expr(
        ExprKind::Field(Box::new(cx.name("super", node)), base.clone()),
        node,
    );
    let call = ExprKind::Call {
        callee: Box::new(callee),
        args: Vec::new(),
        is_new: false,
    };
    cx.stmt(StmtKind::Expr(cx.expr(call, node)), node)
}

/// `super(root)`, `this(root)`: the constructor of the base or of the same class.
pub(super) fn constructor_call(cx: &mut Cx<'_>, node: Node<'_>) -> Expr {
    let of = field(node, "constructor").map_or("super", |n| cx.s(n));
    let mut up = node.parent();
    while let Some(parent) =
        up.filter(|n| !n.kind().ends_with("_declaration") || n.kind().contains("constructor"))
    {
        up = parent.parent();
    }
    let name: Sym = match (of, up) {
        ("this", Some(class)) => field(class, "name").map_or(Arc::from(""), |n| cx.sym(n)),
        (_, Some(class)) => {
            let base = children(class)
                .into_iter()
                .find(|n| n.kind() == "superclass");
            let base = base.and_then(|n| children(n).first().copied());
            base.map_or(Arc::from(""), |n| simple_type(cx, n))
        }
        _ => Arc::from(""),
    };
    let callee = Box::new(cx.name(of, node));
    let callee = Box::new(cx.expr(ExprKind::Field(callee, name), node));
    let args = arguments(cx, node);
    let call = ExprKind::Call {
        callee,
        args,
        is_new: false,
    };
    cx.expr(call, node)
}

/// Annotations by which a framework fills a parameter end like this.
const FILLED: [&str; 8] = [
    "Param", "Variable", "Body", "Header", "Part", "Payload", "Value", "Query",
];

pub(super) fn parameters(cx: &mut Cx<'_>, list: Option<Node<'_>>) -> Vec<Param> {
    let mut out = Vec::new();
    for one in list.map(children).unwrap_or_default() {
        let name = field(one, "name").or_else(|| match one.kind() {
            "identifier" => Some(one),
            "spread_parameter" => children(one)
                .into_iter()
                .find(|n| n.kind() == "variable_declarator")
                .and_then(|n| field(n, "name")),
            _ => None,
        });
        let Some(name) = name else { continue };
        let ty = field(one, "type").map(|n| simple_type(cx, n));
        let words = modifiers(cx, one);
        let filled = words.annotations.iter().find_map(|annotation| {
            let name = annotation.dotted()?;
            FILLED.iter().any(|end| name.ends_with(end)).then_some(name)
        });
        let ty = match (ty, filled) {
            (Some(ty), Some(by)) => Some(Arc::from(format!("@{by}<{ty}>").as_str())),
            (ty, _) => ty,
        };
        out.push(Param {
            name: cx.sym(name),
            ty,
            pattern: None,
        });
    }
    out
}
