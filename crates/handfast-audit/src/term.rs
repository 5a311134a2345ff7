//! Values as terms: what a value was made from.
//!
//! Terms are shared: the same operation on the same operands is the same value, so a path that is
//! put together twice is one path. What may differ each time (a call, a source) carries its place.

use std::collections::HashMap;

use crate::ir::{Operation, Span, Sym};
use crate::quick::Quick;

/// A value of one analysis.
pub(crate) type Vid = u32;

/// A function of the program: file and index.
pub(crate) type FnId = (u32, u32);

/// Where external text comes from.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum SourceKind {
    /// A request.
    Request,
    /// Command line and environment.
    Process,
    /// A name inside an archive: outside the checklist's A1 and A4.
    Archive,
    /// What another machine answered, or what was read from a document: decided elsewhere.
    Remote,
    /// A parameter that the user named, or that a route fills.
    Declared,
    /// A parameter of a public function: a guess.
    Guessed,
    /// A name or parameter of which nothing is known.
    Undeclared,
}

impl SourceKind {
    /// It surely comes from outside; what is guessed, or the operator's, does not.
    pub(crate) fn is_sure(self) -> bool {
        matches!(
            self,
            Self::Request | Self::Archive | Self::Remote | Self::Declared
        )
    }
}

/// A part or another spelling of a string.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum PartKind {
    Base,
    Parent,
    Stem,
    Strip,
    Case,
    Decode,
    Replace,
    Nfc,
    Slice,
    Text,
}

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum CollKind {
    /// Split at `/` (and perhaps `\`).
    Split,
    Components,
    Parents,
    Chars,
    Other,
}

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum ObjectKind {
    Link,
    Dir,
    Reg,
    Exists,
}

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum MatchMode {
    Full,
    Start,
    Search,
}

/// A truth about values.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Pred {
    Not(Vid),
    And(Vid, Vid),
    Or(Vid, Vid),
    Match {
        subject: Vid,
        regex: Vid,
        mode: MatchMode,
    },
    Prefix(Vid, Vid),
    Suffix(Vid, Vid),
    Contains(Vid, Vid),
    Compare(Operation, Vid, Vid),
    Member(Vid, Vid),
    IsString(Vid),
    IsAbsolute(Vid),
    /// `filepath.IsLocal` and its like.
    IsLocal(Vid),
    /// Component-wise inside.
    Within(Vid, Vid),
    StatIs(Vid, ObjectKind),
    PathIs(Vid, ObjectKind),
    /// A character class by its mask of probes.
    Class(Vid, u32),
    Quant {
        any: bool,
        cond: Vid,
        coll: Vid,
    },
    Variant(Vid, Sym),
    /// The error of a filesystem call is "not there".
    IsMissing(Vid),
    Unknown(u32),
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Term {
    Unknown(u32),
    Undefined(Sym),
    Str(Sym),
    Num(i64),
    Bool(bool),
    Null,
    Regex(Sym, Sym),
    Source {
        label: Sym,
        kind: SourceKind,
        at: Span,
    },
    /// A parameter of the function the analysis started with, or of the constructor of its object.
    Param {
        name: Sym,
        index: u32,
        of: FnId,
        is_ctor: bool,
    },
    /// Something the operator decides: configuration, environment, an imported constant.
    Config {
        label: Sym,
        at: Span,
    },
    /// A module-level name and what it was set to.
    Global {
        name: Sym,
        of: Vid,
        at: Span,
    },
    Field(Vid, Sym),
    Index(Vid, Vid),
    Call {
        name: Sym,
        args: Vec<Vid>,
        at: Span,
    },
    Join {
        parts: Vec<Vid>,
        discards: bool,
    },
    Concat(Vec<Vid>),
    Norm {
        canonical: bool,
        of: Vid,
        at: Span,
    },
    Part {
        kind: PartKind,
        of: Vid,
        at: Span,
    },
    Coll {
        kind: CollKind,
        of: Vid,
        seps: u32,
    },
    Elem(Vid),
    Phi(Vec<Vid>),
    /// What a comprehension or `map` makes of each element.
    Mapped {
        element: Vid,
        coll: Vid,
    },
    List(Vec<Vid>),
    Dict(Vec<(Sym, Vid)>),
    Closure {
        of: FnId,
        env: u32,
    },
    Object {
        class: Option<Sym>,
        id: u32,
    },
    Variant(Sym, Vid),
    /// The result of a known function with several ways out.
    Outcome(u32),
    Proj(Vid, u32),
    Payload(Vid),
    Stat {
        of: Vid,
        follow: bool,
        fd: bool,
        at: Span,
    },
    StatField(Vid, Sym),
    Fd(u32),
    Length(Vid, bool),
    Flags(Vec<Sym>),
    Relative {
        root: Vid,
        of: Vid,
        at: Span,
    },
    CommonPath(Vec<Vid>),
    CommonPrefix(Vec<Vid>),
    Random(Span),
    Clock(Span),
    Temp {
        dir: Option<Vid>,
        at: Span,
    },
    /// A handle of a pinned directory whose operations are anchored.
    Handle {
        ty: Sym,
        of: Vid,
        at: Span,
    },
    Builder {
        ty: Sym,
        flags: Vec<(Sym, Vid)>,
    },
    Lock {
        at: Span,
        of: Option<Vid>,
    },
    Pred(Pred),
}

/// All values of one analysis.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    list: Vec<Term>,
    known: HashMap<Term, Vid, Quick>,
    /// Types, where they are known.
    pub(crate) types: Vec<Option<Sym>>,
    fresh: u32,
}

impl Terms {
    pub(crate) fn get(&self, vid: Vid) -> &Term {
        &self.list[vid as usize]
    }

    pub(crate) fn len(&self) -> Vid {
        Vid::try_from(self.list.len()).unwrap_or(Vid::MAX)
    }

    pub(crate) fn make(&mut self, term: Term) -> Vid {
        if let Some(vid) = self.known.get(&term) {
            return *vid;
        }
        let vid = self.len();
        self.list.push(term.clone());
        self.types.push(None);
        self.known.insert(term, vid);
        vid
    }

    pub(crate) fn unknown(&mut self) -> Vid {
        self.fresh += 1;
        self.make(Term::Unknown(self.fresh))
    }

    pub(crate) fn fresh(&mut self) -> u32 {
        self.fresh += 1;
        self.fresh
    }

    pub(crate) fn typed(&mut self, vid: Vid, ty: &str) -> Vid {
        if !ty.is_empty() {
            self.types[vid as usize] = Some(Sym::from(ty));
        }
        vid
    }

    pub(crate) fn ty(&self, vid: Vid) -> Option<&str> {
        self.types[vid as usize].as_deref()
    }

    pub(crate) fn string(&self, vid: Vid) -> Option<&str> {
        match self.get(vid) {
            Term::Str(text) => Some(text),
            Term::Global { of, .. } => self.string(*of),
            _ => None,
        }
    }

    pub(crate) fn number(&self, vid: Vid) -> Option<i64> {
        match self.get(vid) {
            Term::Num(n) => Some(*n),
            Term::Global { of, .. } => self.number(*of),
            _ => None,
        }
    }

    /// Either of two values.
    pub(crate) fn phi(&mut self, one: Vid, two: Vid) -> Vid {
        if one == two {
            return one;
        }
        let mut all = Vec::new();
        for vid in [one, two] {
            match self.get(vid) {
                Term::Phi(parts) => all.extend(parts.iter().copied()),
                _ => all.push(vid),
            }
        }
        all.sort_unstable();
        all.dedup();
        all.truncate(8);
        if let [only] = all.as_slice() {
            return *only;
        }
        let ty = self.ty(one).or(self.ty(two)).map(str::to_owned);
        let vid = self.make(Term::Phi(all));
        self.typed(vid, &ty.unwrap_or_default())
    }
}
