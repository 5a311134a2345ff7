//! Who calls whom, by name: which functions are entries, and which can reach a path operation.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Expr, ExprKind, Stmt, StmtKind};
use crate::kb::Knowledge;
use crate::program::Program;
use crate::term::FnId;

/// Calls of a whole program, by the last part of their names.
#[derive(Debug, Default)]
pub(crate) struct CallGraph {
    /// Names that functions call, per family of languages.
    called: BTreeMap<&'static str, BTreeSet<String>>,
    /// Functions from which a path operation can be reached.
    reaching: BTreeSet<FnId>,
}

impl CallGraph {
    pub(crate) fn new(program: &Program, knowledge: &Knowledge) -> Self {
        let mut graph = Self::default();
        let mut calls: BTreeMap<FnId, BTreeSet<String>> = BTreeMap::new();
        for (file, source) in program.files.iter().enumerate() {
            let file = u32::try_from(file).unwrap_or(u32::MAX);
            let out = graph.called.entry(source.lang.family()).or_default();
            for (index, function) in source.module.functions.iter().enumerate() {
                let mut names = BTreeSet::new();
                let mut pending: Vec<&Stmt> = function.body.iter().collect();
                while let Some(statement) = pending.pop() {
                    calls_in_statement(statement, &mut names, &mut pending);
                }
                if !source.is_test && !function.is_test {
                    let own = &*function.name;
                    out.extend(names.iter().filter(|name| **name != *own).cloned());
                }
                calls.insert((file, u32::try_from(index).unwrap_or(u32::MAX)), names);
            }
        }
        graph.reach(program, knowledge, &calls);
        graph
    }

    /// From the functions that call a path operation themselves to all that call those.
    fn reach(
        &mut self,
        program: &Program,
        knowledge: &Knowledge,
        calls: &BTreeMap<FnId, BTreeSet<String>>,
    ) {
        let mut names: BTreeMap<&'static str, BTreeSet<&str>> = BTreeMap::new();
        for source in &program.files {
            let family = source.lang.family();
            names.entry(family).or_insert_with(|| {
                let words = knowledge.family(source.lang).sink_words();
                words.iter().map(|(_, last)| last.as_str()).collect()
            });
        }
        let mut grown = true;
        while grown {
            grown = false;
            for (id, called) in calls {
                if self.reaching.contains(id) {
                    continue;
                }
                let family = program.file(id.0).lang.family();
                let Some(known) = names.get_mut(family) else {
                    continue;
                };
                let reaches = called.iter().any(|name| {
                    known.contains(name.as_str())
                        || known.contains(name.strip_suffix("Sync").unwrap_or(name))
                });
                if reaches {
                    grown = true;
                    self.reaching.insert(*id);
                    let function = program.function(*id);
                    known.insert(&function.name);
                    // What happens in a closure happens in the function around it.
                    let mut parent = function.parent;
                    while let Some(index) = parent {
                        let outer = (id.0, u32::try_from(index).unwrap_or(u32::MAX));
                        self.reaching.insert(outer);
                        let function = program.function(outer);
                        known.insert(&function.name);
                        parent = function.parent;
                    }
                }
            }
        }
    }

    pub(crate) fn is_called(&self, family: &str, name: &str) -> bool {
        self.called
            .get(family)
            .is_some_and(|names| names.contains(name))
    }

    pub(crate) fn reaches(&self, id: FnId) -> bool {
        self.reaching.contains(&id)
    }
}

fn calls_in_statement<'s>(
    statement: &'s Stmt,
    out: &mut BTreeSet<String>,
    pending: &mut Vec<&'s Stmt>,
) {
    let mut exprs: Vec<&Expr> = Vec::new();
    match &statement.kind {
        StmtKind::Expr(expr) => exprs.push(expr),
        StmtKind::Assign { target, value, .. } => exprs.extend([target, value]),
        StmtKind::If {
            cond,
            then,
            otherwise,
        } => {
            exprs.push(cond);
            pending.extend(then);
            pending.extend(otherwise);
        }
        StmtKind::While {
            cond, step, body, ..
        } => {
            exprs.extend(cond);
            pending.extend(step);
            pending.extend(body);
        }
        StmtKind::ForEach { iter, body, .. } => {
            exprs.push(iter);
            pending.extend(body);
        }
        StmtKind::Return(value) | StmtKind::Throw(value) => exprs.extend(value),
        StmtKind::Try {
            body,
            handlers,
            finally,
        } => {
            pending.extend(body);
            pending.extend(finally);
            for handler in handlers {
                pending.extend(&handler.body);
            }
        }
        StmtKind::With { items, body } => {
            exprs.extend(items.iter().map(|(value, _)| value));
            pending.extend(body);
        }
        StmtKind::Defer(body) | StmtKind::Block(body) => pending.extend(body),
        StmtKind::Break | StmtKind::Continue | StmtKind::Bind { .. } => {}
    }
    while let Some(expr) = exprs.pop() {
        match &expr.kind {
            ExprKind::Call { callee, args, .. } => {
                let name = match &callee.kind {
                    ExprKind::Name(name) | ExprKind::Field(_, name) => Some(name),
                    _ => None,
                };
                if let Some(name) = name {
                    let last = name.rsplit('.').next().unwrap_or(name);
                    out.insert(last.to_owned());
                }
                exprs.push(callee);
                exprs.extend(args.iter().map(|arg| &arg.value));
            }
            ExprKind::Field(base, _)
            | ExprKind::Not(base)
            | ExprKind::Await(base)
            | ExprKind::Question(base)
            | ExprKind::Cast(base, _)
            | ExprKind::Ref(base)
            | ExprKind::IsVariant(base, ..) => exprs.push(base),
            ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) | ExprKind::Assign(a, b) => {
                exprs.extend([&**a, &**b])
            }
            ExprKind::Cond(a, b, c) => exprs.extend([&**a, &**b, &**c]),
            ExprKind::Concat(parts) | ExprKind::List(parts) | ExprKind::Opaque(parts) => {
                exprs.extend(parts)
            }
            ExprKind::Dict(pairs) => exprs.extend(pairs.iter().map(|(_, value)| value)),
            ExprKind::Block(statements, value) => {
                pending.extend(statements);
                exprs.extend(value.as_deref());
            }
            ExprKind::Comprehension { element, iter, .. } => exprs.extend([&**element, &**iter]),
            _ => {}
        }
    }
}
