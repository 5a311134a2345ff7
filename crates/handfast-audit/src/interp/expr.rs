//! Expressions, names, fields, assignment.

use std::sync::Arc;

use crate::facts::bit;
use crate::interp::Interp;
use crate::ir::{Expr, ExprKind, Operation, Span, Sym};
use crate::lang::Lang;
use crate::state::State;
use crate::term::{Pred, SourceKind, Term, Vid};

impl Interp<'_> {
    pub(super) fn eval(&mut self, expr: &Expr, state: &mut State) -> Vid {
        if self.left == 0 {
            self.overrun = true;
            return self.terms.unknown();
        }
        self.steps += 1;
        self.left -= 1;
        if state.dead {
            return self.terms.unknown();
        }
        let at = expr.span;
        if let Some(vid) = self.declared_expr(expr, state) {
            return vid;
        }
        match &expr.kind {
            ExprKind::Name(name) => self.lookup(name, at, state),
            ExprKind::Str(text) => self.terms.make(Term::Str(text.clone())),
            ExprKind::Num(n) => self.terms.make(Term::Num(*n)),
            ExprKind::Bool(b) => self.terms.make(Term::Bool(*b)),
            ExprKind::Null => self.terms.make(Term::Null),
            ExprKind::Regex(pattern, flags) => {
                self.terms.make(Term::Regex(pattern.clone(), flags.clone()))
            }
            ExprKind::Concat(parts) => {
                let parts: Vec<Vid> = parts.iter().map(|part| self.eval(part, state)).collect();
                self.concat(parts, state)
            }
            ExprKind::Field(base, name) => self.eval_field(expr, base, name, state),
            ExprKind::Index(base, index) => {
                let base = self.eval(base, state);
                let index = self.eval(index, state);
                self.index(base, index, at, state)
            }
            ExprKind::Slice(base, from, to) => {
                let base = self.eval(base, state);
                let from = from.as_ref().map(|from| self.eval(from, state));
                let to = to.as_ref().map(|to| self.eval(to, state));
                self.slice(base, from, to, at)
            }
            ExprKind::Call {
                callee,
                args,
                is_new,
            } => self.eval_call(callee, args, *is_new, at, state),
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, at, state),
            ExprKind::Not(inner) => {
                let inner = self.eval(inner, state);
                self.terms.make(Term::Pred(Pred::Not(inner)))
            }
            ExprKind::Cond(cond, then, otherwise) => {
                self.eval_cond(cond, then, otherwise, at, state)
            }
            ExprKind::List(parts) => {
                let parts = parts.iter().map(|part| self.eval(part, state)).collect();
                self.terms.make(Term::List(parts))
            }
            ExprKind::Dict(pairs) => self.eval_dict(pairs, state),
            ExprKind::Comprehension {
                element,
                target,
                iter,
                filters,
            } => self.eval_comprehension((element, target, iter), filters, at, state),
            ExprKind::Lambda(index) => self.closure(*index, state),
            ExprKind::Await(inner) => {
                let vid = self.eval(inner, state);
                if !state.dead {
                    state.age();
                    if matches!(self.terms.get(vid), Term::Stat { .. }) {
                        self.note_stat(vid, state);
                    }
                }
                vid
            }
            ExprKind::Question(inner) => {
                let vid = self.eval(inner, state);
                self.question(vid, at, state)
            }
            ExprKind::Cast(inner, ty) => {
                let vid = self.eval(inner, state);
                self.cast(vid, ty, at, state)
            }
            ExprKind::Assign(target, value) => {
                let vid = self.eval(value, state);
                self.assign(target, vid, state, at);
                vid
            }
            ExprKind::Ref(inner) => self.eval(inner, state),
            ExprKind::IsVariant(subject, name, binds) => {
                self.eval_variant(subject, name, binds, state)
            }
            ExprKind::Block(statements, value) => {
                self.exec_all(statements, state);
                match value {
                    Some(value) if !state.dead => self.eval(value, state),
                    _ => self.terms.make(Term::Null),
                }
            }
            ExprKind::Opaque(parts) => {
                let parts: Vec<Vid> = parts.iter().map(|part| self.eval(part, state)).collect();
                match parts.as_slice() {
                    [] => self.terms.unknown(),
                    _ => self.terms.make(Term::Call {
                        name: Sym::from("?"),
                        args: parts,
                        at,
                    }),
                }
            }
        }
    }

    pub(super) fn lookup(&mut self, name: &Sym, at: Span, state: &mut State) -> Vid {
        if let Some(vid) = state.env.get(name) {
            return *vid;
        }
        let file = self.here().0;
        if let Some(object) = self.implied_object(name, state) {
            return self.field(object, name, at, state);
        }
        if let Some(vid) = self.global(file, name) {
            return vid;
        }
        if name.starts_with("O_") || name.starts_with("RESOLVE_") || name.starts_with("FILE_FLAG_")
        {
            return self.terms.make(Term::Flags(vec![name.clone()]));
        }
        if let Some(vid) = self.imported_global(file, name) {
            return vid;
        }
        let dotted = self.program.qualify(file, name);
        if let Some(row) = self.family().field(&dotted) {
            return self.field_row(row, name, at, state);
        }
        if self.declared.inputs.iter().any(|input| **input == **name) {
            let term = Term::Source {
                label: name.clone(),
                kind: SourceKind::Declared,
                at: Span::default(),
            };
            return self.terms.make(term);
        }
        if self.program.import(file, name).is_some() {
            return self.terms.make(Term::Config {
                label: Sym::from(dotted.as_str()),
                at: Span::default(),
            });
        }
        // C and Go: another file of the same unit defines it.
        if matches!(self.lang().family(), "go" | "c")
            && let Some(vid) = self.sibling_global(file, name)
        {
            return vid;
        }
        self.terms.make(Term::Undefined(name.clone()))
    }

    /// C++ and Java: a bare name in a method that is a member of its class.
    pub(super) fn implied_object(&self, name: &str, state: &State) -> Option<Vid> {
        if !matches!(self.lang(), Lang::Cpp | Lang::Java) {
            return None;
        }
        let object = state.env.get("this").copied()?;
        let is_set = state.get_field(object, name).is_some();
        let is_declared = || {
            let class = self.terms.ty(object)?;
            self.program.field_type(self.here().0, class, name)
        };
        (is_set || is_declared().is_some()).then_some(object)
    }

    pub(super) fn imported_global(&mut self, file: u32, name: &str) -> Option<Vid> {
        let target = self.program.import(file, name)?.clone();
        let (module, last) = target.rsplit_once('.')?;
        let next = self.program.module_file(file, module)?;
        if next == file {
            return None;
        }
        self.global(next, last)
    }

    pub(super) fn sibling_global(&mut self, file: u32, name: &str) -> Option<Vid> {
        let here = self.program.file(file);
        let candidates: Vec<u32> = self
            .program
            .siblings(file)
            .iter()
            .copied()
            .filter(|index| {
                let there = self.program.file(*index);
                *index != file
                    && there.lang.family() == here.lang.family()
                    && there.text.contains(name)
            })
            .take(4)
            .collect();
        for next in candidates {
            if let Some(vid) = self.global(next, name) {
                return Some(vid);
            }
        }
        None
    }

    pub(super) fn concat(&mut self, parts: Vec<Vid>, state: &State) -> Vid {
        let mut flat: Vec<Vid> = Vec::new();
        for part in parts {
            let part = self.deref(part, state);
            let inner = match self.terms.get(part) {
                Term::Concat(inner) => inner.clone(),
                _ => vec![part],
            };
            for one in inner {
                if matches!(self.terms.get(one), Term::Str(text) if text.is_empty()) {
                    continue;
                }
                let text = match (
                    flat.last().map(|last| self.terms.get(*last)),
                    self.terms.get(one),
                ) {
                    (Some(Term::Str(a)), Term::Str(b)) => Some(format!("{a}{b}")),
                    _ => None,
                };
                if let Some(text) = text {
                    flat.pop();
                    flat.push(self.terms.make(Term::Str(Sym::from(text.as_str()))));
                } else {
                    flat.push(one);
                }
            }
        }
        match flat.as_slice() {
            [] => self.terms.make(Term::Str(Sym::from(""))),
            [only] => *only,
            _ => self.terms.make(Term::Concat(flat)),
        }
    }

    pub(super) fn binary(
        &mut self,
        op: Operation,
        left: &Expr,
        right: &Expr,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let a = self.eval(left, state);
        if matches!(op, Operation::And | Operation::Or) {
            // The right side runs only on one outcome of the left.
            let mark = self.terms.len();
            let mut skipped = state.clone();
            let left_span = left.span;
            self.assume(a, op == Operation::And, state, left_span);
            let b = self.eval(right, state);
            if state.dead {
                // `ok || panic()`
                self.assume(a, op != Operation::And, &mut skipped, left.span);
                *state = skipped;
                return a;
            }
            let env = state.env.clone();
            let heap = state.heap.clone();
            let ways = state.ways.clone();
            let mut left = skipped.clone();
            self.assume(a, op != Operation::And, &mut left, left_span);
            if !left.dead {
                left.env = skipped.env;
                left.heap = skipped.heap;
                skipped = left;
            }
            state.join(skipped, &mut self.terms, mark);
            // Names bound on the right keep their value: it is asked under the same condition.
            state.env = env;
            state.heap = heap;
            if !Arc::ptr_eq(&state.ways, &ways) {
                let ways = ways.iter().map(|(call, left)| (*call, left.clone()));
                Arc::make_mut(&mut state.ways).extend(ways);
            }
            let truthy = |terms: &crate::term::Terms, vid: Vid| {
                matches!(
                    terms.get(vid),
                    Term::Pred(_) | Term::Bool(_) | Term::Outcome(_)
                )
            };
            if op == Operation::Or && !truthy(&self.terms, a) && !truthy(&self.terms, b) {
                return self.terms.phi(a, b);
            }
            let pred = if op == Operation::And {
                Pred::And(a, b)
            } else {
                Pred::Or(a, b)
            };
            return self.terms.make(Term::Pred(pred));
        }
        let b = self.eval(right, state);
        if let Some(known) = self.fold(op, a, b) {
            return known;
        }
        match op {
            // C: further on in the same text.
            Operation::Add if self.is_further_on(a, b) => self.slice(a, Some(b), None, at),
            Operation::Add => self.concat(vec![a, b], state),
            Operation::Div => {
                let parts = vec![a, b];
                self.join_paths(parts, self.lang().absolute_operand_discards_root(), state)
            }
            Operation::Mod => match self.terms.string(a).map(str::to_owned) {
                Some(format) => self.format_percent(&format, b, state),
                None => self.terms.unknown(),
            },
            Operation::BitOr => {
                let mut names = Vec::new();
                for vid in [a, b] {
                    let vid = self.deref(vid, state);
                    let vid = match self.terms.get(vid) {
                        Term::Global { of, .. } => *of,
                        _ => vid,
                    };
                    if let Term::Flags(more) = self.terms.get(vid) {
                        names.extend(more.iter().cloned());
                    } else if let Term::Config { label, .. } = self.terms.get(vid) {
                        names.push(label.clone());
                    } else if let Some(name) = self.name_of(vid).filter(|n| n.starts_with("O_")) {
                        names.push(Sym::from(name));
                    }
                }
                if names.is_empty() {
                    return self.terms.unknown();
                }
                self.terms.make(Term::Flags(names))
            }
            // `mode & S_IFMT`, `mode & fs.ModeSymlink`.
            Operation::BitAnd => self.mode_test(a, b),
            Operation::Coalesce => self.terms.phi(a, b),
            Operation::Eq
            | Operation::Ne
            | Operation::Lt
            | Operation::Le
            | Operation::Gt
            | Operation::Ge => self.terms.make(Term::Pred(Pred::Compare(op, a, b))),
            Operation::In => {
                self.note_key(b, a, at, state);
                self.terms.make(Term::Pred(Pred::Member(a, b)))
            }
            Operation::NotIn => {
                let inner = self.terms.make(Term::Pred(Pred::Member(a, b)));
                self.terms.make(Term::Pred(Pred::Not(inner)))
            }
            Operation::And
            | Operation::Or
            | Operation::Other
            | Operation::Sub
            | Operation::Mul
            | Operation::Quot
            | Operation::Rem => self.terms.make(Term::Call {
                name: Sym::from("?"),
                args: vec![a, b],
                at,
            }),
        }
    }

    /// C and C++: a number is added to text, and not text to text.
    fn is_further_on(&self, a: Vid, b: Vid) -> bool {
        let is_number = |vid: Vid| {
            matches!(self.terms.get(vid), Term::Num(_) | Term::Length(..))
                || matches!(self.terms.get(vid), Term::Call { name, .. } if matches!(&**name, "?" | "strspn" | "strcspn"))
        };
        match self.lang() {
            Lang::C => !is_number(a),
            Lang::Cpp => is_number(b) && !is_number(a),
            _ => false,
        }
    }

    pub(super) fn cast(&mut self, vid: Vid, ty: &str, at: Span, state: &mut State) -> Vid {
        let dotted = self.type_name(self.here().0, ty);
        if matches!(self.lang(), Lang::TypeScript | Lang::Tsx) && dotted == "string" {
            let inner = self.deref(vid, state);
            state.add(inner, bit::WEAK_COERCED, at);
            return vid;
        }
        let is_value = matches!(
            self.terms.get(vid),
            Term::Str(_) | Term::Num(_) | Term::Bool(_) | Term::Null | Term::Pred(_)
        );
        let is_new = !is_value && self.terms.ty(vid).is_none();
        if is_new && (dotted.contains('.') || self.family().has_methods(&dotted)) {
            self.terms.typed(vid, &dotted);
        }
        vid
    }

    /// A type of which something is known: a qualified one, a class of the program, one with known methods.
    pub(super) fn is_telling_type(&self, ty: &str) -> bool {
        ty.contains('.')
            || self.family().has_methods(ty)
            || self.program.class(self.here().0, ty).is_some()
    }

    pub(super) fn closure(&mut self, index: usize, state: &State) -> Vid {
        let file = self.here().0;
        let id = (file, u32::try_from(index).unwrap_or(0));
        let env = u32::try_from(self.envs.len()).unwrap_or(u32::MAX);
        self.envs.push(state.env.clone());
        self.taken.push(State {
            facts: state.facts.clone(),
            heap: state.heap.clone(),
            ways: state.ways.clone(),
            ..State::default()
        });
        let function = self.program.function(id);
        let top = self.program.file(file).module.top;
        let is_named_top = function.parent == Some(top) && !function.name.starts_with('<');
        if self.muted == 0 && !is_named_top {
            self.pending.push((id, env));
        }
        self.terms.make(Term::Closure { of: id, env })
    }
}

pub(super) fn source_kind(what: &str) -> SourceKind {
    match what {
        "process" => SourceKind::Process,
        "archive" | "archive_clean" => SourceKind::Archive,
        "remote" | "document" => SourceKind::Remote,
        _ => SourceKind::Request,
    }
}
