//! Paths that are joined, normalised and taken apart.

use crate::facts::{bit, mask};
use crate::interp::Interp;
use crate::interp::call::Args;
use crate::ir::{Span, Sym};
use crate::kb::Row;
use crate::state::State;
use crate::term::{CollKind, MatchMode, PartKind, Term, Vid};

impl Interp<'_> {
    pub(super) fn join_paths(&mut self, parts: Vec<Vid>, discards: bool, state: &State) -> Vid {
        let mut flat = Vec::new();
        let mut ty = None;
        for part in parts {
            let part = self.deref(part, state);
            if ty.is_none() {
                ty = self
                    .terms
                    .ty(part)
                    .filter(|ty| ty.ends_with("ath") || ty.ends_with("PathBuf"))
                    .map(str::to_owned);
            }
            match self.terms.get(part).clone() {
                Term::Join { parts: inner, .. } => flat.extend(inner),
                _ => flat.push(part),
            }
        }
        if let [only] = flat.as_slice() {
            return *only;
        }
        let vid = self.terms.make(Term::Join {
            parts: flat,
            discards,
        });
        self.terms.typed(vid, &ty.unwrap_or_default())
    }

    pub(super) fn normalise(
        &mut self,
        entry: &Row,
        subject: Option<Vid>,
        args: &Args,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let Some(subject) = subject else {
            return self.terms.unknown();
        };
        let canonical = entry.what == "canonical";
        if canonical {
            self.may_throw(state);
        }
        if let Some(other) = &entry.other {
            // relative(root, p), Rel(root, p), relpath(p, root), strip_prefix
            let Some(root) = self.slot(other, args) else {
                return subject;
            };
            let root = self.deref(root, state);
            let vid = self.terms.make(Term::Relative {
                root,
                of: subject,
                at: Span::default(),
            });
            // `relpath(join("/", x), "/")`: what is left cannot lead up.
            if self.is_separator(root) && self.is_rooted(subject) {
                state.add(vid, bit::ROOTED | bit::NOT_ABSOLUTE, at);
            }
            return vid;
        }
        // C: realpath(p, out) fills a buffer.
        let at_key = Span {
            line: at.line,
            file: at.file,
            ..Span::default()
        };
        let vid = self.terms.make(Term::Norm {
            canonical,
            of: subject,
            at: at_key,
        });
        if !canonical && self.is_rooted(subject) {
            state.add(vid, bit::ROOTED, at);
        }
        let ty = self.terms.ty(subject).map(str::to_owned);
        self.terms.typed(vid, &ty.unwrap_or_default());
        if self.lang().family() == "c"
            && let Some(Some(place)) = args.places.get(1)
        {
            let place = place.clone();
            self.assign(&place, vid, state, at);
        }
        if entry.returns.ends_with("String") {
            let text = self.wrap(vid, &entry.returns);
            return self.terms.typed(text, &entry.returns);
        }
        if !entry.returns.is_empty() {
            self.terms.typed(vid, &entry.returns);
        }
        vid
    }

    /// The same thing in another type. Text is kept apart from paths: it is compared otherwise.
    pub(super) fn wrap(&mut self, subject: Vid, ty: &str) -> Vid {
        let at = Span {
            start: u32::from(ty.ends_with("String")),
            ..Span::default()
        };
        let kind = PartKind::Text;
        let outer = self.terms.make(Term::Part {
            kind,
            of: subject,
            at,
        });
        if !self.wraps.contains(&(outer, subject)) {
            self.wraps.push((outer, subject));
        }
        outer
    }

    /// `"/" + x`: cleaning it cannot lead above.
    pub(super) fn is_rooted(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Concat(parts) | Term::Join { parts, .. } => {
                parts.len() >= 2
                    && parts.first().is_some_and(|first| {
                        let text = self.terms.string(*first);
                        self.is_separator(*first) || text.is_some_and(|text| text == "/")
                    })
            }
            _ => false,
        }
    }

    pub(super) fn part(&mut self, what: &str, of: Vid, at: Span, state: &mut State) -> Vid {
        let kind = match what {
            "basename" => PartKind::Base,
            "parent" => PartKind::Parent,
            "stem" => PartKind::Stem,
            "strip" => PartKind::Strip,
            "case" => PartKind::Case,
            "decode" => PartKind::Decode,
            "nfc" => PartKind::Nfc,
            "slice" => PartKind::Slice,
            "length" => return self.terms.make(Term::Length(of, true)),
            "length_chars" => return self.terms.make(Term::Length(of, false)),
            "components" => {
                return self.terms.make(Term::Coll {
                    kind: CollKind::Components,
                    of,
                    seps: 0,
                });
            }
            "parents" => {
                return self.terms.make(Term::Coll {
                    kind: CollKind::Parents,
                    of,
                    seps: 0,
                });
            }
            "chars" => {
                return self.terms.make(Term::Coll {
                    kind: CollKind::Chars,
                    of,
                    seps: 0,
                });
            }
            "split" => {
                return self.terms.make(Term::Coll {
                    kind: CollKind::Split,
                    of,
                    seps: 1,
                });
            }
            "stat" => return of,
            "ext" => return self.extension(of, at, state),
            "splitext" => {
                let parts = vec![
                    self.part("stem", of, at, state),
                    self.extension(of, at, state),
                ];
                return self.terms.make(Term::List(parts));
            }
            _ => PartKind::Text,
        };
        let ty = self.terms.ty(of).map(str::to_owned);
        // The same text decoded twice is the same text.
        let place = if kind == PartKind::Decode {
            Span::default()
        } else {
            Span {
                file: at.file,
                line: at.line,
                ..Span::default()
            }
        };
        let vid = self.terms.make(Term::Part {
            kind,
            of,
            at: place,
        });
        let _ = state;
        if kind == PartKind::Parent || kind == PartKind::Strip || kind == PartKind::Text {
            self.terms.typed(vid, &ty.unwrap_or_default());
        }
        vid
    }

    /// What follows the last dot of the last name: never a separator, and no way up.
    fn extension(&mut self, of: Vid, at: Span, state: &mut State) -> Vid {
        let last = self.part("basename", of, at, state);
        let ext = self.part("text", last, at, state);
        state.add(ext, bit::SEGMENT | bit::NOT_DOTDOT, at);
        ext
    }

    pub(super) fn split(&mut self, subject: Vid, args: &Args) -> Vid {
        let sep = args
            .list
            .iter()
            .map(|(_, vid)| *vid)
            .find(|vid| *vid != subject);
        let is_path = match sep.map(|vid| self.terms.get(vid).clone()) {
            None => true,
            Some(Term::Str(text)) => text.contains('/') || text.contains('\\'),
            Some(Term::Regex(pattern, _)) => pattern.contains('/'),
            // Rust: `split(['/', '\\'])`, `split(|c| c == '/')`.
            Some(Term::List(parts)) => parts.iter().any(|part| {
                self.terms
                    .string(*part)
                    .is_some_and(|text| text.contains('/'))
            }),
            Some(Term::Closure { of, .. }) => self.mentions_slash(of),
            Some(_) => sep.is_some_and(|vid| self.is_separator(vid)),
        };
        let kind = if is_path {
            CollKind::Split
        } else {
            CollKind::Other
        };
        self.terms.make(Term::Coll {
            kind,
            of: subject,
            seps: 1,
        })
    }

    fn mentions_slash(&self, id: crate::term::FnId) -> bool {
        let mut found = false;
        crate::calls::each_call(
            &self.program.function(id).body,
            &mut |_, _| {},
            &mut |expr| {
                found |= matches!(&expr.kind, crate::ir::ExprKind::Str(text) if &**text == "/");
            },
        );
        found
    }

    /// `text.replace(|c| !ok(c), "_")`: every letter of which something holds is another one after it.
    fn replaced_letters(
        &mut self,
        subject: Vid,
        given: &[Vid],
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        let [which, new] = given else {
            return None;
        };
        if self.lang() != crate::lang::Lang::Rust {
            return None;
        }
        let new = crate::facts::stands_for(self.terms.string(*new)?);
        let left = match self.terms.get(*which).clone() {
            Term::List(parts) => {
                let texts: Option<Vec<&str>> =
                    parts.iter().map(|part| self.terms.string(*part)).collect();
                let gone = mask(|c| texts.iter().flatten().any(|text| text.contains(c)));
                !gone & crate::facts::ANY
            }
            _ if self.is_function(*which) => {
                let chars = self.part("chars", subject, at, state);
                let elem = self.terms.make(Term::Elem(chars));
                let args = Args {
                    receiver: None,
                    list: vec![(None, elem)],
                    places: vec![None],
                };
                let mut inside = state.clone();
                let holds = self.apply_value(*which, &args, at, &mut inside)?;
                self.assume(holds, false, &mut inside, at);
                inside.own(elem)?.chars
            }
            _ => return None,
        };
        let letters = left & self.facts_of(subject, state).chars | new;
        Some(self.with_letters(subject, letters, at, state))
    }

    pub(super) fn replaced(
        &mut self,
        subject: Vid,
        args: &Args,
        is_all: bool,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let given: Vec<Vid> = args
            .list
            .iter()
            .map(|(_, vid)| *vid)
            .filter(|vid| *vid != subject)
            .collect();
        let place = Span {
            file: at.file,
            line: at.line,
            ..Span::default()
        };
        // Only the first hit is replaced: no guard at all, not even a weak one.
        let is_first_only = self.lang().family() == "javascript"
            && !is_all
            && given
                .first()
                .is_some_and(|first| match self.terms.get(*first) {
                    Term::Str(_) => true,
                    Term::Regex(_, flags) => !flags.contains('g'),
                    _ => false,
                });
        let is_first_only = is_first_only
            || self.lang() == crate::lang::Lang::Go
                && given.get(2).and_then(|count| self.terms.number(*count)) == Some(1);
        let is_anchored = given.first().is_some_and(|first| {
            matches!(self.terms.get(*first), Term::Regex(pattern, _) if pattern.starts_with('^'))
        });
        if let Some(text) = self.replaced_letters(subject, &given, at, state) {
            return text;
        }
        let vid = self.terms.make(Term::Part {
            kind: if is_first_only && !is_anchored {
                PartKind::Decode
            } else {
                PartKind::Replace
            },
            of: subject,
            at: place,
        });
        let taken = given
            .first()
            .and_then(|first| match self.terms.get(*first) {
                Term::Str(text) => Some(text.clone()),
                Term::Regex(pattern, _) => Some(Sym::from(pattern.replace('\\', "").as_str())),
                _ => None,
            });
        // One separator for the other: the same segments.
        let written: Vec<&str> = given
            .iter()
            .filter_map(|arg| self.terms.string(*arg))
            .collect();
        let letters = self.facts_of(subject, state).chars;
        if let [_, new] = written.as_slice()
            && given.len() >= 2
            && letters != crate::facts::ANY
        {
            let allowed = letters | crate::facts::stands_for(new);
            state.edit(vid).narrow_chars(allowed, at);
        }
        if written == ["\\", "/"] && !self.wraps.contains(&(vid, subject)) {
            self.wraps.push((vid, subject));
        }
        if let Some(taken) = taken {
            self.removed.insert(vid, taken);
        }
        // Everything outside a positive list is replaced: what is left is the list.
        let pattern = given.iter().find_map(|arg| match self.terms.get(*arg) {
            Term::Regex(pattern, flags) => Some((pattern.clone(), flags.clone())),
            Term::Str(text) if text.starts_with("[^") => Some((text.clone(), Sym::from("g"))),
            Term::Global { of, .. } => match self.terms.get(*of) {
                Term::Regex(pattern, flags) => Some((pattern.clone(), flags.clone())),
                _ => None,
            },
            _ => None,
        });
        // `normalize(x).replace(/^(\.\.(\/|\\|$))+/, "")`: all ways up of a plain form stand first.
        let is_plain = matches!(
            self.terms.get(subject),
            Term::Norm {
                canonical: false,
                ..
            }
        );
        if is_plain
            && let Some((pattern, _)) = &pattern
            && pattern.starts_with('^')
            && pattern.contains("\\.\\.")
            && (pattern.ends_with('+') || pattern.ends_with('*'))
        {
            state.add(vid, bit::ROOTED, at);
        }
        if let Some((pattern, flags)) = pattern
            && pattern.starts_with("[^")
            && (flags.contains('g') || self.lang().family() != "javascript")
            && let Some(found) = crate::regex::accepted(
                &format!("[{}", &pattern[2..]),
                "",
                MatchMode::Full,
                crate::regex::Dialect::Other,
            )
        {
            let mut allowed = found.chars;
            for arg in &given {
                if let Some(text) = self.terms.string(*arg)
                    && !text.starts_with("[^")
                {
                    allowed |= mask(|c| text.contains(c));
                }
            }
            state.edit(vid).narrow_chars(allowed, at);
        }
        vid
    }
}
