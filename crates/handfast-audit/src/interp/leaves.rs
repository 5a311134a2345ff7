//! Which external text is in a value.

use std::collections::HashSet;

use crate::facts::{Facts, bit};
use crate::interp::Interp;
use crate::quick::Quick;
use crate::state::State;
use crate::term::{PartKind, SourceKind, Term, Vid};

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
pub(super) const MAX_VISITS: usize = 4000;

/// A search for external text in a value.
#[derive(Default)]
pub(super) struct Search {
    /// The values around the one that is looked at, outermost first.
    chain: Vec<Vid>,
    found: Vec<Leaf>,
    /// Values without external text.
    barren: HashSet<Vid, Quick>,
    visits: usize,
}

/// Where a search goes on from a value.
pub(super) enum Step {
    Leaf(SourceKind),
    Parts(Vec<Vid>),
    One(Vid),
    End,
}

impl Interp<'_> {
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

    pub(super) fn collect(&mut self, vid: Vid, state: &State, search: &mut Search, depth: usize) {
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
    pub(super) fn step_into(&self, vid: Vid) -> Step {
        match self.terms.get(vid) {
            Term::Source { kind, .. } => Step::Leaf(*kind),
            Term::Param {
                of, is_ctor, name, ..
            } => {
                let function = self.program.function(*of);
                // What an object is made with, and names a place, is configuration.
                let word = name.to_ascii_lowercase();
                let is_declared = self.declared.inputs.iter().any(|i| **i == **name);
                if *is_ctor && !is_declared && PLACES.iter().any(|place| word.contains(place)) {
                    return Step::End;
                }
                let guessed = function.is_public
                    || self.orphans.contains(of)
                    || is_named_text(function, name)
                    || *is_ctor
                    || self.declared.inputs.iter().any(|i| **i == **name);
                let ty = function.params.iter().find(|param| param.name == *name);
                let is_text = ty
                    .and_then(|param| param.ty.as_deref())
                    .is_none_or(is_text_type);
                let is_number = ty
                    .and_then(|param| param.ty.as_deref())
                    .is_some_and(is_number_type);
                match (is_text || is_number, guessed) {
                    (true, true) => Step::Leaf(SourceKind::Guessed),
                    (true, false) => Step::Leaf(SourceKind::Undeclared),
                    (false, _) => Step::End,
                }
            }
            Term::Undefined(name)
                if matches!(&**name, "None" | "undefined" | "nil" | "NaN")
                    || name.starts_with(char::is_uppercase) =>
            {
                Step::End
            }
            Term::Undefined(_) => Step::Leaf(SourceKind::Undeclared),
            Term::Index(base, _)
                if matches!(
                    self.terms.get(*base),
                    Term::Coll { .. } | Term::Mapped { .. }
                ) =>
            {
                Step::One(*base)
            }
            Term::Field(base, name) => match self.external_base(*base, 0) {
                Some(kind) => Step::Leaf(kind),
                None if self.is_guessed_field(*base, name, 0) => Step::Leaf(SourceKind::Guessed),
                None => Step::End,
            },
            Term::Index(base, key) => match self.external_base(*base, 0) {
                Some(kind) => Step::Leaf(kind),
                None => {
                    let key = self.terms.string(*key).unwrap_or_default();
                    if !key.is_empty() && self.is_guessed_field(*base, key, 0) {
                        Step::Leaf(SourceKind::Guessed)
                    } else {
                        Step::End
                    }
                }
            },
            Term::Join { parts, .. }
            | Term::Concat(parts)
            | Term::Phi(parts)
            | Term::List(parts)
            | Term::Call { args: parts, .. } => Step::Parts(parts.clone()),
            Term::Dict(pairs) => Step::Parts(pairs.iter().map(|(_, value)| *value).collect()),
            Term::Elem(of) if matches!(self.terms.get(*of), Term::List(_)) => {
                let Term::List(parts) = self.terms.get(*of) else {
                    return Step::End;
                };
                Step::Parts(parts.clone())
            }
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

    /// A field of what a public function is given: `load({ name })`. What names a place is for the
    /// caller to say, as a parameter of that name is.
    fn is_guessed_field(&self, base: Vid, name: &str, depth: usize) -> bool {
        let name = name.to_ascii_lowercase();
        let is_place = PLACES.iter().any(|word| name.contains(word));
        match self.terms.get(base) {
            Term::Param {
                of, name, is_ctor, ..
            } if !is_place && !is_ctor && !self.is_callback(*of) => {
                let function = self.program.function(*of);
                let param = function.params.iter().find(|param| param.name == *name);
                let ty = param.and_then(|param| param.ty.as_deref()).unwrap_or("");
                let ty = ty.to_ascii_lowercase();
                let word = name.to_ascii_lowercase();
                (function.is_public || self.orphans.contains(of))
                    && !OPTIONS.contains(&word.as_str())
                    && !HOLDERS
                        .iter()
                        .any(|no| ty.contains(no) || word.contains(no))
            }
            // `entries.forEach(e => … e.name …)`: what a callback is given, by the name of its field.
            Term::Param { of, .. } if !is_place && self.is_callback(*of) => {
                NAMES.iter().any(|word| name.ends_with(word))
            }
            // A field of each of the things that it was given, by its name: `entry.name`.
            Term::Elem(of) | Term::Coll { of, .. } | Term::Index(of, _)
                if depth < 3 && NAMES.iter().any(|word| name.ends_with(word)) =>
            {
                match self.terms.get(*of) {
                    Term::Param { of, .. } => {
                        let function = self.program.function(*of);
                        function.is_public || function.is_ctor || self.orphans.contains(of)
                    }
                    _ => self.is_guessed_field(*of, &name, depth + 1),
                }
            }
            Term::Field(base, of) if depth < 3 => {
                !is_place && self.is_guessed_field(*base, of, depth + 1)
            }
            _ => false,
        }
    }

    /// A function inside another one, that nobody can be seen to call.
    fn is_callback(&self, of: crate::term::FnId) -> bool {
        let function = self.program.function(of);
        let top = self.program.file(of.0).module.top;
        function.name.starts_with('<') || function.parent.is_some_and(|parent| parent != top)
    }

    /// A field of something external is external.
    pub(crate) fn external_base(&self, vid: Vid, depth: usize) -> Option<SourceKind> {
        if depth > 14 {
            return None;
        }
        match self.terms.get(vid) {
            Term::Source { kind, .. } => Some(*kind),
            Term::Param { .. } => {
                let ty = self.terms.ty(vid)?;
                let last = ty.rsplit(['.', ':']).next().unwrap_or(ty);
                let is_request = last.ends_with("Request") || last.ends_with("RequestPtr");
                is_request.then_some(SourceKind::Request)
            }
            Term::Field(base, _)
            | Term::Index(base, _)
            | Term::Payload(base)
            | Term::Proj(base, _)
            | Term::Variant(_, base)
            | Term::Elem(base)
            | Term::Global { of: base, .. }
            | Term::Part { of: base, .. }
            | Term::Coll { of: base, .. } => self.external_base(*base, depth + 1),
            Term::Call { args, .. } => args
                .iter()
                .take(3)
                .find_map(|arg| self.external_base(*arg, depth + 1)),
            Term::Phi(parts) | Term::Concat(parts) => parts
                .iter()
                .find_map(|part| self.external_base(*part, depth + 1)),
            _ => None,
        }
    }

    /// A field of what some unseen function gave for external text: a row of a database, perhaps.
    fn is_answered(&self, mut vid: Vid) -> bool {
        for _ in 0..12 {
            vid = match self.terms.get(vid) {
                Term::Field(of, _)
                | Term::Index(of, _)
                | Term::Elem(of)
                | Term::Coll { of, .. }
                | Term::Payload(of)
                | Term::Proj(of, _) => *of,
                Term::Call { .. } => return true,
                _ => return false,
            };
        }
        false
    }

    pub(super) fn leaf(&mut self, vid: Vid, kind: SourceKind, state: &State, search: &mut Search) {
        let mut chain: Vec<Vid> = search.chain.clone();
        chain.reverse();
        let mut facts = Facts::default();
        let mut through_unknown = self.is_answered(vid);
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
                        | bit::NO_UP
                        | bit::RESOLVED_NAME
                        | bit::OTHER_DRIVE
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
                    // Glued to other text it is only a part of a name.
                    let before = index
                        .checked_sub(1)
                        .and_then(|below| parts.iter().position(|part| *part == chain[below]))
                        .and_then(|place| place.checked_sub(1))
                        .map(|place| self.terms.get(parts[place]));
                    through_unknown |= match before {
                        Some(Term::Str(text)) => !text.ends_with(['/', '\\']),
                        Some(Term::Random(_)) => true,
                        _ => false,
                    };
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
                Term::Temp { .. } => {}
                // That a module keeps it says nothing; what was asked of it does.
                Term::Global { .. } => {
                    if let Some(asked) = state.own(*step) {
                        facts.and(asked);
                    }
                }
                _ => facts.and(&own),
            }
        }
        // A number is chosen by others, and is no text.
        if let Term::Param { of, name, .. } = self.terms.get(vid) {
            let function = self.program.function(*of);
            let param = function.params.iter().find(|param| param.name == *name);
            let ty = param.and_then(|param| param.ty.as_deref());
            if ty.is_some_and(is_number_type) {
                facts.add(bit::CHOSEN | bit::TYPED | bit::NONEMPTY, function.span);
            }
        }
        search.found.push(Leaf {
            vid,
            kind,
            facts,
            through_unknown,
        });
    }
}

/// A parameter of a callback that is text by its type, or by its name.
fn is_named_text(function: &crate::ir::Function, name: &str) -> bool {
    if !function.name.starts_with('<') {
        return false;
    }
    let param = function.params.iter().find(|param| *param.name == *name);
    match param.and_then(|param| param.ty.as_deref()) {
        Some(ty) => {
            let bare = ty
                .trim_start_matches([':', ' '])
                .trim_start_matches("const ");
            let bare = bare.trim_end_matches([' ', '&']);
            matches!(
                bare,
                "string" | "str" | "&str" | "String" | "std::string" | "std::string_view"
            )
        }
        None => NAMES
            .iter()
            .any(|word| name.to_ascii_lowercase().ends_with(word)),
    }
}

/// What the name of a file, or what it is taken from, is usually called.
const NAMES: [&str; 7] = [
    "name", "path", "filename", "entry", "key", "pathname", "relpath",
];

/// Fields that say where something is kept.
const PLACES: [&str; 13] = [
    "root",
    "dir",
    "base",
    "cwd",
    "folder",
    "prefix",
    "home",
    "config",
    "settings",
    "store",
    "conf",
    "mount",
    "workspace",
];

/// Parameters that hold a program's own things.
const HOLDERS: [&str; 16] = [
    "self", "this", "ctx", "context", "config", "conf", "settings", "logger", "app", "server",
    "res", "response", "writer", "state", "env", "module",
];

/// Parameters that say how something is to be done.
const OPTIONS: [&str; 4] = ["options", "opts", "opt", "cfg"];

/// The types of whole numbers, as the languages write them.
pub(super) fn is_number_type(ty: &str) -> bool {
    matches!(
        ty.trim_start_matches([':', ' ']).trim(),
        "u8" | "u16"
            | "u32"
            | "u64"
            | "usize"
            | "i32"
            | "i64"
            | "int"
            | "int32"
            | "int64"
            | "uint"
            | "uint32"
            | "uint64"
            | "long"
            | "short"
            | "unsigned"
            | "unsigned long"
            | "number"
            | "bigint"
            | "Long"
            | "Integer"
            | "UUID"
            | "uuid.UUID"
            | "Uuid"
            | "size_t"
            | "pid_t"
            | "uid_t"
    )
}

/// Whether a parameter of this type can carry a path's text.
pub(super) fn is_text_type(ty: &str) -> bool {
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
