//! Expressions, names, fields, assignment.

use std::sync::Arc;

use crate::facts::bit;
use crate::interp::Interp;
use crate::ir::{Expr, ExprKind, Op, Span, Sym};
use crate::kb::Role;
use crate::lang::Lang;
use crate::state::State;
use crate::term::{CollKind, ObjectKind, PartKind, Pred, SourceKind, Term, Vid};

impl Interp<'_> {
    pub(super) fn eval(&mut self, expr: &Expr, state: &mut State) -> Vid {
        self.steps += 1;
        if self.steps > super::MAX_STEPS {
            self.overrun = true;
            return self.terms.unknown();
        }
        if state.dead {
            return self.terms.unknown();
        }
        let at = expr.span;
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
                let cond_vid = self.eval(cond, state);
                let mark = self.terms.len();
                let mut other = state.clone();
                self.assume(cond_vid, true, state, cond.span);
                self.assume(cond_vid, false, &mut other, cond.span);
                let one = self.eval(then, state);
                let two = self.eval(otherwise, &mut other);
                state.join(other, &mut self.terms, mark);
                self.terms.phi(one, two)
            }
            ExprKind::List(parts) => {
                let parts = parts.iter().map(|part| self.eval(part, state)).collect();
                self.terms.make(Term::List(parts))
            }
            ExprKind::Dict(pairs) => {
                let mut out = Vec::new();
                for (key, value) in pairs {
                    let key = self.eval(key, state);
                    let value = self.eval(value, state);
                    if let Some(key) = self.terms.string(key) {
                        out.push((Sym::from(key), value));
                    }
                }
                self.terms.make(Term::Dict(out))
            }
            ExprKind::Comprehension {
                element,
                target,
                iter,
                filters,
            } => {
                let coll = self.eval(iter, state);
                let coll = self.as_collection(coll);
                let elem = self.terms.make(Term::Elem(coll));
                let mut inner = state.clone();
                self.assign(target, elem, &mut inner, at);
                for filter in filters {
                    let vid = self.eval(filter, &mut inner);
                    self.assume(vid, true, &mut inner, filter.span);
                }
                let element = self.eval(element, &mut inner);
                self.terms.make(Term::Mapped { element, coll })
            }
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
                let vid = self.eval(subject, state);
                let payload = self.payload(vid);
                for (index, bind) in binds.iter().enumerate() {
                    let value = if index == 0 {
                        payload
                    } else {
                        self.terms.unknown()
                    };
                    state.env.insert(bind.clone(), value);
                }
                self.terms
                    .make(Term::Pred(Pred::Variant(vid, name.clone())))
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

    fn lookup(&mut self, name: &Sym, at: Span, state: &mut State) -> Vid {
        if let Some(vid) = state.env.get(name) {
            return *vid;
        }
        let file = self.here().0;
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

    fn imported_global(&mut self, file: u32, name: &str) -> Option<Vid> {
        let target = self.program.import(file, name)?.clone();
        let (module, last) = target.rsplit_once('.')?;
        let next = self.program.module_file(file, module)?;
        if next == file {
            return None;
        }
        self.global(next, last)
    }

    fn sibling_global(&mut self, file: u32, name: &str) -> Option<Vid> {
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

    fn eval_field(&mut self, whole: &Expr, base: &Expr, name: &Sym, state: &mut State) -> Vid {
        let at = whole.span;
        if let Some(dotted) = whole.dotted() {
            let first = dotted.split('.').next().unwrap_or("");
            let bound = state.env.get(first).copied();
            let is_free = bound.is_none_or(|vid| {
                matches!(
                    self.terms.get(vid),
                    Term::Param { .. } | Term::Unknown(_) | Term::Undefined(_)
                )
            });
            let file = self.here().0;
            if is_free {
                let qualified = self.program.qualify(file, &dotted);
                if let Some(row) = self
                    .family()
                    .field(&qualified)
                    .or_else(|| self.family().field(&dotted))
                {
                    return self.field_row(row, &dotted, at, state);
                }
                let is_flag = name.starts_with("O_")
                    || name.starts_with("RESOLVE_")
                    || qualified.contains("OFlags.")
                    || qualified.contains("ResolveFlags.")
                    || qualified.contains("OFlag.");
                if is_flag {
                    return self.terms.make(Term::Flags(vec![name.clone()]));
                }
                if bound.is_none() && self.program.import(file, first).is_some() {
                    if let Some(vid) = self.module_global(file, &qualified) {
                        return vid;
                    }
                    let term = Term::Config {
                        label: Sym::from(qualified.as_str()),
                        at: Span::default(),
                    };
                    return self.terms.make(term);
                }
                if bound.is_none()
                    && matches!(self.lang().family(), "rust" | "c")
                    && whole
                        .dotted()
                        .is_some_and(|d| d.starts_with(char::is_uppercase))
                {
                    return self.terms.make(Term::Config {
                        label: Sym::from(dotted.as_str()),
                        at: Span::default(),
                    });
                }
            }
        }
        let vid = self.eval(base, state);
        self.field(vid, name, at, state)
    }

    fn module_global(&mut self, file: u32, qualified: &str) -> Option<Vid> {
        let (module, last) = qualified.rsplit_once('.')?;
        let next = self.program.module_file(file, module)?;
        if next == file {
            return None;
        }
        self.global(next, last)
    }

    fn field_row(&mut self, row: usize, label: &str, at: Span, state: &mut State) -> Vid {
        self.hits.insert(row);
        let entry = &self.family().rows[row];
        let shown = if entry.label.is_empty() {
            label
        } else {
            &entry.label
        };
        let term = match entry.role {
            Role::Source => Term::Source {
                label: Sym::from(shown),
                kind: source_kind(&entry.what),
                at: Span::default(),
            },
            Role::Random => Term::Random(at),
            Role::Clock => Term::Clock(at),
            _ => Term::Config {
                label: Sym::from(shown),
                at: Span::default(),
            },
        };
        let returns = entry.returns.clone();
        let vid = self.terms.make(term);
        let _ = state;
        self.terms.typed(vid, &returns)
    }

    pub(super) fn field(&mut self, base: Vid, name: &Sym, at: Span, state: &mut State) -> Vid {
        let base = self.deref(base, state);
        if let Some(vid) = state.get_field(base, name) {
            return vid;
        }
        if let Some(ty) = self.terms.ty(base).map(str::to_owned) {
            let qualified = format!("{ty}.{name}");
            if let Some(row) = self.family().field(&qualified) {
                let entry = &self.family().rows[row];
                if entry.role == Role::Part || entry.role == Role::Coll {
                    self.hits.insert(row);
                    let what = entry.what.clone();
                    return self.part(&what, base, at, state);
                }
                return self.field_row(row, &qualified, at, state);
            }
        }
        match self.terms.get(base).clone() {
            Term::Dict(pairs) => {
                if let Some((_, vid)) = pairs.iter().find(|(key, _)| key == name) {
                    return *vid;
                }
            }
            Term::Stat { .. } => return self.terms.make(Term::StatField(base, name.clone())),
            Term::StatField(..) | Term::CommonPath(_) => return base,
            Term::Phi(parts) => {
                let values: Vec<Vid> = parts
                    .iter()
                    .filter_map(|part| state.get_field(*part, name))
                    .collect();
                if let Some((first, rest)) = values.split_first() {
                    return rest
                        .iter()
                        .fold(*first, |all, one| self.terms.phi(all, *one));
                }
            }
            Term::Fd(_) if matches!(&**name, "name") => return base,
            Term::Temp { .. } if matches!(&**name, "name") => return base,
            _ => {}
        }
        // Properties of paths that are no calls: `p.name`, `p.parent`, `p.parts`.
        if let Some(row) = self.family().field(&format!("*.{name}")) {
            let entry = &self.family().rows[row];
            if self.is_pathish(base) || entry.what.starts_with("length") {
                self.hits.insert(row);
                let what = entry.what.clone();
                return self.part(&what, base, at, state);
            }
        }
        let vid = self.terms.make(Term::Field(base, name.clone()));
        if let Term::Object {
            class: Some(class), ..
        } = self.terms.get(base).clone()
        {
            let file = self.here().0;
            if matches!(&**name, "path" | "headers" | "rfile" | "request" | "kwargs")
                && self.answers_requests(file, &class)
            {
                let term = Term::Source {
                    label: Sym::from(format!("self.{name}").as_str()),
                    kind: SourceKind::Request,
                    at: Span::default(),
                };
                return self.terms.make(term);
            }
            self.type_field(vid, &class, name);
        } else if let Some(class) = self.terms.ty(base).map(str::to_owned)
            && matches!(self.lang().family(), "rust" | "go")
        {
            // A parameter whose type is declared: an application's state.
            self.type_field(vid, &class, name);
        }
        vid
    }

    /// Gives a field the type that its class declares for it.
    fn type_field(&mut self, vid: Vid, class: &str, name: &str) {
        let file = self.here().0;
        let ty = self.program.class(file, class).and_then(|(of, known)| {
            let (_, ty) = known.fields.iter().find(|(field, _)| **field == *name)?;
            Some((of, ty.clone()))
        });
        if let Some((of, ty)) = ty {
            let ty = self.type_name(of, ty.trim_start_matches([':', ' ']));
            self.terms.typed(vid, &ty);
        }
    }

    fn index(&mut self, base: Vid, index: Vid, at: Span, state: &mut State) -> Vid {
        let base = self.deref(base, state);
        match self.terms.get(base).clone() {
            Term::List(parts) => {
                if let Some(n) = self.terms.number(index)
                    && let Some(vid) = usize::try_from(n).ok().and_then(|n| parts.get(n))
                {
                    return *vid;
                }
            }
            Term::Dict(pairs) => {
                if let Some(key) = self.terms.string(index)
                    && let Some((_, vid)) = pairs.iter().find(|(known, _)| **known == *key)
                {
                    return *vid;
                }
                // A value of a fixed table: the attacker chooses which, not what.
                let vid = self.terms.make(Term::Index(base, index));
                state.add(vid, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
                return vid;
            }
            Term::Coll { .. } => return self.terms.make(Term::Elem(base)),
            Term::Stat { .. } => return self.terms.make(Term::StatField(base, Sym::from("mode"))),
            _ => {}
        }
        let is_text = matches!(self.lang(), Lang::C | Lang::Cpp | Lang::Go)
            && self.terms.number(index).is_none()
            && self.terms.string(index).is_none();
        if matches!(self.terms.get(index), Term::Length(of, _) if *of != base) {
            return self.terms.make(Term::Index(base, index));
        }
        if is_text {
            // `name[strspn(name, OK)]`: the first character that is not in the list.
            if let Term::Call { name, args, .. } = self.terms.get(index).clone()
                && &*name == "strspn"
                && args.first() == Some(&base)
            {
                return self.terms.make(Term::Index(base, index));
            }
            if !matches!(
                self.terms.get(base),
                Term::Object { .. } | Term::Undefined(_)
            ) {
                let coll = Term::Coll {
                    kind: CollKind::Chars,
                    of: base,
                    seps: 0,
                };
                let coll = self.terms.make(coll);
                return self.terms.make(Term::Elem(coll));
            }
        }
        self.note_key(base, index, at, state);
        self.terms.make(Term::Index(base, index))
    }

    fn slice(&mut self, base: Vid, from: Option<Vid>, to: Option<Vid>, at: Span) -> Vid {
        if let Term::Coll { .. } = self.terms.get(base) {
            return base;
        }
        let first = from.and_then(|vid| self.terms.number(vid)).unwrap_or(0);
        let bounded = to
            .and_then(|vid| self.terms.number(vid))
            .filter(|n| *n >= 0);
        let vid = self.terms.make(Term::Part {
            kind: PartKind::Slice,
            of: base,
            at,
        });
        let _ = (first, bounded);
        vid
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
        if let [only] = flat.as_slice() {
            return *only;
        }
        self.terms.make(Term::Concat(flat))
    }

    fn binary(&mut self, op: Op, left: &Expr, right: &Expr, at: Span, state: &mut State) -> Vid {
        let a = self.eval(left, state);
        if matches!(op, Op::And | Op::Or) {
            // The right side runs only on one outcome of the left.
            let mark = self.terms.len();
            let mut skipped = state.clone();
            self.assume(a, op == Op::And, state, left.span);
            let b = self.eval(right, state);
            if state.dead {
                // `ok || panic()`
                self.assume(a, op != Op::And, &mut skipped, left.span);
                *state = skipped;
                return a;
            }
            let env = state.env.clone();
            let heap = state.heap.clone();
            let ways = state.ways.clone();
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
            if op == Op::Or && !truthy(&self.terms, a) && !truthy(&self.terms, b) {
                return self.terms.phi(a, b);
            }
            let pred = if op == Op::And {
                Pred::And(a, b)
            } else {
                Pred::Or(a, b)
            };
            return self.terms.make(Term::Pred(pred));
        }
        let b = self.eval(right, state);
        match op {
            Op::Add => self.concat(vec![a, b], state),
            Op::Div => {
                let parts = vec![a, b];
                self.join_paths(parts, self.lang().absolute_operand_discards_root(), state)
            }
            Op::Mod => match self.terms.string(a).map(str::to_owned) {
                Some(format) => self.format_percent(&format, b, state),
                None => self.terms.unknown(),
            },
            Op::BitOr => {
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
                    }
                }
                if names.is_empty() {
                    return self.terms.unknown();
                }
                self.terms.make(Term::Flags(names))
            }
            // `mode & S_IFMT`, `mode & fs.ModeSymlink`.
            Op::BitAnd => self.mode_test(a, b),
            Op::Coalesce => self.terms.phi(a, b),
            Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => {
                self.terms.make(Term::Pred(Pred::Compare(op, a, b)))
            }
            Op::In => self.terms.make(Term::Pred(Pred::Member(a, b))),
            Op::NotIn => {
                let inner = self.terms.make(Term::Pred(Pred::Member(a, b)));
                self.terms.make(Term::Pred(Pred::Not(inner)))
            }
            Op::And | Op::Or | Op::Other => self.terms.make(Term::Call {
                name: Sym::from("?"),
                args: vec![a, b],
                at,
            }),
        }
    }

    fn mode_test(&mut self, a: Vid, b: Vid) -> Vid {
        for (mode, which) in [(a, b), (b, a)] {
            let stat = match *self.terms.get(mode) {
                Term::StatField(stat, _) => stat,
                Term::Stat { .. } => mode,
                _ => continue,
            };
            let name = self.name_of(which).unwrap_or_default().to_owned();
            if name.contains("IFMT") || name.contains("ModeType") {
                return self.terms.make(Term::StatField(stat, Sym::from("type")));
            }
            let kind = if name.contains("ymlink") || name.contains("IFLNK") {
                ObjectKind::Link
            } else if name.contains("Dir") || name.contains("IFDIR") {
                ObjectKind::Dir
            } else {
                continue;
            };
            return self.terms.make(Term::Pred(Pred::StatIs(stat, kind)));
        }
        self.terms.unknown()
    }

    fn cast(&mut self, vid: Vid, ty: &str, at: Span, state: &mut State) -> Vid {
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
        if !is_value && self.terms.ty(vid).is_none() && dotted.contains('.') {
            self.terms.typed(vid, &dotted);
        }
        vid
    }

    pub(super) fn closure(&mut self, index: usize, state: &State) -> Vid {
        let file = self.here().0;
        let id = (file, u32::try_from(index).unwrap_or(0));
        let env = u32::try_from(self.envs.len()).unwrap_or(u32::MAX);
        self.envs.push(state.env.clone());
        let function = self.program.function(id);
        let top = self.program.file(file).module.top;
        let is_named_top = function.parent == Some(top) && !function.name.starts_with('<');
        if self.muted == 0 && !is_named_top {
            self.pending.push((id, env));
        }
        self.terms.make(Term::Closure { of: id, env })
    }

    pub(super) fn assign(&mut self, target: &Expr, vid: Vid, state: &mut State, at: Span) {
        match &target.kind {
            ExprKind::Name(name) => {
                let is_top = self.at_top && self.frames.len() == 1
                    || self.frames.last().is_some_and(|frame| {
                        self.program.file(frame.id.0).module.top == frame.id.1 as usize
                    });
                let value = if is_top
                    && !matches!(
                        self.terms.get(vid),
                        Term::Closure { .. } | Term::Object { .. } | Term::Global { .. }
                    ) {
                    let ty = self.terms.ty(vid).map(str::to_owned);
                    let term = Term::Global {
                        name: name.clone(),
                        of: vid,
                        at: target.span,
                    };
                    let global = self.terms.make(term);
                    self.terms.typed(global, &ty.unwrap_or_default())
                } else {
                    vid
                };
                state.env.insert(name.clone(), value);
            }
            ExprKind::Field(base, name) => {
                let base = self.eval(base, state);
                let base = self.deref(base, state);
                state.set_field(base, name.clone(), vid);
            }
            ExprKind::Index(base, index) => {
                let is_content = matches!(self.lang(), Lang::C | Lang::Cpp);
                if let (true, ExprKind::Opaque(_)) = (is_content, &index.kind) {
                    self.assign(base, vid, state, at);
                } else if !is_content {
                    let base = self.eval(base, state);
                    let index = self.eval(index, state);
                    self.note_key(base, index, at, state);
                }
            }
            ExprKind::Ref(inner) => self.assign(inner, vid, state, at),
            ExprKind::List(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    let index = u32::try_from(index).unwrap_or(0);
                    let value = self.project(vid, index);
                    self.assign(part, value, state, at);
                }
            }
            ExprKind::Dict(pairs) => {
                for (key, part) in pairs {
                    if let ExprKind::Str(key) = &key.kind {
                        let value = self.field(vid, key, at, state);
                        self.assign(part, value, state, at);
                    }
                }
            }
            _ => {}
        }
    }

    /// One of several values that were returned together.
    fn project(&mut self, vid: Vid, index: u32) -> Vid {
        match self.terms.get(vid).clone() {
            Term::List(parts) => match parts.get(index as usize) {
                Some(part) => *part,
                None => self.terms.unknown(),
            },
            Term::Outcome(_) | Term::Phi(_) => self.terms.make(Term::Proj(vid, index)),
            // Python: `fd, name = mkstemp()`.
            Term::Temp { .. } if self.lang() == Lang::Python => {
                if index == 0 {
                    self.terms.make(Term::Proj(vid, 0))
                } else {
                    vid
                }
            }
            Term::Temp { .. } if index == 0 => vid,
            _ if self.lang() == Lang::Go && index == 0 => vid,
            Term::Relative { .. } if index == 0 => vid,
            _ => self.terms.make(Term::Proj(vid, index)),
        }
    }

    pub(super) fn payload(&mut self, vid: Vid) -> Vid {
        match self.terms.get(vid) {
            Term::Variant(_, inner) => *inner,
            Term::Outcome(_) | Term::Phi(_) => self.terms.make(Term::Payload(vid)),
            _ => vid,
        }
    }

    pub(super) fn as_collection(&mut self, vid: Vid) -> Vid {
        match self.terms.get(vid).clone() {
            Term::Coll { .. } => vid,
            Term::Mapped { element, coll } => match self.terms.get(element) {
                Term::Elem(of) if *of == coll => coll,
                _ => vid,
            },
            Term::Global { of, .. } => self.as_collection(of),
            Term::List(_) | Term::Dict(_) => vid,
            _ => {
                let is_text = !matches!(self.terms.get(vid), Term::Unknown(_) | Term::Call { .. })
                    && self
                        .terms
                        .ty(vid)
                        .is_none_or(|ty| matches!(ty, "str" | "string" | "String"));
                let kind = if is_text {
                    CollKind::Chars
                } else {
                    CollKind::Other
                };
                self.terms.make(Term::Coll {
                    kind,
                    of: vid,
                    seps: 0,
                })
            }
        }
    }

    pub(super) fn question(&mut self, vid: Vid, at: Span, state: &mut State) -> Vid {
        match self.terms.get(vid).clone() {
            Term::Outcome(_) => {
                let ok = self
                    .terms
                    .make(Term::Pred(Pred::Variant(vid, Arc::from("Ok"))));
                let mut failed = state.clone();
                self.assume(ok, true, state, at);
                self.assume(ok, false, &mut failed, at);
                if !failed.dead {
                    self.throw(&mut failed);
                }
                self.payload(vid)
            }
            Term::Variant(name, inner) => {
                if matches!(&*name, "Err" | "None") {
                    if state.failing.is_some() && !state.missing {
                        let raw = self.is_raw_error(inner, state);
                        let how = if raw {
                            super::Failure::Raw
                        } else {
                            super::Failure::Mapped
                        };
                        self.failure(how, at);
                        state.failing = None;
                    }
                    self.throw(state);
                }
                inner
            }
            Term::Stat { fd: false, .. } => {
                self.failure(super::Failure::Raw, at);
                let mut failed = state.clone();
                self.throw(&mut failed);
                vid
            }
            _ => {
                let mut failed = state.clone();
                self.throw(&mut failed);
                vid
            }
        }
    }
}

pub(super) fn source_kind(what: &str) -> SourceKind {
    match what {
        "process" => SourceKind::Process,
        "archive" => SourceKind::Archive,
        _ => SourceKind::Request,
    }
}
