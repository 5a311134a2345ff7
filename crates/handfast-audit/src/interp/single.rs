//! One module-level name of another file, without running the rest of that file.
//!
//! A file of a large program imports from dozens of others and needs a name or two of each.

use crate::interp::Interp;
use crate::ir::{Expr, ExprKind, Span, Stmt, StmtKind};
use crate::state::Env;
use crate::term::Vid;

impl Interp<'_> {
    /// The value of a name that one plain statement of another file sets. `None`: the whole file
    /// has to be run for it.
    pub(super) fn single_global(&mut self, file: u32, name: &str) -> Option<Option<Vid>> {
        if file == self.home || self.globals.contains_key(&file) {
            return None;
        }
        let key = (file, name.into());
        if let Some(known) = self.singles.get(&key) {
            return *known;
        }
        let program = self.program;
        let top = program.file(file).module.top;
        let id = (file, u32::try_from(top).unwrap_or(0));
        let Some(statement) = only_setting(&program.function(id).body, name) else {
            self.singles.insert(key, None);
            return None;
        };
        // A name that needs itself has no value.
        self.singles.insert(key.clone(), Some(None));
        let was_top = std::mem::replace(&mut self.at_top, true);
        self.muted += 1;
        let mut state = self.global_state.clone();
        state.env = Env::default();
        state.dead = false;
        self.push_frame(id, Span::default());
        self.exec(statement, &mut state);
        self.frames.pop();
        self.muted -= 1;
        self.at_top = was_top;
        let value = state.env.get(name).copied();
        self.global_state.facts = state.facts;
        self.global_state.heap = state.heap;
        self.global_state.ways = state.ways;
        self.singles.insert(key, Some(value));
        Some(value)
    }
}

/// The one statement that gives a name its value, if nothing else touches it.
fn only_setting<'s>(body: &'s [Stmt], name: &str) -> Option<&'s Stmt> {
    let mut found = None;
    for statement in body {
        match &statement.kind {
            StmtKind::Assign { target, value } if base_of(target) == Some(name) => {
                let is_plain = matches!(&target.kind, ExprKind::Name(_))
                    && !matches!(&value.kind, ExprKind::Null | ExprKind::Lambda(_));
                if !is_plain || found.is_some() {
                    return None;
                }
                found = Some(statement);
            }
            StmtKind::Assign { target, .. } if matches!(&target.kind, ExprKind::Name(_)) => {}
            StmtKind::Bind { name: known, .. } if **known != *name => {}
            StmtKind::Expr(expr) if !touches(expr, name) => {}
            // Something with branches may set it, too.
            _ => return None,
        }
    }
    found
}

/// The name at the beginning of a place: `x`, `x.y`, `x[k]`.
fn base_of(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Field(base, _) | ExprKind::Index(base, _) | ExprKind::Ref(base) => base_of(base),
        _ => None,
    }
}

/// A call on the name itself, or an assignment as an expression.
fn touches(expr: &Expr, name: &str) -> bool {
    match &expr.kind {
        ExprKind::Call { callee, .. } => base_of(callee) == Some(name),
        ExprKind::Str(_) | ExprKind::Num(_) | ExprKind::Null => false,
        _ => true,
    }
}
