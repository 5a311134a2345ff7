//! Indices, entries of containers, and slices.

use crate::facts::bit;
use crate::interp::Interp;
use crate::ir::{Span, Sym};
use crate::lang::Lang;
use crate::state::State;
use crate::term::{CollKind, PartKind, Term, Vid};

impl Interp<'_> {
    pub(super) fn index(&mut self, base: Vid, index: Vid, at: Span, state: &mut State) -> Vid {
        let mut base = self.deref(base, state);
        if let Term::Global { of, .. } = self.terms.get(base)
            && matches!(self.terms.get(*of), Term::Dict(_) | Term::List(_))
        {
            base = *of;
        }
        if let Some(piece) = self.captured(base, Some(index), at, state) {
            return piece;
        }
        match self.terms.get(base).clone() {
            Term::List(parts) => {
                if let Some(n) = self.terms.number(index)
                    && let Some(vid) = usize::try_from(n).ok().and_then(|n| parts.get(n))
                {
                    return *vid;
                }
            }
            // A character of a text that is written down.
            Term::Str(text) => {
                if let Some(n) = self.terms.number(index)
                    && let Some(c) = usize::try_from(n).ok().and_then(|n| text.chars().nth(n))
                {
                    return self
                        .terms
                        .make(Term::Str(Sym::from(c.to_string().as_str())));
                }
            }
            Term::Dict(pairs) => {
                let key = self.key_text(index);
                if let Some(key) = &key
                    && let Some((_, vid)) = pairs.iter().find(|(known, _)| known == key)
                {
                    return *vid;
                }
                // Which one is not known, and some of them are external text.
                let any = key.is_none() || pairs.iter().any(|(known, _)| &**known == "%any");
                let values: Vec<Vid> = pairs.iter().map(|(_, value)| *value).collect();
                if any
                    && values
                        .iter()
                        .any(|vid| !self.leaves(*vid, state).is_empty())
                {
                    return self.any_of(values, base);
                }
                // A value of a fixed table: the attacker chooses which, not what.
                let vid = self.terms.make(Term::Index(base, index));
                state.add(vid, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
                return vid;
            }
            // One of several, each with its own facts; which one is not known for a variable.
            Term::Coll { .. } | Term::Mapped { .. } => {
                return match self.terms.number(index) {
                    Some(_) => self.terms.make(Term::Index(base, index)),
                    None => self.terms.make(Term::Elem(base)),
                };
            }
            Term::Stat { .. } => return self.terms.make(Term::StatField(base, Sym::from("mode"))),
            _ => {}
        }
        let is_text = matches!(self.lang(), Lang::C | Lang::Cpp | Lang::Go)
            && self.terms.number(index).is_none()
            && self.terms.string(index).is_none();
        let is_prefix = self.lengths.get(&index).is_some_and(|of| *of != base);
        if is_prefix || matches!(self.terms.get(index), Term::Length(of, _) if *of != base) {
            return self.terms.make(Term::Index(base, index));
        }
        // C++: what an optional or a pointer to a path holds.
        if is_text && self.lang() == Lang::Cpp && self.is_pathish(base) {
            return base;
        }
        if is_text {
            // `name[strspn(name, OK)]`: the first character that is not in the list.
            if let Term::Call { name, args, .. } = self.terms.get(index).clone()
                && &*name == "strspn"
                && args.first() == Some(&base)
            {
                return self.terms.make(Term::Index(base, index));
            }
            if !matches!(
                self.terms.get(base),
                Term::Object { .. } | Term::Undefined(_)
            ) {
                let coll = Term::Coll {
                    kind: CollKind::Chars,
                    of: base,
                    seps: 0,
                };
                let coll = self.terms.make(coll);
                return self.terms.make(Term::Elem(coll));
            }
        }
        self.note_key(base, index, at, state);
        // `x["name"]` is `x.name` there.
        if self.lang().family() == "javascript"
            && let Some(key) = self.terms.string(index).map(Sym::from)
        {
            return self.field(base, &key, at, state);
        }
        self.terms.make(Term::Index(base, index))
    }

    /// The text of a key: a string, or a number as it is written.
    pub(super) fn key_text(&self, key: Vid) -> Option<Sym> {
        if let Some(text) = self.terms.string(key) {
            return Some(Sym::from(text));
        }
        let number = self.terms.number(key)?;
        Some(Sym::from(number.to_string().as_str()))
    }

    /// `m[k] = x`: the container with that entry. `None`: it is none that is known.
    pub(super) fn with_entry(&mut self, base: Vid, key: Vid, value: Vid) -> Option<Vid> {
        let inner = match self.terms.get(base) {
            Term::Global { of, .. } => *of,
            _ => base,
        };
        match self.terms.get(inner).clone() {
            Term::Dict(mut pairs) => {
                let key = self.key_text(key).unwrap_or_else(|| Sym::from("%any"));
                if &*key != "%any" {
                    pairs.retain(|(known, _)| *known != key);
                }
                pairs.push((key, value));
                Some(self.terms.make(Term::Dict(pairs)))
            }
            Term::List(mut parts) => {
                let index = self.terms.number(key).and_then(|n| usize::try_from(n).ok());
                match index.and_then(|index| parts.get_mut(index)) {
                    Some(slot) => *slot = value,
                    None => parts.push(value),
                }
                Some(self.terms.make(Term::List(parts)))
            }
            // C++: a map that was declared and not filled yet.
            // C: an array of pointers, by a number that is written down.
            Term::Undefined(_) | Term::Unknown(_)
                if self.is_map_key(key) || self.is_pointer_entry(key, value) =>
            {
                let key = self.key_text(key).unwrap_or_else(|| Sym::from("%any"));
                Some(self.terms.make(Term::Dict(vec![(key, value)])))
            }
            Term::Call { name, args, .. } if &*name == "make" && args.len() <= 2 => {
                let key = self.key_text(key).unwrap_or_else(|| Sym::from("%any"));
                Some(self.terms.make(Term::Dict(vec![(key, value)])))
            }
            _ => None,
        }
    }

    fn is_pointer_entry(&self, key: Vid, value: Vid) -> bool {
        let is_char = match self.terms.get(value) {
            Term::Str(text) => text.chars().count() <= 1,
            Term::Num(_) | Term::Elem(_) | Term::Call { .. } => true,
            _ => false,
        };
        self.lang().family() == "c" && self.terms.number(key).is_some() && !is_char
    }

    /// Text, where an index of an array would be a number.
    fn is_map_key(&self, key: Vid) -> bool {
        self.lang() == Lang::Cpp
            && matches!(
                self.terms.get(key),
                Term::Str(_) | Term::Part { .. } | Term::Concat(_) | Term::Source { .. }
            )
    }

    pub(super) fn slice(&mut self, base: Vid, from: Option<Vid>, to: Option<Vid>, at: Span) -> Vid {
        if let Term::Coll { .. } = self.terms.get(base) {
            return base;
        }
        // `p[:len(root)]`: what is compared with the root next.
        let from_start = from.is_none_or(|vid| self.terms.number(vid) == Some(0));
        if let (true, Some(to)) = (from_start, to)
            && let Term::Length(of, _) = *self.terms.get(to)
            && of != base
        {
            return self.terms.make(Term::Call {
                name: Sym::from("%prefix"),
                args: vec![base, of],
                at: Span::default(),
            });
        }
        // The same part of the same text, wherever it is taken.
        let bounds = Span {
            file: at.file,
            line: 0,
            end_line: 0,
            start: from.map_or(0, |vid| vid + 1),
            end: to.map_or(0, |vid| vid + 1),
        };
        self.terms.make(Term::Part {
            kind: PartKind::Slice,
            of: base,
            at: bounds,
        })
    }
}
