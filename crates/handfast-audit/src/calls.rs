//! The calls in statements, as they are written.

use crate::ir::{Arg, Expr, ExprKind, Stmt, StmtKind, Sym};

/// A call as it is written.
pub(crate) struct Called<'s> {
    pub(crate) callee: &'s Expr,
    pub(crate) last: Sym,
    pub(crate) args: usize,
    pub(crate) given: &'s [Arg],
}

/// Every call in statements, with its arguments, and every other expression.
pub(crate) fn each_call<'s>(
    body: &'s [Stmt],
    tell: &mut impl FnMut(&'s Expr, &'s [Arg]),
    other: &mut impl FnMut(&'s Expr),
) {
    let mut pending: Vec<&Stmt> = body.iter().collect();
    while let Some(statement) = pending.pop() {
        calls_in_statement(
            statement,
            &mut pending,
            &mut |call| tell(call.callee, call.given),
            other,
        );
    }
}

pub(crate) fn calls_in_statement<'s>(
    statement: &'s Stmt,
    pending: &mut Vec<&'s Stmt>,
    tell: &mut impl FnMut(Called<'s>),
    other: &mut impl FnMut(&'s Expr),
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
        other(expr);
        match &expr.kind {
            ExprKind::Call { callee, args, .. } => {
                let name = match &callee.kind {
                    ExprKind::Name(name) | ExprKind::Field(_, name) => Some(name),
                    _ => None,
                };
                if let Some(name) = name {
                    let last = match name.rsplit_once('.') {
                        Some((_, last)) => Sym::from(last),
                        None => name.clone(),
                    };
                    tell(Called {
                        callee,
                        last,
                        args: args.iter().filter(|arg| arg.name.is_none()).count(),
                        given: args,
                    });
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
            ExprKind::Slice(base, from, to) => {
                exprs.push(base);
                exprs.extend(from.as_deref());
                exprs.extend(to.as_deref());
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
