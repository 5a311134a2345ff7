//! Conditions about what the platform offers: its version, and whether it has a safer way.
//!
//! Where a program takes the safer way if there is one, the other branch is for platforms without
//! it. Nobody can see which one will run it, so what is found there is not sure.

use crate::facts::bit;
use crate::interp::Interp;
use crate::ir::{Span, Sym};
use crate::state::State;
use crate::term::{Pred, SourceKind, Term, Vid};

impl Interp<'_> {
    /// Whether a condition asks for the version, or for a filter of an archive library.
    pub(super) fn asks_platform(&self, vid: Vid, depth: usize) -> bool {
        if depth > 6 {
            return false;
        }
        let of = |vid: &Vid| self.asks_platform(*vid, depth + 1);
        match self.terms.get(vid) {
            Term::Call { name, args, .. } => {
                let asks = &**name == "hasattr"
                    && args
                        .iter()
                        .filter_map(|arg| self.terms.string(*arg))
                        .any(|text| text.contains("filter"));
                asks || args.iter().any(of)
            }
            Term::Config { label, .. } | Term::Undefined(label) => label.ends_with("version_info"),
            Term::Field(base, name) => name.ends_with("version_info") || of(base),
            Term::Part { of: inner, .. }
            | Term::Index(inner, _)
            | Term::Global { of: inner, .. } => of(inner),
            Term::Pred(Pred::Not(inner)) => of(inner),
            Term::Pred(
                Pred::And(a, b) | Pred::Or(a, b) | Pred::Compare(_, a, b) | Pred::Member(a, b),
            ) => of(a) || of(b),
            _ => false,
        }
    }

    /// What is unpacked on such a branch may be what no platform in use unpacks.
    pub(super) fn doubt_entries(&mut self, state: &mut State, at: Span) {
        let names = self.entry_names();
        state.add(names, bit::UNSEEN_CHECK, at);
    }

    /// The names of all entries of an archive that is unpacked as a whole.
    pub(super) fn entry_names(&mut self) -> Vid {
        self.terms.make(Term::Source {
            label: Sym::from("member"),
            kind: SourceKind::Archive,
            at: Span::default(),
        })
    }
}
