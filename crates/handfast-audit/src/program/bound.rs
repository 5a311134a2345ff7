//! Which names statements bind.

use std::collections::HashSet;

use crate::ir::{Expr, ExprKind, Stmt, StmtKind, Sym};
use crate::quick::Quick;

/// All names that statements bind, however deep.
pub(super) fn bound_in(statements: &[Stmt], out: &mut HashSet<Sym, Quick>) {
    for statement in statements {
        match &statement.kind {
            StmtKind::Assign { target, value } => {
                bound_by(target, out);
                bound_by(value, out);
            }
            StmtKind::Expr(expr) => bound_by(expr, out),
            StmtKind::Return(Some(expr)) | StmtKind::Throw(Some(expr)) => bound_by(expr, out),
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                bound_by(cond, out);
                bound_in(then, out);
                bound_in(otherwise, out);
            }
            StmtKind::While {
                cond, step, body, ..
            } => {
                if let Some(cond) = cond {
                    bound_by(cond, out);
                }
                bound_in(step, out);
                bound_in(body, out);
            }
            StmtKind::ForEach { target, body, .. } => {
                bound_by(target, out);
                bound_in(body, out);
            }
            StmtKind::Try {
                body,
                handlers,
                finally,
            } => {
                bound_in(body, out);
                bound_in(finally, out);
                for handler in handlers {
                    out.extend(handler.name.clone());
                    bound_in(&handler.body, out);
                }
            }
            StmtKind::With { items, body } => {
                for target in items.iter().filter_map(|(_, target)| target.as_ref()) {
                    bound_by(target, out);
                }
                bound_in(body, out);
            }
            StmtKind::Defer(body) | StmtKind::Block(body) => bound_in(body, out),
            StmtKind::Bind { name, .. } => {
                out.insert(name.clone());
            }
            StmtKind::Return(None)
            | StmtKind::Throw(None)
            | StmtKind::Break
            | StmtKind::Continue => {}
        }
    }
}

/// Names in a pattern, and those that an expression binds on the way.
fn bound_by(expr: &Expr, out: &mut HashSet<Sym, Quick>) {
    match &expr.kind {
        ExprKind::Name(name) => {
            out.insert(name.clone());
        }
        ExprKind::List(parts) | ExprKind::Opaque(parts) => {
            for part in parts {
                bound_by(part, out);
            }
        }
        ExprKind::Dict(pairs) => {
            for (key, value) in pairs {
                bound_by(key, out);
                bound_by(value, out);
            }
        }
        ExprKind::Assign(target, value) => {
            bound_by(target, out);
            bound_by(value, out);
        }
        ExprKind::IsVariant(subject, _, names) => {
            bound_by(subject, out);
            out.extend(names.iter().cloned());
        }
        ExprKind::Ref(inner)
        | ExprKind::Cast(inner, _)
        | ExprKind::Await(inner)
        | ExprKind::Not(inner)
        | ExprKind::Field(inner, _)
        | ExprKind::Index(inner, _)
        | ExprKind::Question(inner) => bound_by(inner, out),
        ExprKind::Binary(_, one, two) => {
            bound_by(one, out);
            bound_by(two, out);
        }
        ExprKind::Block(statements, value) => {
            bound_in(statements, out);
            if let Some(value) = value {
                bound_by(value, out);
            }
        }
        _ => {}
    }
}
