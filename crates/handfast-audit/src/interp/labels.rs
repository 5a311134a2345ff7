//! How a piece of text is called in a report.

use crate::interp::Interp;
use crate::lang::Lang;
use crate::term::{Term, Vid};

impl Interp<'_> {
    /// How a piece of external text is called.
    pub(crate) fn label(&self, vid: Vid) -> String {
        match self.terms.get(vid) {
            Term::Source { label, .. } => label.to_string(),
            Term::Param { name, .. } => name.to_string(),
            // The keys of a table go by the table's name.
            Term::Field(base, name) if &**name == "%keys" => self.label(*base),
            Term::Field(base, name) => match self.label(*base) {
                // A parameter that is taken apart has no name of its own.
                of if of.starts_with('%') => name.to_string(),
                of => format!("{of}.{name}"),
            },
            Term::Index(base, index) => match self.terms.string(*index) {
                Some(key) => format!("{}.{key}", self.label(*base)),
                None => self.label(*base),
            },
            Term::Payload(of) | Term::Elem(of) | Term::Coll { of, .. } | Term::Proj(of, _) => {
                self.label(*of)
            }
            Term::Call { args, name, .. } => match args.first() {
                Some(first) => self.label(*first),
                None => name.to_string(),
            },
            Term::Undefined(name) => name.to_string(),
            Term::Object { .. } => match self.lang() {
                Lang::Python | Lang::Rust => "self".to_owned(),
                _ => "this".to_owned(),
            },
            Term::Global { name, .. } => name.to_string(),
            Term::Config { label, .. } => label.to_string(),
            Term::Phi(parts) => parts
                .first()
                .map_or_else(String::new, |part| self.label(*part)),
            Term::Norm { of, .. } | Term::Part { of, .. } | Term::Mapped { element: of, .. } => {
                self.label(*of)
            }
            Term::Join { parts, .. } | Term::Concat(parts) | Term::List(parts) => parts
                .iter()
                .rev()
                .find(|part| !matches!(self.terms.get(**part), Term::Str(_)))
                .map_or_else(|| "text".to_owned(), |part| self.label(*part)),
            Term::Str(text) => text.to_string(),
            Term::Closure { of, .. } => self.program.function(*of).name.to_string(),
            Term::Outcome(call) => self.ways[*call as usize]
                .iter()
                .map(|way| way.value)
                .find(|value| !matches!(self.terms.get(*value), Term::Null | Term::Outcome(_)))
                .map_or_else(|| "answer".to_owned(), |value| self.label(value)),
            Term::Temp { .. } => "temporary directory".to_owned(),
            _ => "text".to_owned(),
        }
    }
}
