//! What membership, inequality, a kind or a step of a walk proves.

use crate::facts::{bit, chars};
use crate::interp::{Event, Interp, RootCheck};
use crate::ir::Span;
use crate::state::State;
use crate::term::{CollKind, ObjectKind, PartKind, Pred, Term, Vid};

impl Interp<'_> {
    pub(super) fn assume_member(
        &mut self,
        a: Vid,
        coll: Vid,
        truth: bool,
        state: &mut State,
        at: Span,
    ) {
        let a = self.deref(a, state);
        let coll = self.deref(coll, state);
        let real = match self.terms.get(coll) {
            Term::Global { of, .. } => *of,
            _ => coll,
        };
        // `rel.split(sep)[0] === ".."`
        if let (false, Term::Index(parts, first)) = (truth, self.terms.get(a).clone())
            && let Term::Coll { of, .. } = *self.terms.get(parts)
            && matches!(self.terms.get(of), Term::Relative { .. })
            && self.terms.number(first) == Some(0)
            && let Term::List(items) = self.terms.get(real).clone()
            && items
                .iter()
                .any(|item| self.terms.string(*item) == Some(".."))
        {
            state.add(of, bit::REL_NOT_UP, at);
            self.settle_relative(of, state, at);
        }
        match self.terms.get(real).clone() {
            Term::List(items) => {
                if truth {
                    let fixed = items.iter().all(|item| self.is_fixed(*item));
                    if fixed {
                        let is_char = items.iter().all(|item| {
                            self.terms
                                .string(*item)
                                .is_some_and(|t| t.chars().count() == 1)
                        });
                        if is_char && matches!(self.terms.get(a), Term::Elem(_)) {
                            let text: String = items
                                .iter()
                                .filter_map(|item| self.terms.string(*item))
                                .collect();
                            state
                                .edit(a)
                                .narrow_chars(crate::facts::stands_for(&text), at);
                        } else {
                            state.add(a, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
                            let dots = |item: &Vid| self.terms.string(*item) == Some("..");
                            if !items.iter().any(dots) {
                                state.add(a, bit::NOT_DOTDOT, at);
                            }
                        }
                    }
                } else {
                    for item in items {
                        self.not_equal(a, item, state, at);
                    }
                }
            }
            Term::Dict(_) => {
                if truth {
                    state.add(a, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
                }
            }
            Term::Str(text) => {
                // A character of a string.
                if matches!(self.terms.get(a), Term::Elem(_)) {
                    let listed = if truth {
                        crate::facts::stands_for(&text)
                    } else {
                        !crate::facts::mask(|c| text.contains(c))
                    };
                    state.edit(a).narrow_chars(listed, at);
                    if state.own(a).is_some_and(|facts| facts.chars == 0) {
                        state.dead = true;
                    }
                }
            }
            // `root in target.parents`
            Term::Coll {
                kind: CollKind::Parents,
                of,
                ..
            } => {
                if truth {
                    self.contained(of, a, true, state, at);
                }
            }
            Term::Coll { .. } => self.assume_contains(coll, a, truth, state, at),
            Term::Config { .. }
            | Term::Call { .. }
            | Term::Undefined(_)
            | Term::Field(..)
            | Term::Object { .. } => {
                if truth && !self.is_key_like(a) {
                    // A set that is decided elsewhere.
                    if matches!(
                        self.terms.get(coll),
                        Term::Global { .. } | Term::Config { .. }
                    ) {
                        state.add(a, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
                    }
                } else if !truth {
                    self.assume_contains(coll, a, false, state, at);
                }
            }
            _ => {
                if !truth {
                    self.assume_contains(coll, a, false, state, at);
                } else if let (Term::Global { .. }, false) =
                    (self.terms.get(coll), self.is_key_like(a))
                {
                    state.add(a, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
                }
            }
        }
    }

    pub(super) fn is_key_like(&self, vid: Vid) -> bool {
        matches!(self.terms.get(vid), Term::Str(_))
    }

    pub(super) fn is_fixed(&self, vid: Vid) -> bool {
        matches!(
            self.terms.get(vid),
            Term::Str(_)
                | Term::Num(_)
                | Term::Config { .. }
                | Term::Global { .. }
                | Term::Field(..)
        )
    }

    pub(super) fn not_equal(&mut self, a: Vid, b: Vid, state: &mut State, at: Span) {
        let Some(text) = self.terms.string(b).map(str::to_owned) else {
            return;
        };
        let a = self.deref(a, state);
        let is_elem = matches!(self.terms.get(a), Term::Elem(_) | Term::Index(..));
        match text.as_str() {
            "" => state.add(a, bit::NONEMPTY, at),
            "." => {
                state.add(a, bit::NOT_DOT, at);
                if is_elem && self.is_char(a) {
                    state.edit(a).narrow_chars(!chars("."), at);
                }
                self.first_not(a, ".", state, at);
            }
            ".." => {
                state.add(a, bit::NOT_DOTDOT, at);
                if !self.facts_of(a, state).is_one_segment() {
                    state.add(a, bit::WEAK_BEFORE_SPLIT, at);
                }
            }
            other => {
                if other.chars().count() == 1 {
                    if is_elem && self.is_char(a) {
                        state
                            .edit(a)
                            .narrow_chars(!crate::facts::mask(|c| other.contains(c)), at);
                        if state.own(a).is_some_and(|facts| facts.chars == 0) {
                            state.dead = true;
                        }
                    }
                    self.first_not(a, other, state, at);
                }
            }
        }
    }

    pub(super) fn is_char(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Elem(coll) => matches!(
                self.terms.get(*coll),
                Term::Coll {
                    kind: CollKind::Chars,
                    ..
                }
            ),
            _ => false,
        }
    }

    /// `name[0] != '-'`.
    pub(super) fn first_not(&mut self, vid: Vid, text: &str, state: &mut State, at: Span) {
        if let Term::Index(base, index) = *self.terms.get(vid)
            && self.terms.number(index) == Some(0)
        {
            state
                .edit(base)
                .narrow_first(!crate::facts::mask(|c| text.contains(c)), at);
        }
    }

    /// C: `name[0]` is true, `name[strspn(name, OK)]` is false.
    pub(super) fn first_char(
        &mut self,
        base: Vid,
        whole: Vid,
        truth: bool,
        state: &mut State,
        at: Span,
    ) {
        let Term::Index(_, index) = *self.terms.get(whole) else {
            return;
        };
        if self.terms.number(index) == Some(0) {
            if truth {
                state.add(base, bit::NONEMPTY, at);
            }
            return;
        }
        if let Term::Call { name, args, .. } = self.terms.get(index).clone()
            && &*name == "strspn"
            && !truth
            && let Some(allowed) = args
                .get(1)
                .and_then(|arg| self.terms.string(*arg))
                .map(str::to_owned)
        {
            state
                .edit(base)
                .narrow_chars(crate::facts::stands_for(&allowed), at);
        }
    }

    pub(super) fn assume_variant(
        &mut self,
        subject: Vid,
        name: &str,
        truth: bool,
        state: &mut State,
        at: Span,
    ) {
        // A result and an option are asked alike.
        let kind = |name: &str| match name {
            "Some" => "Ok".to_owned(),
            "None" => "Err".to_owned(),
            other => other.to_owned(),
        };
        match self.terms.get(subject).clone() {
            Term::Outcome(call) => {
                let wanted = kind(name);
                self.filter_ways(call, state, |interp, value| match interp.terms.get(value) {
                    Term::Variant(known, _) => (kind(known) == wanted) == truth,
                    Term::Null => (wanted == "Err") == truth,
                    _ if interp.is_nothing(value) => (wanted == "Err") == truth,
                    _ => true,
                });
            }
            Term::Variant(known, _) => {
                if (kind(&known) == kind(name)) != truth {
                    state.dead = true;
                }
            }
            // `text.find(f).is_some()`
            Term::Pred(ref pred) if !matches!(pred, Pred::Within(..)) => {
                let holds = (kind(name) == "Ok") == truth;
                let pred = pred.clone();
                self.assume_pred(&pred, holds, state, at);
            }
            Term::Stat { .. } => {
                let failed = (name == "Err") == truth;
                if matches!(name, "Ok" | "Err") {
                    self.stat_status(subject, failed, state, at);
                }
            }
            Term::Elem(_) => {
                // Rust: `Component::Normal(_)` is a plain name.
                if truth && matches!(name, "Normal" | "CurDir") {
                    let bits = bit::NOT_DOTDOT | bit::NONEMPTY | bit::NOT_ABSOLUTE;
                    state.add(subject, bits, at);
                    if name == "Normal" {
                        state.add(subject, bit::NOT_DOT, at);
                    }
                } else if !truth && name == "ParentDir" {
                    state.add(subject, bit::NOT_DOTDOT, at);
                } else if !truth && (name == "RootDir" || name == "Prefix") {
                    state.add(subject, bit::NOT_ABSOLUTE, at);
                }
            }
            Term::Part {
                kind: PartKind::Base,
                ..
            } => {
                if truth && name == "Some" {
                    state.add(subject, bit::NOT_DOTDOT | bit::NONEMPTY, at);
                }
            }
            Term::Pred(Pred::Within(of, root)) => {
                if truth == (name == "Ok") {
                    self.contained(of, root, true, state, at);
                }
            }
            _ => {
                if name.contains("NotFound") && state.failing.is_some() {
                    state.missing = truth;
                }
            }
        }
    }

    /// What a look at an object proves.
    #[expect(clippy::too_many_arguments, reason = "one fact, all of its sides")]
    pub(super) fn object_is(
        &mut self,
        of: Vid,
        kind: ObjectKind,
        truth: bool,
        follow: bool,
        fd: bool,
        state: &mut State,
        at: Span,
    ) {
        let of = self.deref(of, state);
        let mut bits = 0;
        match (kind, truth) {
            (ObjectKind::Link, false) if !follow => {
                bits |= bit::LSTAT | bit::NOT_LINK | bit::FRESH_LSTAT
            }
            (ObjectKind::Dir, true) if !follow || fd => {
                bits |= bit::LSTAT | bit::NOT_LINK | bit::IS_DIR | bit::FRESH_LSTAT
            }
            (ObjectKind::Reg, true) if !follow || fd => {
                bits |= bit::LSTAT | bit::NOT_LINK | bit::IS_REG | bit::FRESH_LSTAT
            }
            (ObjectKind::Exists, _) => bits |= bit::LOOKED,
            (_, _) if follow => bits |= bit::LOOKED,
            _ => {}
        }
        if kind == ObjectKind::Exists && !truth {
            let facts = self.facts_of(of, state);
            if !facts.has(bit::NOT_LINK) {
                state.add(of, bit::WEAK_EXISTS_FIRST, at);
            }
        }
        if bits != 0 {
            state.add(of, bits, at);
            if fd {
                self.fd_places.push((of, bits, at));
            }
        }
        if bits & bit::NOT_LINK != 0 && !fd {
            self.walk_step(of, bits, state, at);
            if self.root_like(of) {
                let how = if bits & bit::IS_DIR != 0 {
                    RootCheck::IsDir
                } else {
                    RootCheck::NotLink
                };
                self.events.push(Event::RootSeen { at, value: of, how });
            }
        }
    }

    /// A look inside a loop over components is a step of a walk.
    pub(super) fn walk_step(&mut self, of: Vid, bits: u64, state: &mut State, at: Span) {
        let mut origins = Vec::new();
        self.walk_origins(of, &mut origins, 0);
        for origin in origins {
            let mut walk = bit::WALKED | bit::FRESH_WALK;
            if bits & bit::NOT_LINK != 0 {
                walk |= bit::WALK_NOT_LINK;
            }
            if bits & bit::IS_DIR != 0 {
                walk |= bit::WALK_IS_DIR;
            }
            state.add(origin, walk, at);
        }
        // One name directly below the root: a look at the path is a look at that name.
        let leaves = self.leaves(of, state);
        if let [only] = leaves.as_slice()
            && only.vid != of
            && only.facts.is_one_segment()
        {
            let vid = only.vid;
            state.add(vid, bits & bit::FILESYSTEM | bit::LSTAT, at);
        }
    }

    /// The texts whose segments a path is made of.
    pub(super) fn walk_origins(&self, vid: Vid, out: &mut Vec<Vid>, depth: usize) {
        if depth > 10 {
            return;
        }
        match self.terms.get(vid) {
            // Segments that are listed one by one.
            Term::Elem(coll) if matches!(self.terms.get(*coll), Term::List(_)) => {
                if let Term::List(parts) = self.terms.get(*coll) {
                    out.extend(parts.iter().copied());
                }
            }
            Term::Elem(coll) => {
                if let Term::Coll {
                    kind: CollKind::Split | CollKind::Components | CollKind::Parents,
                    of,
                    ..
                } = self.terms.get(*coll)
                {
                    let mut of = *of;
                    // A path made relative again: the walk is over the path.
                    while let Term::Part {
                        kind: PartKind::Text,
                        of: inner,
                        ..
                    }
                    | Term::Relative { of: inner, .. }
                    | Term::Norm {
                        of: inner,
                        canonical: false,
                        ..
                    } = self.terms.get(of)
                    {
                        out.push(of);
                        of = *inner;
                    }
                    out.push(of);
                }
            }
            Term::Join { parts, .. } | Term::Concat(parts) | Term::Phi(parts) => {
                for part in parts {
                    self.walk_origins(*part, out, depth + 1);
                }
            }
            Term::Norm { of, .. } => self.walk_origins(*of, out, depth + 1),
            Term::Fd(index) => {
                if let Some(open) = self.opens.get(*index as usize) {
                    self.walk_origins(open.path, out, depth + 1);
                }
            }
            _ => {}
        }
    }

    /// Made of nothing external: may be a root.
    pub(super) fn root_like(&mut self, vid: Vid) -> bool {
        self.leaves(vid, &State::default()).is_empty()
            || matches!(
                self.terms.get(vid),
                Term::Param { .. } | Term::Field(..) | Term::Global { .. }
            )
    }
}
