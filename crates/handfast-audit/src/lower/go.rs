//! Go: statements, functions, classes, modules.

#[path = "go_expr.rs"]
mod expression;

use std::sync::Arc;

use tree_sitter::Node;

use super::{Cx, children, field};
use crate::ir::{Class, Expr, ExprKind, Operation, Param, Stmt, StmtKind, Sym};

use self::expression::expr;

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
        "statement_list" => {
            out.extend(block(cx, node));
            return;
        }
        "block" | "ERROR" | "labeled_statement" => StmtKind::Block(block(cx, node)),
        "import_declaration" => {
            import(cx, node);
            return;
        }
        "function_declaration" | "method_declaration" => {
            function_item(cx, node, out);
            return;
        }
        "type_declaration" => {
            types(cx, node);
            return;
        }
        "var_declaration" | "const_declaration" | "var_spec_list" => {
            for spec in children(node) {
                if spec.kind() == "var_spec_list" {
                    statement(cx, spec, out);
                } else {
                    spec_statement(cx, spec, out);
                }
            }
            return;
        }
        "short_var_declaration" | "assignment_statement" => {
            assignment(cx, node, out);
            return;
        }
        "expression_statement" | "go_statement" => match children(node).first() {
            Some(inner) => StmtKind::Expr(expr(cx, *inner)),
            None => return,
        },
        "send_statement" | "inc_statement" | "dec_statement" => {
            let parts = children(node).iter().map(|n| expr(cx, *n)).collect();
            StmtKind::Expr(cx.expr(ExprKind::Opaque(parts), node))
        }
        "defer_statement" => {
            let inner = children(node).first().map(|n| expr(cx, *n));
            let Some(inner) = inner else { return };
            StmtKind::Defer(vec![cx.stmt(StmtKind::Expr(inner), node)])
        }
        "return_statement" => {
            let value = children(node).first().map(|list| {
                let parts = children(*list);
                if list.kind() == "expression_list" && parts.len() > 1 {
                    let parts = parts.iter().map(|n| expr(cx, *n)).collect();
                    cx.expr(ExprKind::List(parts), *list)
                } else {
                    expr(
                        cx,
                        parts
                            .first()
                            .copied()
                            .filter(|_| list.kind() == "expression_list")
                            .unwrap_or(*list),
                    )
                }
            });
            StmtKind::Return(value)
        }
        "break_statement" => StmtKind::Break,
        "continue_statement" => StmtKind::Continue,
        "if_statement" => {
            if let Some(init) = field(node, "initializer") {
                statement(cx, init, out);
            }
            let cond = match field(node, "condition") {
                Some(cond) => expr(cx, cond),
                None => cx.opaque(node),
            };
            let then = body(cx, field(node, "consequence"));
            let mut otherwise = Vec::new();
            if let Some(alternative) = field(node, "alternative") {
                cx.deeper(|cx| statement(cx, alternative, &mut otherwise));
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            }
        }
        "for_statement" => for_statement(cx, node, out),
        "expression_switch_statement" | "type_switch_statement" | "select_statement" => {
            if let Some(init) = field(node, "initializer") {
                statement(cx, init, out);
            }
            switch(cx, node)
        }
        "package_clause" | "empty_statement" => return,
        _ => StmtKind::Expr(expr(cx, node)),
    };
    out.push(cx.stmt(kind, node));
}

fn spec_statement(cx: &mut Cx<'_>, spec: Node<'_>, out: &mut Vec<Stmt>) {
    let Some(name) = field(spec, "name") else {
        return;
    };
    let Some(value) = field(spec, "value") else {
        let mut cursor = spec.walk();
        let names: Vec<_> = spec
            .children_by_field_name("name", &mut cursor)
            .map(|name| cx.s(name).to_owned())
            .collect();
        for name in names {
            cx.declare(&name);
        }
        return;
    };
    let values = children(value);
    let value = values
        .first()
        .copied()
        .filter(|_| value.kind() == "expression_list")
        .unwrap_or(value);
    let target = cx.expr(ExprKind::Name(cx.sym(name)), name);
    let value = expr(cx, value);
    out.push(cx.stmt(StmtKind::Assign { target, value }, spec));
}

fn assignment(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let (Some(left), Some(right)) = (field(node, "left"), field(node, "right")) else {
        return;
    };
    let op = field(node, "operator").map_or("", |n| cx.s(n));
    let lefts = children(left);
    let rights = children(right);
    if let ([l], [r]) = (lefts.as_slice(), rights.as_slice()) {
        let target = expr(cx, *l);
        let mut value = expr(cx, *r);
        if op == "+=" {
            let old = Box::new(expr(cx, *l));
            value = cx.expr(ExprKind::Binary(Operation::Add, old, Box::new(value)), node);
        }
        out.push(cx.stmt(StmtKind::Assign { target, value }, node));
        return;
    }
    let targets = lefts.iter().map(|n| expr(cx, *n)).collect();
    let target = cx.expr(ExprKind::List(targets), left);
    let value = match rights.as_slice() {
        [one] => expr(cx, *one),
        many => {
            let parts = many.iter().map(|n| expr(cx, *n)).collect();
            cx.expr(ExprKind::List(parts), right)
        }
    };
    out.push(cx.stmt(StmtKind::Assign { target, value }, node));
}

fn for_statement(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) -> StmtKind {
    let inner = field(node, "body");
    let head = children(node).into_iter().find(|n| Some(*n) != inner);
    match head.map(|n| (n.kind(), n)) {
        Some(("range_clause", clause)) => {
            let iter = match field(clause, "right") {
                Some(right) => expr(cx, right),
                None => cx.opaque(clause),
            };
            let names = field(clause, "left").map(children).unwrap_or_default();
            let target = match names.as_slice() {
                [] => cx.opaque(clause),
                [one] => expr(cx, *one),
                many => {
                    let parts = many.iter().map(|n| expr(cx, *n)).collect();
                    cx.expr(ExprKind::List(parts), clause)
                }
            };
            // `for i := range xs` gives the index or the key only.
            let target = if names.len() == 1 {
                let rest = Expr::new(ExprKind::Opaque(Vec::new()), target.span);
                cx.expr(ExprKind::List(vec![target, rest]), clause)
            } else {
                target
            };
            StmtKind::ForEach {
                target,
                iter,
                body: body(cx, inner),
                is_pair: true,
            }
        }
        Some(("for_clause", clause)) => {
            if let Some(init) = field(clause, "initializer") {
                statement(cx, init, out);
            }
            let cond = field(clause, "condition").map(|n| expr(cx, n));
            let mut step = Vec::new();
            if let Some(update) = field(clause, "update") {
                statement(cx, update, &mut step);
            }
            StmtKind::While {
                cond,
                step,
                body: body(cx, inner),
                body_first: false,
            }
        }
        Some((_, cond)) => {
            let cond = Some(expr(cx, cond));
            StmtKind::While {
                cond,
                step: Vec::new(),
                body: body(cx, inner),
                body_first: false,
            }
        }
        None => StmtKind::While {
            cond: None,
            step: Vec::new(),
            body: body(cx, inner),
            body_first: false,
        },
    }
}

fn switch(cx: &mut Cx<'_>, node: Node<'_>) -> StmtKind {
    let subject = field(node, "value").map(|n| expr(cx, n));
    let mut chain: Vec<Stmt> = Vec::new();
    for case in children(node).into_iter().rev() {
        match case.kind() {
            "expression_case" | "type_case" | "communication_case" => {
                let value = field(case, "value");
                let mut inner = Vec::new();
                for child in children(case) {
                    if Some(child) != value {
                        cx.deeper(|cx| statement(cx, child, &mut inner));
                    }
                }
                let mut cond: Option<Expr> = None;
                for one in value.map(children).unwrap_or_default() {
                    let mut test = expr(cx, one);
                    if let Some(subject) = &subject {
                        let kind = ExprKind::Binary(
                            Operation::Eq,
                            Box::new(subject.clone()),
                            Box::new(test),
                        );
                        test = cx.expr(kind, case);
                    }
                    cond = Some(match cond {
                        Some(before) => cx.expr(
                            ExprKind::Binary(Operation::Or, Box::new(before), Box::new(test)),
                            case,
                        ),
                        None => test,
                    });
                }
                let cond = cond.unwrap_or_else(|| cx.opaque(case));
                let kind = StmtKind::If {
                    cond,
                    then: inner,
                    otherwise: std::mem::take(&mut chain),
                };
                chain = vec![cx.stmt(kind, case)];
            }
            "default_case" => chain = block(cx, case),
            _ => {}
        }
    }
    StmtKind::Block(chain)
}

fn import(cx: &mut Cx<'_>, node: Node<'_>) {
    let mut pending = children(node);
    while let Some(spec) = pending.pop() {
        if spec.kind() == "import_spec_list" {
            pending.extend(children(spec));
            continue;
        }
        let Some(path) = field(spec, "path") else {
            continue;
        };
        let path = cx.s(path).trim_matches(['"', '`']).to_owned();
        // The last part that is not a version names the package.
        let last = path
            .rsplit('/')
            .find(|part| !(part.starts_with('v') && part[1..].chars().all(|c| c.is_ascii_digit())))
            .unwrap_or(&path)
            .to_owned();
        // `gopkg.in/yaml.v3` is the package `yaml`.
        let is_version = |end: &str| {
            end.strip_prefix('v')
                .is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
        };
        let last = match last.rsplit_once('.') {
            Some((name, end)) if is_version(end) => name.to_owned(),
            _ => last,
        };
        let local = field(spec, "name").map_or(last.clone(), |n| cx.s(n).to_owned());
        // Known packages go by their full path, dots for slashes; the standard ones by last part.
        let target = if path.contains('.') {
            path.replace('/', ".")
        } else {
            last
        };
        cx.module
            .imports
            .push((Arc::from(local.as_str()), Arc::from(target.as_str())));
    }
}

fn types(cx: &mut Cx<'_>, node: Node<'_>) {
    for spec in children(node) {
        let (Some(name), Some(ty)) = (field(spec, "name"), field(spec, "type")) else {
            continue;
        };
        if ty.kind() != "struct_type" {
            if matches!(
                ty.kind(),
                "type_identifier" | "slice_type" | "qualified_type"
            ) {
                cx.module.named.push(cx.sym(name));
            }
            continue;
        }
        let mut fields = Vec::new();
        for list in children(ty) {
            for one in children(list) {
                let Some(ty) = field(one, "type") else {
                    continue;
                };
                // `dir, file string`: several of one type.
                let mut cursor = one.walk();
                for name in one.children_by_field_name("name", &mut cursor) {
                    fields.push((cx.sym(name), cx.sym(ty)));
                }
            }
        }
        cx.module.classes.push(Class {
            name: cx.sym(name),
            bases: Vec::new(),
            fields,
        });
    }
}

/// The type that a function with the name of a constructor returns.
fn made_by<'t>(name: &str, result: &'t str) -> Option<&'t str> {
    let lower = name.to_ascii_lowercase();
    let is_maker = ["new", "open", "make", "must", "create", "load"]
        .iter()
        .any(|start| lower.starts_with(start));
    let first = result.trim_start_matches('(').split(',').next()?;
    let first = first.rsplit(' ').next().unwrap_or(first);
    let ty = first.trim_start_matches('*').trim_end_matches(')').trim();
    let is_type = !ty.is_empty() && ty.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_basic = matches!(ty, "string" | "int" | "error" | "bool" | "byte" | "any");
    (is_maker && is_type && !is_basic).then_some(ty)
}

fn function_item(cx: &mut Cx<'_>, node: Node<'_>, out: &mut Vec<Stmt>) {
    let Some(name) = field(node, "name") else {
        return;
    };
    let name = cx.sym(name);
    let mut receiver = None;
    let mut class = None;
    if let Some(list) = field(node, "receiver")
        && let Some(one) = children(list).first()
    {
        receiver = field(*one, "name")
            .map(|n| cx.sym(n))
            .or_else(|| Some(Arc::from("_")));
        class = field(*one, "type").map(|n| {
            Arc::from(
                cx.s(n)
                    .trim_start_matches('*')
                    .split('[')
                    .next()
                    .unwrap_or(""),
            )
        });
    }
    let saved = std::mem::replace(&mut cx.class, class);
    let index = cx.begin(name.clone(), node);
    cx.class = None;
    let params = parameters(cx, field(node, "parameters"));
    let statements = body(cx, field(node, "body"));
    cx.class = saved;
    let has_receiver = receiver.is_some();
    let makes = made_by(&name, field(node, "result").map_or("", |n| cx.s(n)))
        .filter(|_| !has_receiver)
        .map(Arc::from);
    let is_test_file = name.starts_with("Test") || name.starts_with("Fuzz");
    let function = cx.end(index);
    function.params = params;
    function.receiver = receiver;
    function.body = statements;
    function.makes = makes;
    function.is_public = name.chars().next().is_some_and(char::is_uppercase);
    function.is_test = is_test_file && !has_receiver;
    if !has_receiver {
        out.push(cx.stmt(
            StmtKind::Bind {
                name,
                function: index,
            },
            node,
        ));
    }
}

fn parameters(cx: &mut Cx<'_>, list: Option<Node<'_>>) -> Vec<Param> {
    let mut out = Vec::new();
    for one in list.map(children).unwrap_or_default() {
        let ty: Option<Sym> = field(one, "type").map(|n| cx.sym(n));
        let mut cursor = one.walk();
        let names: Vec<_> = one.children_by_field_name("name", &mut cursor).collect();
        for name in names {
            out.push(Param {
                name: cx.sym(name),
                ty: ty.clone(),
                pattern: None,
            });
        }
    }
    out
}
