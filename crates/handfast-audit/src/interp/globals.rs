//! Module-level names that functions set: `init`, `main`, a setter.

use crate::interp::Interp;
use crate::ir::{Function, Span, Stmt, StmtKind, Sym};
use crate::state::Env;
use crate::term::{Term, Vid};

/// At most so many functions are run for the names they set.
const MAX_ASSIGNERS: usize = 4;

/// Longer functions are not run for their assignments.
const MAX_LINES: u32 = 300;

impl Interp<'_> {
    /// Runs functions that give a value to names which have none yet, for these values only.
    pub(super) fn run_assigners(&mut self, file: u32) {
        let program = self.program;
        let module = &program.file(file).module;
        let empty = self.names_without_value(file);
        if empty.is_empty() {
            return;
        }
        let mut left = MAX_ASSIGNERS;
        for (index, function) in module.functions.iter().enumerate() {
            let lines = function.span.end_line.saturating_sub(function.span.line);
            if index == module.top || function.is_test || lines > MAX_LINES || left == 0 {
                continue;
            }
            let set: Vec<Sym> = empty
                .iter()
                .filter(|name| self.may_set(file, function, name))
                .cloned()
                .collect();
            if set.is_empty() {
                continue;
            }
            left -= 1;
            let id = (file, u32::try_from(index).unwrap_or(0));
            let mut state = self.global_state.clone();
            state.env = Env::default();
            state.dead = false;
            self.muted += 1;
            self.push_frame(id, Span::default());
            self.bind_params(id, function, true, &mut state);
            self.exec_all(&function.body, &mut state);
            let frame = self.frames.pop();
            self.muted -= 1;
            let mut ends: Vec<_> = frame.map(|frame| frame.returns).unwrap_or_default();
            let nothing = self.terms.make(Term::Null);
            if !state.dead {
                ends.push((nothing, state));
            }
            for (_, end) in ends {
                for name in &set {
                    if let Some(value) = end.env.get(name) {
                        self.give(file, name, *value, function.span);
                    }
                }
                let facts = std::sync::Arc::make_mut(&mut self.global_state.facts);
                for (vid, known) in end.facts.iter() {
                    if facts.get(vid).is_none() {
                        facts.insert(vid, known.clone());
                    }
                }
            }
        }
    }

    fn names_without_value(&self, file: u32) -> Vec<Sym> {
        let names = self.globals.get(&file);
        let lang = self.program.file(file).lang;
        let mut out: Vec<Sym> = names
            .into_iter()
            .flatten()
            .filter(|(_, vid)| self.has_no_value(**vid))
            .map(|(name, _)| name.clone())
            .collect();
        // Declared without a value: the lowering leaves no trace but the declaration.
        out.extend(self.program.file(file).module.declared.iter().cloned());
        out.retain(|name| !name.starts_with('%') && !name.is_empty());
        out.sort();
        out.dedup();
        let _ = lang;
        out
    }

    fn has_no_value(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Undefined(_) | Term::Null | Term::Unknown(_) | Term::Num(_) => true,
            Term::Str(text) => text.is_empty(),
            Term::Global { of, .. } => self.has_no_value(*of),
            Term::Call { name, args, .. } => &**name == "?" && args.is_empty(),
            _ => false,
        }
    }

    fn may_set(&self, file: u32, function: &Function, name: &str) -> bool {
        let source = self.program.file(file);
        let from = function.span.start as usize;
        let to = (function.span.end as usize).min(source.text.len());
        let Some(text) = source.text.get(from..to) else {
            return false;
        };
        if !text.contains(name) || function.params.iter().any(|param| *param.name == *name) {
            return false;
        }
        match source.lang.family() {
            "python" => text.contains("global ") && assigns(&function.body, name),
            // Filled through a pointer, too.
            "c" => {
                assigns(&function.body, name)
                    || ["realpath(", "snprintf(", "strcpy(", "strlcpy(", "strncpy("]
                        .iter()
                        .any(|call| text.contains(call))
            }
            _ => assigns(&function.body, name),
        }
    }

    fn give(&mut self, file: u32, name: &Sym, value: Vid, at: Span) {
        if self.has_no_value(value) {
            return;
        }
        let before = self
            .globals
            .get(&file)
            .and_then(|names| names.get(name))
            .copied();
        let inner = match before {
            Some(before) if !self.has_no_value(before) => match *self.terms.get(before) {
                Term::Global { of, .. } if of == value => return,
                Term::Global { of, .. } => self.terms.phi(of, value),
                _ => self.terms.phi(before, value),
            },
            _ => value,
        };
        let ty = self.terms.ty(value).map(str::to_owned);
        let is_object = matches!(
            self.terms.get(inner),
            Term::Object { .. } | Term::Closure { .. } | Term::Global { .. }
        );
        let global = if is_object {
            inner
        } else {
            self.terms.make(Term::Global {
                name: name.clone(),
                of: inner,
                at,
            })
        };
        self.terms.typed(global, &ty.unwrap_or_default());
        if let Some(names) = self.globals.get_mut(&file) {
            names.insert(name.clone(), global);
        }
    }
}

fn assigns(statements: &[Stmt], name: &str) -> bool {
    use crate::ir::ExprKind;
    statements.iter().any(|statement| match &statement.kind {
        StmtKind::Assign { target, .. } => match &target.kind {
            ExprKind::Name(known) => **known == *name,
            ExprKind::List(parts) => parts
                .iter()
                .any(|part| matches!(&part.kind, ExprKind::Name(known) if **known == *name)),
            _ => false,
        },
        StmtKind::Expr(expr) => match &expr.kind {
            ExprKind::Assign(target, _) => {
                matches!(&target.kind, ExprKind::Name(known) if **known == *name)
            }
            _ => false,
        },
        StmtKind::If {
            then, otherwise, ..
        } => assigns(then, name) || assigns(otherwise, name),
        StmtKind::Block(body)
        | StmtKind::Defer(body)
        | StmtKind::With { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::ForEach { body, .. } => assigns(body, name),
        StmtKind::Try { body, finally, .. } => assigns(body, name) || assigns(finally, name),
        _ => false,
    })
}
