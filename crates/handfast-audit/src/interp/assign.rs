//! Assignment, and what values are taken apart into.

use std::sync::Arc;

use crate::interp::Interp;
use crate::ir::{Expr, ExprKind, Span, Sym};
use crate::lang::Lang;
use crate::state::State;
use crate::term::{CollKind, Pred, Term, Vid};

impl Interp<'_> {
    pub(super) fn assign(&mut self, target: &Expr, vid: Vid, state: &mut State, at: Span) {
        match &target.kind {
            ExprKind::Name(name)
                if !state.env.contains_key(name) && self.implied_object(name, state).is_some() =>
            {
                if let Some(object) = self.implied_object(name, state) {
                    state.set_field(object, name.clone(), vid);
                }
            }
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
                self.publish(name, value);
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
                    if !self.only_ends(base, vid, state) {
                        self.assign(base, vid, state, at);
                    }
                } else {
                    let held = self.eval(base, state);
                    let index = self.eval(index, state);
                    if !is_content {
                        self.note_key(held, index, at, state);
                    }
                    let real = self.deref(held, state);
                    let is_place = matches!(base.kind, ExprKind::Name(_) | ExprKind::Field(..));
                    if is_place && let Some(new) = self.with_entry(real, index, vid) {
                        self.assign(base, new, state, at);
                    }
                }
            }
            ExprKind::Ref(inner) => self.assign(inner, vid, state, at),
            // `*dst++ = c`: what the pointer runs through holds it.
            ExprKind::Call { callee, args, .. } if callee.dotted().as_deref() == Some("%step") => {
                if let Some(moved) = args.first() {
                    self.assign(&moved.value, vid, state, at);
                }
            }
            ExprKind::List(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    // Python: `first, *rest = parts`.
                    if let ExprKind::Slice(rest, ..) = &part.kind {
                        self.assign(rest, vid, state, at);
                        continue;
                    }
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

    /// C: a terminator or a single character that is set in a text leaves the text what it is.
    fn only_ends(&mut self, base: &Expr, vid: Vid, state: &mut State) -> bool {
        let is_char = match self.terms.get(vid) {
            Term::Str(text) => text.chars().count() <= 1,
            Term::Num(_) => true,
            _ => false,
        };
        if !is_char || !matches!(base.kind, ExprKind::Name(_) | ExprKind::Field(..)) {
            return is_char && matches!(base.kind, ExprKind::Call { .. });
        }
        let held = self.eval(base, state);
        !self.leaves(held, state).is_empty()
    }

    /// Functions that a module's own statements call see the names it has set so far.
    pub(super) fn publish(&mut self, name: &Sym, value: Vid) {
        let (file, function) = self.here();
        if self.program.file(file).module.top == function as usize
            && let Some(names) = self.globals.get_mut(&file)
        {
            names.insert(name.clone(), value);
        }
    }

    /// One of several values that were returned together.
    pub(super) fn project(&mut self, vid: Vid, index: u32) -> Vid {
        match self.terms.get(vid).clone() {
            Term::List(parts) => match parts.get(index as usize) {
                Some(part) => *part,
                None => self.terms.unknown(),
            },
            Term::Outcome(_) | Term::Phi(_) => self.terms.make(Term::Proj(vid, index)),
            // `[, name] = text.match(…)`, and the tuple of groups, which has no whole.
            Term::Pred(Pred::Match { .. })
                if matches!(self.lang().family(), "python" | "javascript") =>
            {
                let first = u32::from(self.lang() == Lang::Python);
                let which = self.terms.make(Term::Num(i64::from(index + first)));
                let found = self.captured(vid, Some(which), Span::default(), &mut State::default());
                found.unwrap_or_else(|| self.terms.unknown())
            }
            // Python: `fd, name = mkstemp()`.
            Term::Temp { .. } if self.lang() == Lang::Python => {
                if index == 0 {
                    self.terms.make(Term::Proj(vid, 0))
                } else {
                    vid
                }
            }
            Term::Temp { .. } if index == 0 => vid,
            Term::Pred(_) if index == 0 => vid,
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

    /// Go: `type Slug string`, of which only the name is known.
    fn is_named_string(&self, ty: &str) -> bool {
        self.lang() == Lang::Go
            && ty.chars().all(char::is_alphanumeric)
            && self.program.class(self.here().0, ty).is_none()
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
                    && self.terms.ty(vid).is_none_or(|ty| {
                        ty == "str"
                            || ty == "text"
                            || ty.ends_with("tring")
                            || self.is_named_string(ty)
                    });
                let is_path = self.terms.ty(vid).is_some_and(|ty| match self.lang() {
                    Lang::Cpp => ty.ends_with("path"),
                    Lang::Java => ty == "java.Path",
                    _ => false,
                });
                let kind = if is_path {
                    CollKind::Components
                } else if is_text {
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
            // `items.map(parse).collect()?`: goes on only if each of them went well.
            Term::Mapped { element, coll }
                if matches!(
                    self.terms.get(element),
                    Term::Outcome(_) | Term::Variant(..)
                ) =>
            {
                let element = self.question(element, at, state);
                let element = self.deref(element, state);
                self.terms.make(Term::Mapped { element, coll })
            }
            Term::Variant(name, inner) => {
                if matches!(&*name, "Err" | "None") {
                    if state.failing.is_some() && !state.missing {
                        let raw = self.is_raw_error(inner, state);
                        let how = if raw {
                            super::FailedCheck::Raw
                        } else {
                            super::FailedCheck::Mapped
                        };
                        self.failure(how, at);
                        state.failing = None;
                    }
                    self.throw(state);
                }
                inner
            }
            Term::Pred(Pred::Within(..)) => {
                let mut failed = state.clone();
                self.assume(vid, true, state, at);
                self.throw(&mut failed);
                vid
            }
            Term::Stat { fd: false, .. } => {
                self.failure(super::FailedCheck::Raw, at);
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
