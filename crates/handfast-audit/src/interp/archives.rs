//! Which archive the name of an entry is of.
//!
//! A look at the names of one archive says nothing about another one, so the names of each are a
//! source of their own.

use crate::interp::Interp;
use crate::ir::Span;
use crate::state::State;
use crate::term::{SourceKind, Term, Vid};

impl Interp<'_> {
    /// The names of an archive: `plain` for the first one that is asked, another source for each
    /// further one.
    pub(super) fn names_of(&mut self, plain: Vid, archive: Vid, at: Span, state: &State) -> Vid {
        let archive = self.deref(archive, state);
        let owner = *self.archives.entry(plain).or_insert(Some(archive));
        let Term::Source { label, kind, .. } = self.terms.get(plain) else {
            return plain;
        };
        if owner == Some(archive) || *kind != SourceKind::Archive {
            return plain;
        }
        let (label, kind) = (label.clone(), *kind);
        let is_same = |vid: Vid| matches!(self.terms.get(vid), Term::Source { label: known, .. } if *known == label);
        let known = self.archives.iter();
        let mut known = known.filter(|(vid, of)| **of == Some(archive) && is_same(**vid));
        if let Some((vid, _)) = known.next() {
            return *vid;
        }
        let own = self.terms.make(Term::Source { label, kind, at });
        let owner = self.archives.entry(own).or_insert(Some(archive));
        if *owner != Some(archive) {
            // One place asks several archives: the name may be of any of them.
            *owner = None;
        }
        own
    }

    /// The names of an archive's entries, where a loop before looked at every one of this archive
    /// and refused some. What is unpacked by the name of its `file` was opened by it before.
    pub(super) fn looked_through(
        &mut self,
        archive: Option<Vid>,
        file: Option<Vid>,
        state: &State,
    ) -> Option<Vid> {
        let archive = archive.map(|archive| self.deref(archive, state));
        let file = file.map(|file| self.deref(file, state));
        let is_this = |known: Vid| match file {
            Some(file) => self.read_from.get(&known) == Some(&file),
            None => archive == Some(known),
        };
        let names = state.facts.iter().filter(|(vid, facts)| {
            let of = match self.terms.get(*vid) {
                Term::Field(of, name) if matches!(&**name, "name" | "filename") => *of,
                Term::Elem(_) => *vid,
                _ => return false,
            };
            let source = self.asked_source(of);
            let owner = self.archives.get(&source).copied().flatten();
            // A weak test is one as well: what it is worth is told with the finding.
            let is_asked = facts.is_validated() || facts.any(crate::standing::WEAK);
            is_asked && owner.is_some_and(is_this)
        });
        names.map(|(vid, _)| vid).min()
    }

    /// The source whose element a value is.
    fn asked_source(&self, mut vid: Vid) -> Vid {
        while let Term::Elem(of) | Term::Coll { of, .. } | Term::Payload(of) | Term::Proj(of, _) =
            *self.terms.get(vid)
        {
            vid = of;
        }
        vid
    }

    /// A filter that lets every entry through as it is.
    pub(super) fn trusts_all(&self, filter: Vid) -> bool {
        let name = self.name_of(filter).unwrap_or_default();
        match self.terms.get(filter) {
            Term::Null => true,
            // A function of the program that decides nothing and renames nothing.
            Term::Closure { of, .. } => {
                let span = self.program.function(*of).span;
                let text = &self.program.file(of.0).text;
                let body = text.get(span.start as usize..span.end as usize);
                body.is_some_and(|body| !DECIDES.iter().any(|word| body.contains(word)))
            }
            _ => matches!(name, "fully_trusted" | "fully_trusted_filter" | "None"),
        }
    }
}

/// What a filter of entries that refuses or renames some of them is written with.
const DECIDES: [&str; 8] = [
    "if ", "raise", "_filter", ".name =", "replace(", " and ", " or ", "assert",
];
