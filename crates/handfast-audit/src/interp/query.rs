//! Questions about values: what they are, what is known of them, what external text is in them.

use crate::facts::{Facts, bit, chars, mask};
use crate::interp::Interp;
use crate::lang::Lang;
use crate::state::State;
use crate::term::{CollKind, PartKind, Term, Vid};

/// How far a path was normalised.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Norm {
    Raw,
    Lexical,
    Canonical,
}

impl Interp<'_> {
    /// The value behind ways out, tuples and wrappers.
    pub(crate) fn deref(&mut self, vid: Vid, state: &State) -> Vid {
        self.deref_at(vid, state, 0)
    }

    pub(super) fn deref_at(&mut self, vid: Vid, state: &State, depth: usize) -> Vid {
        if depth > 12 {
            return vid;
        }
        if !matches!(
            self.terms.get(vid),
            Term::Outcome(_) | Term::Proj(..) | Term::Payload(_) | Term::Variant(..)
        ) {
            return vid;
        }
        match self.terms.get(vid).clone() {
            Term::Outcome(call) => {
                let values = self.way_values(call, state);
                self.any_of(values, vid)
            }
            Term::Proj(inner, index) => {
                if let Term::Outcome(call) = *self.terms.get(inner) {
                    let mut values = Vec::new();
                    for value in self.way_values(call, state) {
                        match self.terms.get(value) {
                            Term::List(parts) => values.extend(parts.get(index as usize).copied()),
                            Term::Null => {}
                            _ if index == 0 => values.push(value),
                            _ => {}
                        }
                    }
                    let value = self.any_of(values, vid);
                    return if value == vid {
                        vid
                    } else {
                        self.deref_at(value, state, depth + 1)
                    };
                }
                let real = self.deref_at(inner, state, depth + 1);
                if real != inner
                    && let Term::List(parts) = self.terms.get(real)
                    && let Some(part) = parts.get(index as usize)
                {
                    return *part;
                }
                vid
            }
            Term::Payload(inner) => {
                let real = self.deref_at(inner, state, depth + 1);
                match self.terms.get(real).clone() {
                    Term::Variant(_, value) => self.deref_at(value, state, depth + 1),
                    Term::Phi(parts) => {
                        let mut values = Vec::new();
                        for part in parts {
                            match self.terms.get(part).clone() {
                                Term::Variant(name, _) if matches!(&*name, "Err" | "None") => {}
                                Term::Variant(_, value) => values.push(value),
                                Term::Null => {}
                                _ => values.push(part),
                            }
                        }
                        let value = self.any_of(values, vid);
                        if value == vid {
                            vid
                        } else {
                            self.deref_at(value, state, depth + 1)
                        }
                    }
                    _ if real != inner => real,
                    _ => inner,
                }
            }
            Term::Variant(name, inner) if matches!(&*name, "Ok" | "Some") => {
                self.deref_at(inner, state, depth + 1)
            }
            _ => vid,
        }
    }

    pub(super) fn way_values(&self, call: u32, state: &State) -> Vec<Vid> {
        let ways = &self.ways[call as usize];
        match state.ways.get(&call) {
            Some(left) => left
                .iter()
                .filter_map(|index| ways.get(*index))
                .map(|way| way.value)
                .collect(),
            None => ways.iter().map(|way| way.value).collect(),
        }
    }

    pub(super) fn any_of(&mut self, values: Vec<Vid>, or: Vid) -> Vid {
        let real: Vec<Vid> = values
            .iter()
            .copied()
            .filter(|vid| !matches!(self.terms.get(*vid), Term::Null))
            .collect();
        let values = if real.is_empty() { values } else { real };
        match values.split_first() {
            Some((first, rest)) => rest
                .iter()
                .fold(*first, |all, one| self.terms.phi(all, *one)),
            None => or,
        }
    }

    /// The value behind wrappers, without a state.
    pub(super) fn strip(&self, vid: Vid) -> Vid {
        match self.terms.get(vid) {
            Term::Variant(_, inner) | Term::Payload(inner) => self.strip(*inner),
            Term::List(parts) => parts.first().map_or(vid, |part| self.strip(*part)),
            Term::Outcome(call) => {
                let ways = &self.ways[*call as usize];
                let found = ways
                    .iter()
                    .map(|way| self.strip(way.value))
                    .find(|value| matches!(self.terms.get(*value), Term::Object { .. }));
                found.unwrap_or(vid)
            }
            _ => vid,
        }
    }

    /// The last part of a constant's name.
    pub(crate) fn name_of(&self, vid: Vid) -> Option<&str> {
        let text: &str = match self.terms.get(vid) {
            Term::Undefined(name) | Term::Config { label: name, .. } | Term::Str(name) => name,
            Term::Global { name, .. } => name,
            Term::Field(_, name) => name,
            Term::Flags(names) => names.first()?,
            _ => return None,
        };
        Some(text.rsplit('.').next().unwrap_or(text))
    }

    pub(super) fn is_pathish(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Join { .. } | Term::Norm { .. } | Term::Temp { .. } => true,
            Term::Part { of, .. } => self.is_pathish(*of),
            Term::Global { of, .. } => self.is_pathish(*of),
            Term::Phi(parts) => parts.iter().any(|part| self.is_pathish(*part)),
            _ => self.terms.ty(vid).is_some_and(|ty| {
                ty.ends_with("Path") || ty.ends_with("PathBuf") || ty.ends_with(".path")
            }),
        }
    }

    /// An error of the operating system as it came.
    pub(super) fn is_raw_error(&self, vid: Vid, state: &State) -> bool {
        let Some(failing) = state.failing else {
            return false;
        };
        match self.terms.get(vid) {
            Term::Proj(of, 1) => *of == failing,
            Term::Payload(of) => *of == failing,
            Term::Variant(_, inner) => self.is_raw_error(*inner, state),
            Term::List(parts) => parts.iter().any(|part| self.is_raw_error(*part, state)),
            Term::Call { name, args, .. } => {
                // Wrapping with the cause inside hands it on.
                let wraps = matches!(&**name, "?" | "fmt.Errorf" | "from" | "into");
                wraps && args.iter().any(|arg| self.is_raw_error(*arg, state))
            }
            Term::Undefined(name) => &**name == "errno",
            _ => vid == failing,
        }
    }

    /// What a C function returns when all is well.
    pub(super) fn is_success_value(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Bool(value) => *value,
            Term::Num(n) => *n == 0 && self.lang().family() == "c",
            Term::Undefined(name) => matches!(&**name, "OK" | "SUCCESS" | "EXIT_SUCCESS"),
            Term::Global { of, .. } => self.is_success_value(*of),
            _ => false,
        }
    }

    pub(super) fn is_error_value(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Variant(name, _) => matches!(&**name, "Err" | "None"),
            Term::Num(n) => *n < 0,
            Term::Bool(b) => !*b,
            Term::List(parts) => parts.last().is_some_and(|last| {
                parts.len() > 1 && !matches!(self.terms.get(*last), Term::Null)
            }),
            Term::Call { name, .. } => matches!(&**name, "fmt.Errorf" | "errors.New"),
            _ => false,
        }
    }

    pub(crate) fn norm_of(&self, vid: Vid) -> Norm {
        match self.terms.get(vid) {
            Term::Norm {
                canonical: true, ..
            } => Norm::Canonical,
            Term::Norm {
                canonical: false,
                of,
                ..
            } => self.norm_of(*of).max(Norm::Lexical),
            Term::Global { of, .. } => self.norm_of(*of),
            Term::Phi(parts) => parts
                .iter()
                .filter(|part| !matches!(self.terms.get(**part), Term::Null))
                .map(|part| self.norm_of(*part))
                .min()
                .unwrap_or(Norm::Raw),
            Term::Part {
                kind: PartKind::Parent | PartKind::Text | PartKind::Strip,
                of,
                ..
            } => self.norm_of(*of),
            // An operator's absolute constant is as clean as it was written.
            Term::Str(text) if text.starts_with('/') && !text.contains("..") => Norm::Lexical,
            Term::Concat(parts) => match parts.as_slice() {
                [base, sep] if self.is_separator(*sep) => self.norm_of(*base),
                _ => Norm::Raw,
            },
            Term::Join { parts, .. } if self.lang_joins_clean() => {
                let _ = parts;
                Norm::Lexical
            }
            Term::Temp { .. } => Norm::Canonical,
            _ => Norm::Raw,
        }
    }

    /// Node's and Go's joins fold `..` away.
    pub(super) fn lang_joins_clean(&self) -> bool {
        matches!(self.lang().family(), "javascript" | "go")
    }

    pub(crate) fn is_separator(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Str(text) => matches!(&**text, "/" | "\\"),
            Term::Config { label, .. } => {
                let last = label.rsplit('.').next().unwrap_or(label);
                matches!(
                    last,
                    "sep"
                        | "Separator"
                        | "PathSeparator"
                        | "MAIN_SEPARATOR"
                        | "SEPARATOR"
                        | "separator"
                        | "separatorChar"
                        | "preferred_separator"
                )
            }
            Term::Call { args, .. } => {
                matches!(args.as_slice(), [only] if self.is_separator(*only))
            }
            Term::Part { of, .. } => self.is_separator(*of),
            Term::Global { of, .. } => self.is_separator(*of),
            _ => false,
        }
    }

    /// Everything known of a value: its own facts and those of its making.
    pub(crate) fn facts_of(&self, vid: Vid, state: &State) -> Facts {
        self.facts_at(vid, state, 0, &mut Vec::new())
    }

    /// `seen` holds what was answered already: the same value is met on many ways.
    pub(super) fn facts_at(
        &self,
        vid: Vid,
        state: &State,
        depth: usize,
        seen: &mut Vec<(Vid, Facts)>,
    ) -> Facts {
        if let Some((_, facts)) = seen.iter().find(|(known, _)| *known == vid) {
            return facts.clone();
        }
        let facts = self.facts_below(vid, state, depth, seen);
        if depth > 0 && self.is_compound(vid) {
            seen.push((vid, facts.clone()));
        }
        facts
    }

    /// Asking about it asks about several others.
    pub(super) fn is_compound(&self, vid: Vid) -> bool {
        matches!(
            self.terms.get(vid),
            Term::Phi(_) | Term::Concat(_) | Term::Outcome(_)
        )
    }

    pub(super) fn facts_below(
        &self,
        vid: Vid,
        state: &State,
        depth: usize,
        seen: &mut Vec<(Vid, Facts)>,
    ) -> Facts {
        let mut facts = state.own(vid).cloned().unwrap_or_default();
        if depth > 12 {
            return facts;
        }
        match self.terms.get(vid) {
            Term::Str(text) => {
                facts.bits |= bit::TYPED | bit::CHOSEN;
                facts.chars &= mask(|c| text.contains(c));
            }
            Term::Num(_) | Term::Random(_) | Term::Clock(_) | Term::Bool(_) | Term::Temp { .. } => {
                facts.bits |= bit::CHOSEN | bit::TYPED | bit::NONEMPTY;
            }
            Term::Config { .. } | Term::Global { .. } => facts.bits |= bit::CHOSEN,
            Term::Phi(parts) => {
                let mut all: Option<Facts> = None;
                for part in parts {
                    if matches!(self.terms.get(*part), Term::Null) {
                        continue;
                    }
                    let one = self.facts_at(*part, state, depth + 1, seen);
                    all = Some(match all {
                        Some(all) => all.both(&one),
                        None => one,
                    });
                }
                if let Some(all) = all {
                    facts.and(&all);
                }
            }
            Term::Part { kind, of, at } => {
                let inner = self.facts_at(*of, state, depth + 1, seen);
                self.part_facts(*kind, *of, *at, &inner, &mut facts);
            }
            Term::Norm {
                canonical: false,
                of,
                ..
            } => {
                let inner = self.facts_at(*of, state, depth + 1, seen);
                facts.and(&inner);
            }
            Term::Elem(coll) | Term::Index(coll, _)
                if matches!(
                    self.terms.get(*coll),
                    Term::Coll { .. } | Term::Mapped { .. }
                ) =>
            {
                if let Term::Mapped { element, .. } = self.terms.get(*coll) {
                    let inner = self.facts_at(*element, state, depth + 1, seen);
                    facts.and(&inner);
                }
                if let Term::Coll { kind, of, .. } = self.terms.get(*coll) {
                    let inner = self.facts_at(*of, state, depth + 1, seen);
                    facts.bits |= inner.bits & (bit::TYPED | bit::CHOSEN | bit::NFC);
                    if matches!(kind, CollKind::Split | CollKind::Components) {
                        facts.chars &= inner.chars & !chars("/");
                        facts.bits |= bit::SEGMENT;
                        if inner.any(bit::SEGS_CLEAN | bit::NO_DOTDOT) {
                            facts.bits |= bit::NOT_DOTDOT;
                        }
                        if inner.has(bit::SEGS_NO_DASH) {
                            facts.first &= !chars("-+");
                        }
                        if inner.has(bit::SEGS_BOUNDED) {
                            facts.max_len = facts.max_len.min(255);
                        }
                    } else {
                        facts.chars &= inner.chars;
                    }
                }
            }
            Term::Payload(of) | Term::Proj(of, _) => {
                let inner = self.facts_at(*of, state, depth + 1, seen);
                facts.and(&inner);
            }
            Term::Outcome(call) => {
                let mut all: Option<Facts> = None;
                for value in self.way_values(*call, state) {
                    if matches!(self.terms.get(value), Term::Null) {
                        continue;
                    }
                    let one = self.facts_at(value, state, depth + 1, seen);
                    all = Some(match all {
                        Some(all) => all.both(&one),
                        None => one,
                    });
                }
                if let Some(all) = all {
                    facts.and(&all);
                }
            }
            Term::Concat(parts) => {
                // The text of all parts together.
                let mut letters = 0;
                for part in parts {
                    let one = self.facts_at(*part, state, depth + 1, seen);
                    letters |= one.chars;
                }
                facts.chars &= letters;
                if let Some(first) = parts.first() {
                    let one = self.facts_at(*first, state, depth + 1, seen);
                    if let Term::Str(text) = self.terms.get(*first) {
                        facts.first &= mask(|c| text.starts_with(c));
                    } else {
                        facts.first &= one.first;
                    }
                }
            }
            _ => {}
        }
        facts
    }

    pub(super) fn part_facts(
        &self,
        kind: PartKind,
        of: Vid,
        at: crate::ir::Span,
        inner: &Facts,
        facts: &mut Facts,
    ) {
        match kind {
            PartKind::Base => {
                facts.and(inner);
                facts.add(bit::SEGMENT, at);
                facts.chars &= !chars("/");
                if inner.any(bit::SEGS_CLEAN | bit::NO_DOTDOT) {
                    facts.bits |= bit::NOT_DOTDOT;
                }
                // Rust's file_name() is None for `..`; Go's Base maps it to itself.
                if self.lang() == Lang::Rust {
                    facts.add(bit::NOT_DOTDOT | bit::NONEMPTY, at);
                }
            }
            PartKind::Strip | PartKind::Case | PartKind::Text | PartKind::Nfc | PartKind::Stem => {
                facts.and(inner);
                if kind == PartKind::Nfc {
                    facts.add(bit::NFC, at);
                }
                if kind == PartKind::Strip {
                    // Stripping can empty a string and uncover what was inside.
                    let own = bit::NONEMPTY | bit::NOT_DOTDOT | bit::NOT_DOT;
                    facts.bits &= !(own & !inner.bits) | inner.bits;
                }
            }
            PartKind::Parent => {
                facts.and(inner);
            }
            PartKind::Slice => {
                facts.chars &= inner.chars;
                // What occurs nowhere does not occur in a part either.
                let kept = bit::TYPED | bit::CHOSEN | bit::NO_DOTDOT | bit::NO_UP;
                facts.bits |= inner.bits & kept;
                for (key, at) in &inner.anchors {
                    if key & (bit::NO_DOTDOT | bit::NO_UP) != 0 {
                        facts.add(*key, *at);
                    }
                }
                facts.max_len = facts.max_len.min(inner.max_len);
            }
            PartKind::Decode => {
                facts.bits |= inner.bits & bit::TYPED;
            }
            PartKind::Replace => {
                facts.bits |= inner.bits & (bit::TYPED | bit::CHOSEN);
                facts.add(bit::WEAK_REMOVAL, at);
                let _ = of;
            }
        }
    }
}
