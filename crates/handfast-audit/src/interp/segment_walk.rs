//! Loops that go through a path with a pointer, from one slash to the next.
//!
//! `while (p) { if (is_dotdot(p)) return 0; p = strchr(p, '/'); if (p) p++; }` looks at every
//! segment, so inside such a loop the pointer stands for a segment of the text.

use crate::facts::bit;
use crate::interp::Interp;
use crate::ir::{Expr, ExprKind, Operation, Span, Stmt, StmtKind, Sym};
use crate::state::State;
use crate::term::{CollKind, Pred, Term, Vid};

/// Calls that find the next separator.
const FINDERS: [&str; 4] = ["strchr", "strpbrk", "strchrnul", "strcspn"];

impl Interp<'_> {
    /// The pointer that such a loop moves, and the segments it goes through.
    pub(super) fn segment_pointer(
        &mut self,
        body: &[Stmt],
        step: &[Stmt],
        state: &State,
    ) -> Option<(Sym, Vid)> {
        if self.lang().family() != "c" {
            return None;
        }
        let name = found_from(body).or_else(|| found_from(step))?;
        if !is_moved(body, &name) && !is_moved(step, &name) {
            return None;
        }
        let text = *state.env.get(&name)?;
        let of = self.deref(text, state);
        let coll = self.terms.make(Term::Coll {
            kind: CollKind::Split,
            of,
            seps: 1,
        });
        Some((name, self.terms.make(Term::Elem(coll))))
    }

    /// A condition that is true of `..` alone is false: the segment is another one.
    pub(super) fn refute_dotdot(&mut self, pred: &Pred, state: &mut State, at: Span) {
        let mut parts = Vec::new();
        self.conjuncts(pred, &mut parts, 0);
        let Some(elem) = parts.iter().find_map(|part| self.dots_of(*part)) else {
            return;
        };
        let is_whole = parts.iter().all(|part| self.is_about_dots(*part, elem));
        if is_whole {
            state.add(elem, bit::NOT_DOTDOT, at);
        }
    }

    fn conjuncts(&self, pred: &Pred, out: &mut Vec<Vid>, depth: usize) {
        let Pred::And(a, b) = *pred else { return };
        for part in [a, b] {
            match self.terms.get(part) {
                Term::Pred(inner @ Pred::And(..)) if depth < 6 => {
                    self.conjuncts(inner, out, depth + 1);
                }
                _ => out.push(part),
            }
        }
    }

    /// The segment whose beginning a test compares with a dot or two.
    fn dots_of(&self, vid: Vid) -> Option<Vid> {
        let subject = match self.terms.get(vid) {
            Term::Pred(Pred::Prefix(subject, dots)) => {
                self.terms.string(*dots).filter(|text| *text == "..")?;
                *subject
            }
            // `strncmp(p, "..", 2) == 0`
            Term::Pred(Pred::Compare(Operation::Eq, call, zero))
                if self.terms.number(*zero) == Some(0) =>
            {
                match self.terms.get(*call) {
                    Term::Call { name, args, .. } if &**name == "strncmp" => {
                        let dots = args.get(1).and_then(|dots| self.terms.string(*dots));
                        dots.filter(|text| *text == "..")?;
                        *args.first()?
                    }
                    _ => return None,
                }
            }
            Term::Pred(Pred::Compare(Operation::Eq, one, two)) => {
                self.terms.string(*two).filter(|text| *text == ".")?;
                match self.terms.get(*one) {
                    Term::Index(of, _) => *of,
                    _ => return None,
                }
            }
            _ => return None,
        };
        self.is_segment(subject).then_some(subject)
    }

    fn is_segment(&self, vid: Vid) -> bool {
        let Term::Elem(coll) = self.terms.get(vid) else {
            return false;
        };
        let Term::Coll { kind, .. } = self.terms.get(*coll) else {
            return false;
        };
        *kind == CollKind::Split
    }

    /// A test that `..` passes: it begins with dots, and ends after two.
    fn is_about_dots(&self, vid: Vid, elem: Vid) -> bool {
        if self.dots_of(vid) == Some(elem) {
            return true;
        }
        match self.terms.get(vid) {
            // `p[2] == '/' || p[2] == '\0'`, `!p[2]`
            Term::Pred(Pred::Or(a, b)) => {
                self.is_about_dots(*a, elem) && self.is_about_dots(*b, elem)
            }
            Term::Pred(Pred::Not(inner)) => self.is_end(*inner, elem),
            Term::Pred(Pred::Compare(Operation::Eq, a, b)) => {
                let ends = matches!(self.terms.string(*b), Some("/" | "\\" | "\0"))
                    || self.terms.number(*b) == Some(0);
                // The length of the segment is two.
                ends && self.is_end(*a, elem) || self.terms.number(*b) == Some(2)
            }
            _ => false,
        }
    }

    fn is_end(&self, vid: Vid, elem: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Index(of, index) => *of == elem && self.terms.number(*index) == Some(2),
            _ => false,
        }
    }
}

/// The name in which a statement looks for the next slash.
fn found_from(body: &[Stmt]) -> Option<Sym> {
    body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Expr(value) => finder(value),
        StmtKind::Assign { value, .. } => finder(value),
        StmtKind::If {
            cond,
            then,
            otherwise,
        } => finder(cond)
            .or_else(|| found_from(then))
            .or_else(|| found_from(otherwise)),
        StmtKind::Block(inner) => found_from(inner),
        _ => None,
    })
}

fn finder(value: &Expr) -> Option<Sym> {
    match &value.kind {
        ExprKind::Call { callee, args, .. } => {
            let name = callee.dotted()?;
            let last = name.rsplit('.').next().unwrap_or(&name);
            let is_slash = |text: &Sym| text.contains('/');
            let slash = args.get(1).is_some_and(
                |arg| matches!(&arg.value.kind, ExprKind::Str(text) if is_slash(text)),
            );
            if !FINDERS.contains(&last) || !slash {
                return None;
            }
            base_name(&args.first()?.value)
        }
        ExprKind::Assign(_, value) | ExprKind::Ref(value) | ExprKind::Cast(value, _) => {
            finder(value)
        }
        ExprKind::Binary(_, a, b) => finder(a).or_else(|| finder(b)),
        ExprKind::Cond(a, b, c) => finder(a).or_else(|| finder(b)).or_else(|| finder(c)),
        _ => None,
    }
}

fn base_name(value: &Expr) -> Option<Sym> {
    match &value.kind {
        ExprKind::Name(name) => Some(name.clone()),
        ExprKind::Binary(Operation::Add, a, _) => base_name(a),
        ExprKind::Ref(inner) | ExprKind::Cast(inner, _) => base_name(inner),
        _ => None,
    }
}

/// Whether a name is set again.
fn is_moved(body: &[Stmt], name: &Sym) -> bool {
    let is_it = |target: &Expr| matches!(&target.kind, ExprKind::Name(known) if known == name);
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Assign { target, .. } => is_it(target),
        StmtKind::Expr(value) => {
            matches!(&value.kind, ExprKind::Assign(target, _) if is_it(target))
        }
        StmtKind::If {
            then, otherwise, ..
        } => is_moved(then, name) || is_moved(otherwise, name),
        StmtKind::Block(inner) => is_moved(inner, name),
        _ => false,
    })
}
