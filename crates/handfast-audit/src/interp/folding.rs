//! Expressions whose value is known before they are run: numbers, and what the user declares.

use crate::interp::Interp;
use crate::ir::{Expr, ExprKind, Op, Span, Sym};
use crate::state::State;
use crate::term::{ObjectKind, Pred, SourceKind, Term, Vid};

impl Interp<'_> {
    /// An expression that the user named as it stands there: `--root "conf.top()"`, `--input "m[1]"`.
    pub(super) fn declared_expr(&mut self, expr: &Expr, state: &State) -> Option<Vid> {
        if self.declared.roots.is_empty() && self.declared.inputs.is_empty() {
            return None;
        }
        let is_plain = match &expr.kind {
            ExprKind::Name(_) => true,
            ExprKind::Field(..) | ExprKind::Index(..) | ExprKind::Call { .. } => false,
            _ => return None,
        };
        let file = self.here().0;
        let text = &self.program.file(file).text;
        let written = text
            .get(expr.span.start as usize..expr.span.end as usize)?
            .trim();
        let is_named = |list: &[String]| list.iter().any(|one| one == written);
        if is_named(&self.declared.inputs) {
            // A name keeps what the code makes of it.
            if is_plain
                && let Some(vid) = state.env.get(written).copied()
                && !self.leaves(vid, state).is_empty()
            {
                return None;
            }
            return Some(self.terms.make(Term::Source {
                label: Sym::from(written),
                kind: SourceKind::Declared,
                at: Span::default(),
            }));
        }
        let is_root = !is_plain && is_named(&self.declared.roots);
        is_root.then(|| {
            self.terms.make(Term::Config {
                label: Sym::from(written),
                at: Span::default(),
            })
        })
    }

    /// Arithmetic and comparison of numbers that are written down.
    pub(super) fn fold(&mut self, op: Op, a: Vid, b: Vid) -> Option<Vid> {
        if op == Op::Eq || op == Op::Ne {
            let (Term::Str(one), Term::Str(two)) = (self.terms.get(a), self.terms.get(b)) else {
                return self.fold_numbers(op, a, b);
            };
            let same = one == two;
            return Some(self.terms.make(Term::Bool(same == (op == Op::Eq))));
        }
        self.fold_numbers(op, a, b)
    }

    pub(super) fn fold_numbers(&mut self, op: Op, a: Vid, b: Vid) -> Option<Vid> {
        let (Term::Num(a), Term::Num(b)) = (self.terms.get(a), self.terms.get(b)) else {
            return None;
        };
        let (a, b) = (*a, *b);
        // Numbers beyond the bounds were read as the largest one.
        if a == i64::MAX || b == i64::MAX || self.is_in_loop() {
            return None;
        }
        let number = match op {
            Op::Add => a.checked_add(b),
            Op::Sub => a.checked_sub(b),
            Op::Mul => a.checked_mul(b),
            Op::Div | Op::Quot => a.checked_div(b),
            Op::Mod | Op::Rem => a.checked_rem(b),
            _ => None,
        };
        if let Some(number) = number {
            return Some(self.terms.make(Term::Num(number)));
        }
        let truth = match op {
            Op::Eq => a == b,
            Op::Ne => a != b,
            Op::Lt => a < b,
            Op::Le => a <= b,
            Op::Gt => a > b,
            Op::Ge => a >= b,
            _ => return None,
        };
        Some(self.terms.make(Term::Bool(truth)))
    }

    pub(super) fn mode_test(&mut self, a: Vid, b: Vid) -> Vid {
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
}
