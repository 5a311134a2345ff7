//! What a containment test proves, and of what.

use crate::facts::bit;
use crate::interp::Interp;
use crate::interp::query::Norm;
use crate::interp::text_tests::proves;
use crate::ir::Span;
use crate::state::State;
use crate::term::{PartKind, Term, Vid};

impl Interp<'_> {
    /// A containment test succeeded: how much is it worth?
    pub(super) fn contained(
        &mut self,
        subject: Vid,
        root: Vid,
        has_sep: bool,
        state: &mut State,
        at: Span,
    ) {
        let subject = self.deref(subject, state);
        let root = self.deref(root, state);
        let (of, mut target) = (self.norm_of(subject), self.norm_of(root));
        // What was put together from the root itself begins with the very same text.
        if of < Norm::Canonical && self.begins_with(subject, root) {
            target = target.min(Norm::Lexical);
        }
        let clean = self.facts_of(subject, state).has(bit::NO_DOTDOT);
        let bits = proves(of, target, has_sep, clean);
        self.add_down(subject, bits, state, at);
    }

    /// A path that was put together with this root as its first part.
    pub(super) fn begins_with(&self, path: Vid, root: Vid) -> bool {
        if path == root {
            return true;
        }
        match self.terms.get(path) {
            Term::Norm {
                canonical: false,
                of,
                ..
            }
            | Term::Part {
                kind: PartKind::Text,
                of,
                ..
            } => self.begins_with(*of, root),
            Term::Join { parts, .. } | Term::Concat(parts) => parts
                .first()
                .is_some_and(|first| *first == root || self.begins_with(*first, root)),
            Term::Phi(parts) => parts.iter().all(|part| self.begins_with(*part, root)),
            _ => false,
        }
    }

    /// Facts of a normal form hold of what was normalised.
    pub(super) fn add_down(&mut self, vid: Vid, bits: u64, state: &mut State, at: Span) {
        let mut vid = vid;
        for _ in 0..6 {
            state.add(vid, bits, at);
            match self.terms.get(vid) {
                Term::Norm { of, .. } => vid = *of,
                Term::Part {
                    kind: PartKind::Text,
                    of,
                    ..
                } => vid = *of,
                Term::Join { parts, .. } => {
                    let parts = parts.clone();
                    self.add_to_text(&parts, bits, state, at);
                    return;
                }
                _ => return,
            }
        }
    }

    /// A path that stays inside says of the text behind its root that it leads out of no root: the
    /// same text in a path that is put together again is inside as well.
    pub(super) fn add_to_text(&self, parts: &[Vid], bits: u64, state: &mut State, at: Span) {
        let mut inside = bits & crate::standing::WEAK;
        if bits & bit::CONTAINMENT != 0 {
            inside |= bit::IN_LEXICAL;
        }
        for part in parts.iter().skip(1) {
            let is_text = matches!(
                self.terms.get(*part),
                Term::Source { .. }
                    | Term::Field(..)
                    | Term::Index(..)
                    | Term::Param { .. }
                    | Term::Part { .. }
                    | Term::Call { .. }
                    | Term::Elem(_)
                    | Term::Payload(_)
                    | Term::Proj(..)
            );
            if is_text && inside != 0 {
                state.add(*part, inside, at);
            }
        }
    }

    /// `relative(root, p)` that does not lead up says that `p` is inside.
    pub(super) fn settle_relative(&mut self, subject: Vid, state: &mut State, at: Span) {
        let Term::Relative { root, of, .. } = *self.terms.get(subject) else {
            return;
        };
        let facts = self.facts_of(subject, state);
        if !facts.has(bit::REL_NOT_UP) {
            return;
        }
        // Both sides are made plain before one is taken from the other.
        let (one, two) = (self.norm_of(of), self.norm_of(root));
        let bits = proves(one.max(Norm::Lexical), two.max(Norm::Lexical), true, true);
        let bits = match bits & bit::CONTAINMENT {
            0 => bits | bit::IN_LEXICAL,
            _ => bits,
        };
        self.add_down(of, bits, state, at);
        // Without isAbsolute another drive slips by.
        if self.lang().family() == "javascript" && !facts.has(bit::NOT_ABSOLUTE) {
            self.add_down(of, bit::OTHER_DRIVE, state, at);
        } else {
            self.drop_down(of, bit::OTHER_DRIVE, state);
        }
    }

    /// Takes back what was said of a normal form and what it was made from.
    pub(super) fn drop_down(&mut self, vid: Vid, bits: u64, state: &mut State) {
        let mut vid = vid;
        for _ in 0..6 {
            if state.own(vid).is_some_and(|facts| facts.any(bits)) {
                state.edit(vid).bits &= !bits;
            }
            match self.terms.get(vid) {
                Term::Norm { of, .. }
                | Term::Part {
                    kind: PartKind::Text,
                    of,
                    ..
                } => vid = *of,
                _ => return,
            }
        }
    }
}
