//! Rust: text that is parsed into a type of the program, by a call or by the command line.

use crate::interp::Interp;
use crate::interp::call::Args;
use crate::ir::{Arg, ExprKind, Span, Sym};
use crate::lang::Lang;
use crate::state::State;
use crate::term::{Pred, SourceKind, Term, Vid};

/// Types that are the text itself.
const TEXTS: [&str; 5] = ["String", "PathBuf", "OsString", "Utf8PathBuf", "Box<str>"];

impl Interp<'_> {
    /// `text.parse::<T>()`: what `T` makes of the text. `None`: nothing is known of the type.
    pub(super) fn parsed_text(
        &mut self,
        text: Vid,
        method: &str,
        args: &[Arg],
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        if self.lang() != Lang::Rust || method != "parse" {
            return None;
        }
        let ty = args
            .iter()
            .find_map(|arg| match (arg.name.as_deref(), &arg.value.kind) {
                (Some("%type"), ExprKind::Str(ty)) => Some(ty.clone()),
                _ => None,
            })?;
        self.parsed_as(text, &ty, at, state)
    }

    fn parsed_as(&mut self, text: Vid, ty: &str, at: Span, state: &mut State) -> Option<Vid> {
        let ty = ty.trim().trim_start_matches("Result<");
        let ty = ty.split(',').next().unwrap_or(ty).trim_end_matches('>');
        let last = ty.rsplit("::").next().unwrap_or(ty);
        if TEXTS.contains(&last) {
            return Some(self.terms.make(Term::Variant(Sym::from("Ok"), text)));
        }
        let id = self.program.method(self.here().0, last, "from_str")?;
        Some(self.invoke(id, None, &one(text), None, at, state))
    }

    /// A field of parsed arguments whose type reads the text itself: the ways on which it did.
    pub(super) fn parsed_field(
        &mut self,
        base: Vid,
        name: &Sym,
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        let is_arguments = matches!(
            self.terms.get(base),
            Term::Source { kind: SourceKind::Process, label, .. } if &**label == "args"
        );
        if self.lang() != Lang::Rust || !is_arguments {
            return None;
        }
        let class = self.terms.ty(base)?.to_owned();
        let (_, ty) = self.program.field_type(self.here().0, &class, name)?;
        let ty = ty.clone();
        let text = self.terms.make(Term::Field(base, name.clone()));
        let inner = ty
            .strip_prefix("Vec<")
            .or_else(|| ty.strip_prefix("Option<"));
        let inner = inner.map(|inner| inner.trim_end_matches('>'));
        match inner {
            Some(inner) if ty.starts_with("Vec<") => {
                let coll = self.terms.make(Term::Coll {
                    kind: crate::term::CollKind::Other,
                    of: text,
                    seps: 0,
                });
                let element = self.terms.make(Term::Elem(coll));
                let element = self.accepted_as(element, inner, at, state)?;
                Some(self.terms.make(Term::Mapped { element, coll }))
            }
            inner => self.accepted_as(text, inner.unwrap_or(&ty), at, state),
        }
    }

    fn accepted_as(&mut self, text: Vid, ty: &str, at: Span, state: &mut State) -> Option<Vid> {
        let last = ty.rsplit("::").next().unwrap_or(ty);
        if TEXTS.contains(&last) {
            return None;
        }
        let made = self.parsed_as(text, ty, at, state)?;
        let is_ok = Pred::Variant(made, Sym::from("Ok"));
        let is_ok = self.terms.make(Term::Pred(is_ok));
        self.assume(is_ok, true, state, at);
        let made = self.payload(made);
        Some(self.deref(made, state))
    }
}

fn one(value: Vid) -> Args {
    Args {
        receiver: None,
        list: vec![(None, value)],
        places: vec![None],
    }
}
