//! What a path is made of, as a flow needs to know it.

use crate::interp::{Interp, Leaf};
use crate::ir::Span;
use crate::term::{CollKind, PartKind, SourceKind, Term, Vid};

impl Interp<'_> {
    /// Variables of the environment behind the root: the user who starts the program chooses them.
    pub(crate) fn environment(&self, path: Vid, root: Vid) -> Vec<Leaf> {
        let parts = match self.terms.get(path) {
            Term::Join { parts, .. } | Term::Concat(parts) => parts.clone(),
            Term::Norm { of, .. } => return self.environment(*of, root),
            _ => return Vec::new(),
        };
        let behind = parts.iter().skip(1).copied();
        behind
            .filter(|vid| *vid != root && self.terms.ty(*vid) == Some("env"))
            .map(|vid| Leaf {
                vid,
                kind: SourceKind::Process,
                facts: crate::facts::Facts::default(),
                through_unknown: true,
            })
            .collect()
    }

    /// Where a piece of external text, or what it is a part of, was met first.
    pub(crate) fn met_at(&self, mut vid: Vid) -> Option<Span> {
        for _ in 0..8 {
            if let Some(at) = self.met.get(&vid) {
                return Some(*at);
            }
            match self.terms.get(vid) {
                Term::Field(of, _)
                | Term::Index(of, _)
                | Term::Payload(of)
                | Term::Proj(of, _)
                | Term::Elem(of)
                | Term::Part { of, .. }
                | Term::Coll { of, .. } => vid = *of,
                Term::Param { of, .. } => return Some(self.program.function(*of).span),
                _ => return None,
            }
        }
        None
    }

    /// The last part of the path is external text, so that `..` there names a directory only.
    pub(crate) fn ends_with_text(&self, vid: Vid, depth: usize) -> bool {
        if depth > 12 {
            return false;
        }
        match self.terms.get(vid) {
            Term::Concat(parts) => parts.last().is_some_and(|last| {
                let glued = self.terms.string(*last);
                glued.is_some_and(|text| !text.contains('/'))
                    || self.ends_with_text(*last, depth + 1)
            }),
            Term::Join { parts, .. } => parts
                .last()
                .is_some_and(|last| self.ends_with_text(*last, depth + 1)),
            // A name that is written down ends as it says.
            Term::Phi(parts) => parts.iter().all(|part| {
                self.terms.string(*part).is_some() || self.ends_with_text(*part, depth + 1)
            }),
            Term::Str(_) | Term::Num(_) => false,
            Term::Norm { of, .. } | Term::Global { of, .. } => self.ends_with_text(*of, depth + 1),
            _ => true,
        }
    }

    /// How many segments of a text that was taken apart are joined one behind the other; two stand
    /// for any number.
    pub(crate) fn segments_in(&self, vid: Vid, depth: usize) -> usize {
        let is_taken_apart = |vid: Vid| {
            matches!(
                self.terms.get(vid),
                Term::Coll {
                    kind: CollKind::Split | CollKind::Components,
                    ..
                }
            )
        };
        if depth > 10 {
            return 0;
        }
        match self.terms.get(vid) {
            Term::Join { parts, .. } => {
                let all = parts.iter().map(|part| self.segments_in(*part, depth + 1));
                all.sum::<usize>().min(2)
            }
            Term::Phi(parts) => {
                let all = parts.iter().map(|part| self.segments_in(*part, depth + 1));
                all.max().unwrap_or(0)
            }
            Term::Norm { of, .. } | Term::Global { of, .. } | Term::Payload(of) => {
                self.segments_in(*of, depth + 1)
            }
            Term::Part {
                kind: PartKind::Text,
                of,
                ..
            } => self.segments_in(*of, depth + 1),
            Term::Elem(of) => usize::from(is_taken_apart(*of)),
            // What a function makes of each may be anything.
            Term::Mapped { element, coll } => {
                2 * usize::from(is_taken_apart(*coll) && self.segments_in(*element, depth + 1) > 0)
            }
            Term::Coll { .. } => 2 * usize::from(is_taken_apart(vid)),
            _ => 0,
        }
    }

    /// `..` that the program itself puts behind segments of a text, turn by turn of a loop.
    pub(crate) fn climbs(&self, vid: Vid, depth: usize) -> bool {
        if depth > 10 {
            return false;
        }
        match self.terms.get(vid) {
            Term::Join { parts, .. } => {
                let up = parts
                    .iter()
                    .position(|part| self.terms.string(*part) == Some(".."));
                let carried = |part: &Vid| {
                    matches!(self.terms.get(*part), Term::Phi(_)) && self.segments_in(*part, 0) > 0
                };
                up.is_some_and(|up| parts[..up].iter().any(carried))
                    || parts.iter().any(|part| self.climbs(*part, depth + 1))
            }
            Term::Phi(parts) => parts.iter().any(|part| self.climbs(*part, depth + 1)),
            Term::Norm { of, .. } | Term::Global { of, .. } | Term::Payload(of) => {
                self.climbs(*of, depth + 1)
            }
            _ => false,
        }
    }

    /// Somewhere a root is joined with what replaces it when it is absolute.
    pub(crate) fn may_discard(&self, vid: Vid, depth: usize) -> bool {
        if depth > 8 {
            return false;
        }
        match self.terms.get(vid) {
            Term::Join { discards, parts } => {
                *discards
                    || parts
                        .first()
                        .is_some_and(|first| self.may_discard(*first, depth + 1))
            }
            Term::Norm { of, .. } | Term::Part { of, .. } | Term::Payload(of) => {
                self.may_discard(*of, depth + 1)
            }
            Term::Concat(parts) => parts
                .first()
                .is_some_and(|first| self.may_discard(*first, depth + 1)),
            Term::Phi(parts) => parts.iter().any(|part| self.may_discard(*part, depth + 1)),
            _ => false,
        }
    }

    pub(crate) fn is_inside(&self, whole: Vid, part: Vid) -> bool {
        match self.terms.get(whole) {
            Term::Norm { of, .. }
            | Term::Part { of, .. }
            | Term::Handle { of, .. }
            | Term::Global { of, .. } => *of == part || self.is_inside(*of, part),
            _ => false,
        }
    }

    /// A temporary file, or a name with random text in it.
    pub(crate) fn is_unguessable(&self, vid: Vid, depth: usize) -> bool {
        if depth > 8 {
            return false;
        }
        match self.terms.get(vid) {
            Term::Temp { .. } => true,
            Term::Random(_) => self.terms.ty(vid) != Some("digest"),
            Term::Proj(of, _)
            | Term::Norm { of, .. }
            | Term::Part { of, .. }
            | Term::Global { of, .. } => self.is_unguessable(*of, depth + 1),
            Term::Concat(parts) => parts
                .iter()
                .any(|part| self.is_unguessable(*part, depth + 1)),
            Term::Join { parts, .. } => parts
                .last()
                .is_some_and(|part| self.is_unguessable(*part, depth + 1)),
            Term::Call { args, name, .. } => {
                &**name != "hash" && args.iter().any(|arg| self.is_unguessable(*arg, depth + 1))
            }
            Term::Field(of, _) | Term::Index(of, _) => self.is_unguessable(*of, depth + 1),
            Term::Phi(parts) => parts
                .iter()
                .all(|part| self.is_unguessable(*part, depth + 1)),
            _ => false,
        }
    }

    /// A file of the system's directory for temporary files.
    pub(crate) fn is_temp_elsewhere(&self, vid: Vid, depth: usize) -> bool {
        match self.terms.get(vid) {
            Term::Temp { dir, .. } => {
                dir.is_none_or(|dir| self.terms.string(dir).is_some_and(str::is_empty))
            }
            Term::Proj(of, _)
            | Term::Norm { of, .. }
            | Term::Part { of, .. }
            | Term::Field(of, _)
                if depth < 8 =>
            {
                self.is_temp_elsewhere(*of, depth + 1)
            }
            Term::Join { parts, .. } if depth < 8 => parts
                .first()
                .is_some_and(|first| self.is_temp_elsewhere(*first, depth + 1)),
            _ => false,
        }
    }

    pub(crate) fn has_clock(&self, vid: Vid, depth: usize) -> bool {
        if depth > 8 {
            return false;
        }
        match self.terms.get(vid) {
            Term::Clock(_) => true,
            Term::Norm { of, .. }
            | Term::Part { of, .. }
            | Term::Field(of, _)
            | Term::Index(of, _) => self.has_clock(*of, depth + 1),
            Term::Concat(parts) | Term::Phi(parts) | Term::Join { parts, .. } => {
                parts.iter().any(|part| self.has_clock(*part, depth + 1))
            }
            Term::Call { args, .. } => args.iter().any(|arg| self.has_clock(*arg, depth + 1)),
            _ => false,
        }
    }
}
