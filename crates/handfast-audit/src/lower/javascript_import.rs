//! What comes from other modules, by `import` and by `require`.

use std::sync::Arc;

use tree_sitter::Node;

use super::super::{Cx, children, field};

/// `const fs = require("fs")`, `const { join } = require("path")`.
pub(super) fn require(cx: &mut Cx<'_>, name: Node<'_>, value: Node<'_>) -> bool {
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
pub(super) fn required(cx: &Cx<'_>, value: Node<'_>) -> Option<String> {
    let function = field(value, "function").map(|n| cx.s(n));
    if value.kind() != "call_expression" || function != Some("require") {
        return None;
    }
    let argument = field(value, "arguments").and_then(|n| children(n).first().copied());
    let argument = argument.filter(|n| n.kind() == "string")?;
    Some(clean_source(cx.s(argument)))
}

pub(super) fn bind_import(cx: &mut Cx<'_>, name: Node<'_>, source: &str) {
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
pub(super) fn clean_source(text: &str) -> String {
    let text = text.trim_matches(['"', '\'', '`']);
    let text = text.strip_prefix("node:").unwrap_or(text);
    match text {
        "fs/promises" | "graceful-fs" | "mz/fs" => "fs".to_owned(),
        "path/posix" | "path/win32" => "path".to_owned(),
        // `./store.js` is the module `./store`, whatever it was written in.
        other if other.starts_with('.') => {
            let known = [".js", ".mjs", ".cjs", ".ts", ".mts", ".jsx", ".tsx"];
            let bare = known.iter().find_map(|end| other.strip_suffix(end));
            bare.unwrap_or(other).to_owned()
        }
        other => other.to_owned(),
    }
}

pub(super) fn import(cx: &mut Cx<'_>, node: Node<'_>) {
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
                    bind_named(cx, part, &source);
                }
                _ => {}
            }
        }
    }
}

/// `{ a, b as c }` of an import or a re-export.
pub(super) fn bind_named(cx: &mut Cx<'_>, list: Node<'_>, source: &str) {
    for one in children(list) {
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
