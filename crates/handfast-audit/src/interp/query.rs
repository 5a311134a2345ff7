//! Questions about values: what they are, what is known of them, what external text is in them.

use std::collections::HashSet;

use crate::facts::{Facts, bit, chars, mask};
use crate::interp::Interp;
use crate::lang::Lang;
use crate::quick::Quick;
use crate::state::State;
use crate::term::{CollKind, PartKind, SourceKind, Term, Vid};

/// How far a path was normalised.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Norm {
    Raw,
    Lexical,
    Canonical,
}

/// A piece of external text inside a path.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub(crate) vid: Vid,
    pub(crate) kind: SourceKind,
    /// What holds of the text as it goes into the path.
    pub(crate) facts: Facts,
    /// An unknown function stands between source and path.
    pub(crate) through_unknown: bool,
}

/// How many values one search for external text looks at.
const MAX_VISITS: usize = 4000;

/// A search for external text in a value.
#[derive(Default)]
struct Search {
    /// The values around the one that is looked at, outermost first.
    chain: Vec<Vid>,
    found: Vec<Leaf>,
    /// Values without external text.
    barren: HashSet<Vid, Quick>,
    visits: usize,
}

/// Where a search goes on from a value.
enum Step {
    Leaf(SourceKind),
    Parts(Vec<Vid>),
    One(Vid),
    End,
}

impl Interp<'_> {
    /// The value behind ways out, tuples and wrappers.
    pub(crate) fn deref(&mut self, vid: Vid, state: &State) -> Vid {
        self.deref_at(vid, state, 0)
    }

    fn deref_at(&mut self, vid: Vid, state: &State, depth: usize) -> Vid {
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

    fn way_values(&self, call: u32, state: &State) -> Vec<Vid> {
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

    fn any_of(&mut self, values: Vec<Vid>, or: Vid) -> Vid {
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
    fn lang_joins_clean(&self) -> bool {
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
    fn facts_at(
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
    fn is_compound(&self, vid: Vid) -> bool {
        matches!(
            self.terms.get(vid),
            Term::Phi(_) | Term::Concat(_) | Term::Outcome(_)
        )
    }

    fn facts_below(
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
            Term::Elem(coll) => {
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

    fn part_facts(
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
                facts.bits |= inner.bits & (bit::TYPED | bit::CHOSEN);
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

    /// All external text in a path.
    pub(crate) fn leaves(&mut self, path: Vid, state: &State) -> Vec<Leaf> {
        let mut search = Search::default();
        self.collect(path, state, &mut search, 0);
        let mut out = search.found;
        out.sort_by_key(|leaf| leaf.vid);
        out.dedup_by(|a, b| {
            if a.vid == b.vid {
                b.facts = b.facts.both(&a.facts);
                true
            } else {
                false
            }
        });
        out
    }

    fn collect(&mut self, vid: Vid, state: &State, search: &mut Search, depth: usize) {
        if depth > 24 || search.found.len() > 32 || search.visits > MAX_VISITS {
            return;
        }
        let vid = self.deref(vid, state);
        if search.chain.contains(&vid) || search.barren.contains(&vid) {
            return;
        }
        search.visits += 1;
        search.chain.push(vid);
        let before = search.found.len();
        match self.step_into(vid) {
            Step::Leaf(kind) => self.leaf(vid, kind, state, search),
            Step::Parts(parts) => {
                for part in parts {
                    self.collect(part, state, search, depth + 1);
                }
            }
            Step::One(part) => self.collect(part, state, search, depth + 1),
            Step::End => {}
        }
        search.chain.pop();
        // The same value is met on many ways; where nothing was found it need not be asked again.
        if search.found.len() == before {
            search.barren.insert(vid);
        }
    }

    /// Where to look for external text in a value.
    fn step_into(&self, vid: Vid) -> Step {
        match self.terms.get(vid) {
            Term::Source { kind, .. } => Step::Leaf(*kind),
            Term::Param {
                of, is_ctor, name, ..
            } => {
                let function = self.program.function(*of);
                let guessed = function.is_public
                    || *is_ctor
                    || self.declared.inputs.iter().any(|i| **i == **name);
                let ty = function.params.iter().find(|param| param.name == *name);
                let is_text = ty
                    .and_then(|param| param.ty.as_deref())
                    .is_none_or(is_text_type);
                match (is_text, guessed) {
                    (true, true) => Step::Leaf(SourceKind::Guessed),
                    (true, false) => Step::Leaf(SourceKind::Undeclared),
                    (false, _) => Step::End,
                }
            }
            Term::Undefined(_) => Step::Leaf(SourceKind::Undeclared),
            Term::Field(base, _) | Term::Index(base, _) => match self.external_base(*base, 0) {
                Some(kind) => Step::Leaf(kind),
                None => Step::End,
            },
            Term::Join { parts, .. }
            | Term::Concat(parts)
            | Term::Phi(parts)
            | Term::List(parts)
            | Term::Call { args: parts, .. } => Step::Parts(parts.clone()),
            Term::Norm { of, .. }
            | Term::Part { of, .. }
            | Term::Elem(of)
            | Term::Payload(of)
            | Term::Proj(of, _)
            | Term::Coll { of, .. }
            | Term::Variant(_, of)
            | Term::Global { of, .. }
            | Term::Relative { of, .. }
            | Term::Mapped { element: of, .. }
            | Term::Temp { dir: Some(of), .. } => Step::One(*of),
            Term::Fd(index) => match self.opens.get(*index as usize) {
                Some(open) => Step::One(open.path),
                None => Step::End,
            },
            // What an attribute holds is decided elsewhere; a list of strings carries each.
            _ => Step::End,
        }
    }

    /// A field of something external is external.
    pub(crate) fn external_base(&self, vid: Vid, depth: usize) -> Option<SourceKind> {
        if depth > 8 {
            return None;
        }
        match self.terms.get(vid) {
            Term::Source { kind, .. } => Some(*kind),
            Term::Field(base, _)
            | Term::Index(base, _)
            | Term::Payload(base)
            | Term::Proj(base, _)
            | Term::Variant(_, base)
            | Term::Elem(base)
            | Term::Coll { of: base, .. } => self.external_base(*base, depth + 1),
            Term::Call { args, .. } => args
                .iter()
                .take(3)
                .find_map(|arg| self.external_base(*arg, depth + 1)),
            Term::Phi(parts) => parts
                .iter()
                .find_map(|part| self.external_base(*part, depth + 1)),
            _ => None,
        }
    }

    fn leaf(&mut self, vid: Vid, kind: SourceKind, state: &State, search: &mut Search) {
        let mut chain: Vec<Vid> = search.chain.clone();
        chain.reverse();
        let mut facts = Facts::default();
        let mut through_unknown = false;
        for (index, step) in chain.iter().enumerate() {
            let mut own = self.facts_of(*step, state);
            if let Term::Call { .. } = self.terms.get(*step) {
                through_unknown = true;
            }
            match self.terms.get(*step) {
                Term::Join { .. }
                | Term::Norm {
                    canonical: true, ..
                } => {
                    // Facts of the whole path: only those that speak of the whole path.
                    let keep = bit::CONTAINMENT
                        | bit::WEAK_PREFIX
                        | bit::WEAK_MIXED
                        | bit::WEAK_RAW
                        | bit::FILESYSTEM
                        | bit::UNSEEN_CHECK
                        | bit::WEAK_EXISTS_FIRST
                        | bit::NO_DOTDOT
                        | bit::SEGS_CLEAN
                        | bit::BLOCKLIST
                        | bit::NLINK_ONE;
                    own.bits &= keep;
                    own.chars = crate::facts::ANY;
                    own.first = crate::facts::ANY;
                    own.max_len = u32::MAX;
                    own.anchors.retain(|(key, _)| *key & keep != 0);
                    facts.and(&own);
                }
                Term::Concat(parts) => {
                    let own_bits = state.own(*step).map_or(0, |own| own.bits);
                    own.bits &= own_bits | bit::WEAK_REMOVAL;
                    // A constant before or after keeps what is known, but the first character.
                    if index > 0 && parts.first() != chain.get(index - 1) {
                        let kept = own.first;
                        facts.first = kept;
                    }
                    let letters = own.chars;
                    own.chars = crate::facts::ANY;
                    let _ = letters;
                    own.first = crate::facts::ANY;
                    facts.and(&own);
                }
                Term::Part {
                    kind: PartKind::Decode | PartKind::Replace | PartKind::Slice,
                    ..
                }
                | Term::Call { .. } => {
                    let lost = facts.bits & (bit::UNSEEN_CHECK | bit::TYPED);
                    facts = own;
                    facts.bits |= lost;
                }
                // A name that the system made says nothing about where it was made.
                Term::Temp { .. } | Term::Global { .. } => {}
                _ => facts.and(&own),
            }
        }
        search.found.push(Leaf {
            vid,
            kind,
            facts,
            through_unknown,
        });
    }

    /// How a piece of external text is called.
    pub(crate) fn label(&self, vid: Vid) -> String {
        match self.terms.get(vid) {
            Term::Source { label, .. } => label.to_string(),
            Term::Param { name, .. } => name.to_string(),
            Term::Field(base, name) => format!("{}.{name}", self.label(*base)),
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
            _ => "value".to_owned(),
        }
    }
}

/// Whether a parameter of this type can carry a path's text.
fn is_text_type(ty: &str) -> bool {
    let ty = ty.to_ascii_lowercase();
    let no = [
        "int", "bool", "float", "bytes", "u8", "buffer", "usize", "i32", "i64", "u64", "u32",
        "number", "callable", "dict", "context", "file", "reader", "writer", "dir", "root",
        "dirfd", "size_t", "void", "struct", "arc<", "logger",
    ];
    if ty.contains("str") || ty.contains("path") || ty.contains("char") {
        return true;
    }
    !no.iter().any(|word| ty.contains(word))
}
