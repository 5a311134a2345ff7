//! Expressions whose value is known before they are run: numbers, and what the user declares.

use crate::interp::Interp;
use crate::ir::{Expr, ExprKind, Operation, Span, Sym};
use crate::program::changed::{is_set, is_touched};
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
    pub(super) fn fold(&mut self, op: Operation, a: Vid, b: Vid) -> Option<Vid> {
        if op == Operation::Eq || op == Operation::Ne {
            let (Term::Str(one), Term::Str(two)) = (self.terms.get(a), self.terms.get(b)) else {
                return self.fold_numbers(op, a, b);
            };
            let same = one == two;
            return Some(self.terms.make(Term::Bool(same == (op == Operation::Eq))));
        }
        self.fold_numbers(op, a, b)
    }

    pub(super) fn fold_numbers(&mut self, op: Operation, a: Vid, b: Vid) -> Option<Vid> {
        let (a, b) = (self.fixed_number(a)?, self.fixed_number(b)?);
        // Numbers beyond the bounds were read as the largest one.
        if a == i64::MAX || b == i64::MAX || self.is_in_loop() {
            return None;
        }
        let number = match op {
            Operation::Add => a.checked_add(b),
            Operation::Sub => a.checked_sub(b),
            Operation::Mul => a.checked_mul(b),
            Operation::Div | Operation::Quot => a.checked_div(b),
            Operation::Mod | Operation::Rem => a.checked_rem(b),
            _ => None,
        };
        if let Some(number) = number {
            return Some(self.terms.make(Term::Num(number)));
        }
        let truth = match op {
            Operation::Eq => a == b,
            Operation::Ne => a != b,
            Operation::Lt => a < b,
            Operation::Le => a <= b,
            Operation::Gt => a > b,
            Operation::Ge => a >= b,
            _ => return None,
        };
        Some(self.terms.make(Term::Bool(truth)))
    }

    /// A number that is written down, there or where its name is set once and for all.
    fn fixed_number(&self, vid: Vid) -> Option<i64> {
        match self.terms.get(vid) {
            Term::Num(number) => Some(*number),
            Term::Global { name, of, at } if self.lang().family() == "c" => {
                let source = self.program.file(at.file);
                let number = self.terms.number(*of)?;
                let is_own = is_of_its_file(source.line(at.line))
                    || !self.program.is_changed_elsewhere(at.file, name);
                (is_own && is_set_once(&source.text, name)).then_some(number)
            }
            _ => None,
        }
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

/// Whether a declaration keeps other files from setting what it declares.
fn is_of_its_file(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|word| matches!(word, "static" | "const" | "constexpr" | "define"))
}

/// Whether a text sets a name in one place only, and hands it to nobody who could.
fn is_set_once(text: &str, name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let mut sets = 0;
    for (at, _) in text.match_indices(name) {
        let end = at + name.len();
        if at > 0 && is_word(bytes[at - 1]) || bytes.get(end).copied().is_some_and(is_word) {
            continue;
        }
        let before = bytes[..at].trim_ascii_end();
        let after = bytes[end..].trim_ascii_start();
        if is_touched(before, after) {
            return false;
        }
        sets += usize::from(is_set(after));
    }
    sets == 1
}
