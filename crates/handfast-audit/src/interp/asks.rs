//! What a known call asks, and what its answer would mean.

use crate::facts::{bit, mask};
use crate::interp::call::Args;
use crate::interp::{Event, Interp};
use crate::ir::{Span, Sym};
use crate::kb::Row;
use crate::lang::Lang;
use crate::state::State;
use crate::term::{MatchMode, ObjectKind, PartKind, Pred, Term, Vid};

impl Interp<'_> {
    pub(super) fn test(
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
        let other = entry.other.as_ref().and_then(|slot| self.slot(slot, args));
        // A matcher holds the pattern and the text it is asked about.
        let (subject, other) = match (self.terms.get(subject), other) {
            (Term::Call { args, .. }, None) if entry.call[0].contains("Matcher") => {
                match args.as_slice() {
                    [regex, text] => (*text, Some(*regex)),
                    _ => (subject, None),
                }
            }
            _ => (subject, other),
        };
        let letters = |test: fn(char) -> bool| Pred::Class(subject, mask(test));
        let pred = match (entry.what.as_str(), other) {
            ("fullmatch", Some(regex)) => Pred::Match {
                subject,
                regex,
                mode: MatchMode::Full,
            },
            ("match", Some(regex)) => Pred::Match {
                subject,
                regex,
                mode: MatchMode::Start,
            },
            ("search", Some(regex)) => {
                // Rust and Go: `re.is_match(x)` where the receiver is the pattern.
                Pred::Match {
                    subject,
                    regex,
                    mode: MatchMode::Search,
                }
            }
            ("pattern", _) => self.library_pattern(entry, subject),
            ("prefix", Some(other)) => match self.terms.get(other).clone() {
                Term::List(items) => self.any_of_preds(&items, |item| Pred::Prefix(subject, item)),
                _ => Pred::Prefix(subject, other),
            },
            ("suffix", Some(other)) => Pred::Suffix(subject, other),
            ("contains", Some(other)) if matches!(self.terms.get(other), Term::Closure { .. }) => {
                let chars = self.part("chars", subject, at, state);
                return self.quantifier(true, chars, args, at, state);
            }
            ("contains", Some(other)) => self.contains_test(subject, other),
            (what @ ("other_than" | "contains_any"), Some(other)) => {
                self.letters_test(what, subject, other)
            }
            ("member", Some(other)) => Pred::Member(other, subject),
            // Text, not a path: characters are compared.
            ("within", Some(other)) if self.is_rust_text(subject) => Pred::Prefix(subject, other),
            ("within", Some(other))
                if self
                    .terms
                    .string(other)
                    .is_some_and(|text| matches!(text, "/" | "\\" | "-" | "." | "..")) =>
            {
                Pred::Prefix(subject, other)
            }
            ("within", Some(other)) => Pred::Within(subject, other),
            ("absolute", _) => Pred::IsAbsolute(subject),
            ("relative", _) => {
                let absolute = self.terms.make(Term::Pred(Pred::IsAbsolute(subject)));
                Pred::Not(absolute)
            }
            ("local", _) => Pred::IsLocal(subject),
            ("string", other) => {
                let name = other.and_then(|vid| self.name_of(vid));
                if name.is_some_and(|name| name != "str" && name != "string") {
                    Pred::Unknown(self.terms.fresh())
                } else {
                    Pred::IsString(subject)
                }
            }
            (what @ ("link" | "dir" | "file"), _) => self.object_test(what, subject, at, state),
            ("exists", _) => {
                self.asked(subject, true, true, at);
                Pred::PathIs(subject, ObjectKind::Exists)
            }
            ("alnum", _) => letters(char::is_alphanumeric),
            ("ascii_alnum", _) => letters(|c| c.is_ascii_alphanumeric()),
            ("alpha", _) => letters(char::is_alphabetic),
            ("ascii_alpha", _) => letters(|c| c.is_ascii_alphabetic()),
            ("digit", _) => letters(|c| c.is_ascii_digit()),
            ("control", _) => letters(char::is_control),
            ("identifier", _) => letters(|c| c.is_alphanumeric() || c == '_'),
            ("none", _) => {
                let any = self.quantifier(true, subject, args, at, state);
                Pred::Not(any)
            }
            ("any" | "all", _) => {
                return self.quantifier(entry.what == "any", subject, args, at, state);
            }
            ("holds_and", _) => self.holds_and(subject, args, at, state),
            ("missing", _) => Pred::IsMissing(subject),
            ("equal", Some(other)) => Pred::Compare(crate::ir::Operation::Eq, subject, other),
            ("is_ok", _) => Pred::Variant(subject, Sym::from("Ok")),
            ("is_some", _) => Pred::Variant(subject, Sym::from("Some")),
            ("is_err", _) => Pred::Variant(subject, Sym::from("Err")),
            ("is_none", _) => Pred::Variant(subject, Sym::from("None")),
            ("empty", _) => {
                let length = self.terms.make(Term::Length(subject, true));
                let zero = self.terms.make(Term::Num(0));
                Pred::Compare(crate::ir::Operation::Eq, length, zero)
            }
            _ => Pred::Unknown(self.terms.fresh()),
        };
        self.terms.make(Term::Pred(pred))
    }

    /// The pattern that the library itself has for what it tests.
    fn library_pattern(&mut self, entry: &Row, subject: Vid) -> Pred {
        let pattern = Sym::from(entry.label.as_str());
        let regex = self.terms.make(Term::Regex(pattern, Sym::from("")));
        Pred::Match {
            subject,
            regex,
            mode: MatchMode::Full,
        }
    }

    /// Whether a text holds another one, or a list an entry.
    fn contains_test(&mut self, subject: Vid, other: Vid) -> Pred {
        if let Term::Global { of, .. } = self.terms.get(subject)
            && matches!(
                self.terms.get(*of),
                Term::List(_) | Term::Dict(_) | Term::Call { .. }
            )
        {
            Pred::Member(other, subject)
        } else if matches!(self.terms.get(subject), Term::List(_) | Term::Dict(_))
            || matches!(self.terms.get(subject), Term::Str(_)) && self.is_single_char(other)
        {
            Pred::Member(other, subject)
        } else if let Term::List(items) = self.terms.get(other).clone() {
            self.any_of_preds(&items, |needle| Pred::Contains(subject, needle))
        } else {
            Pred::Contains(subject, other)
        }
    }

    /// A question about the object that a path leads to.
    fn object_test(&mut self, what: &str, subject: Vid, at: Span, state: &mut State) -> Pred {
        let kind = match what {
            "link" => ObjectKind::Link,
            "dir" => ObjectKind::Dir,
            _ => ObjectKind::Reg,
        };
        let subject = match self.terms.get(subject) {
            Term::StatField(stat, _) => *stat,
            _ => subject,
        };
        if matches!(self.terms.get(subject), Term::Stat { .. }) {
            Pred::StatIs(subject, kind)
        } else {
            if kind == ObjectKind::Link {
                self.walk_step(subject, 0, state, at);
                state.add(subject, bit::LSTAT, at);
            }
            self.asked(subject, kind != ObjectKind::Link, false, at);
            Pred::PathIs(subject, kind)
        }
    }

    /// `value.is_ok_and(f)`: there is a value, and something holds of it.
    fn holds_and(&mut self, subject: Vid, args: &Args, at: Span, state: &State) -> Pred {
        let is_there = Pred::Variant(subject, Sym::from("Ok"));
        let is_there = self.terms.make(Term::Pred(is_there));
        let value = self.payload(subject);
        let given = Args {
            receiver: None,
            list: vec![(None, value)],
            places: vec![None],
        };
        let mut inside = state.clone();
        match args
            .at(0)
            .and_then(|f| self.apply_value(f, &given, at, &mut inside))
        {
            Some(holds) => Pred::And(is_there, holds),
            None => Pred::Unknown(self.terms.fresh()),
        }
    }

    /// Whether a text has characters of a list, or others.
    fn letters_test(&mut self, what: &str, subject: Vid, other: Vid) -> Pred {
        let Some(letters) = self.terms.string(other).map(str::to_owned) else {
            return Pred::Unknown(self.terms.fresh());
        };
        if what == "other_than" {
            let allowed = crate::facts::stands_for(&letters);
            let class = self.terms.make(Term::Pred(Pred::Class(subject, allowed)));
            return Pred::Not(class);
        }
        let mut items: Vec<Vid> = Vec::new();
        for letter in letters.chars() {
            let text = Sym::from(letter.to_string().as_str());
            items.push(self.terms.make(Term::Str(text)));
        }
        self.any_of_preds(&items, |needle| Pred::Contains(subject, needle))
    }

    /// Text with separators written in another way; dots are left.
    fn encoded(&mut self, entry: &Row, subject: Vid, at: Span, state: &mut State) -> Vid {
        let vid = self.terms.make(Term::Part {
            kind: PartKind::Decode,
            of: subject,
            at: Span {
                line: at.line,
                file: at.file,
                ..Span::default()
            },
        });
        let facts = state.edit(vid);
        facts.narrow_chars(!crate::facts::chars("/\\\0\n\t \u{1}|"), at);
        facts.narrow_chars(mask(|c| c.is_ascii()), at);
        facts.add(bit::TYPED | bit::SEGMENT, at);
        if entry.label == "hex" {
            facts.narrow_chars(
                mask(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'),
                at,
            );
            facts.narrow_first(!crate::facts::chars("-+."), at);
        }
        vid
    }

    /// A name made harmless; it may come back empty.
    fn clean_name(&mut self, subject: Vid, at: Span, state: &mut State) -> Vid {
        let vid = self.terms.make(Term::Part {
            kind: PartKind::Replace,
            of: subject,
            at: Span {
                line: at.line,
                file: at.file,
                ..Span::default()
            },
        });
        let allowed = mask(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
        let facts = state.edit(vid);
        facts.narrow_chars(allowed, at);
        facts.narrow_first(!crate::facts::chars("."), at);
        facts.add(
            bit::TYPED | bit::NOT_DOTDOT | bit::NOT_DOT | bit::SEGMENT,
            at,
        );
        vid
    }

    pub(super) fn is_rust_text(&self, vid: Vid) -> bool {
        self.lang() == Lang::Rust && self.terms.ty(vid) == Some("text")
    }

    /// One of several things holds.
    pub(super) fn any_of_preds(&mut self, items: &[Vid], make: impl Fn(Vid) -> Pred) -> Pred {
        let mut result: Option<Vid> = None;
        for item in items {
            let one = self.terms.make(Term::Pred(make(*item)));
            result = Some(match result {
                Some(before) => self.terms.make(Term::Pred(Pred::Or(before, one))),
                None => one,
            });
        }
        let inner = result.unwrap_or_else(|| self.terms.make(Term::Bool(false)));
        let not = self.terms.make(Term::Pred(Pred::Not(inner)));
        Pred::Not(not)
    }

    pub(super) fn asked(&mut self, path: Vid, follow: bool, is_access: bool, at: Span) {
        if self.muted == 0 {
            let function = self.here();
            self.events.push(Event::Asked {
                at,
                path,
                follow,
                function,
                is_access,
            });
        }
    }

    /// `any(…)`, `all(…)`, `.some(f)`, `.every(f)`, `.all(f)`.
    pub(super) fn quantifier(
        &mut self,
        any: bool,
        subject: Vid,
        args: &Args,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let held = match *self.terms.get(subject) {
            Term::Global { of, .. } => of,
            _ => subject,
        };
        let mapped = match *self.terms.get(held) {
            Term::Mapped { element, coll } => Some((element, coll)),
            _ => None,
        };
        let closure = args
            .list
            .iter()
            .map(|(_, vid)| *vid)
            .find(|vid| self.is_callable(*vid));
        let Some(closure) = closure else {
            return match mapped {
                Some((cond, coll)) => self.terms.make(Term::Pred(Pred::Quant { any, cond, coll })),
                None => self.terms.unknown(),
            };
        };
        let (elem, coll) = match mapped {
            Some(mapped) => mapped,
            None => {
                let coll = self.as_collection(subject);
                (self.terms.make(Term::Elem(coll)), coll)
            }
        };
        let inner = Args {
            receiver: None,
            list: vec![(None, elem)],
            places: vec![None],
        };
        let mut copy = state.clone();
        match self.apply_value(closure, &inner, at, &mut copy) {
            Some(cond) => self.terms.make(Term::Pred(Pred::Quant { any, cond, coll })),
            None => self.terms.unknown(),
        }
    }

    /// A function, or the name of one: `all(char::is_alphanumeric)`.
    fn is_callable(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Closure { .. } => true,
            Term::Config { label, .. } => label.contains('.'),
            Term::Undefined(name) => name.contains('.') || self.is_function(vid),
            Term::Field(object, _) => self.terms.ty(*object).is_some(),
            _ => false,
        }
    }

    /// Whether a call of this name is part of how a value was made.
    fn names_call(&self, vid: Vid, wanted: &str, depth: usize) -> bool {
        if depth > 12 {
            return false;
        }
        match self.terms.get(vid) {
            Term::Call { name, args, .. } => {
                name.rsplit('.').next() == Some(wanted)
                    || args
                        .iter()
                        .any(|arg| self.names_call(*arg, wanted, depth + 1))
            }
            Term::Global { of, .. } | Term::Payload(of) | Term::Part { of, .. } => {
                self.names_call(*of, wanted, depth + 1)
            }
            _ => false,
        }
    }

    /// Returns only if something holds.
    pub(super) fn check(
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
        self.may_throw(state);
        let other = entry.other.as_ref().and_then(|slot| self.slot(slot, args));
        match entry.what.as_str() {
            "within" => {
                if let Some(root) = other {
                    // Rust's strip_prefix gives a Result: it is asked later.
                    let is_word = |text: &str| text.len() <= 2 || !text.starts_with('/');
                    if self.lang() == Lang::Rust && self.terms.string(root).is_some_and(is_word) {
                        return self.part("strip", subject, at, state);
                    }
                    if self.lang() == Lang::Rust {
                        return self.terms.make(Term::Pred(Pred::Within(subject, root)));
                    }
                    self.contained(subject, root, true, state, at);
                    let root = self.deref(root, state);
                    return self.terms.make(Term::Relative {
                        root,
                        of: subject,
                        at: Span::default(),
                    });
                }
                subject
            }
            // A number or a UUID: nothing of the text is left.
            "chosen" => {
                let vid = self.terms.make(Term::Part {
                    kind: PartKind::Text,
                    of: subject,
                    at: Span {
                        line: at.line,
                        file: at.file,
                        ..Span::default()
                    },
                });
                state.add(vid, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
                state.add(subject, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
                vid
            }
            "encoded" => self.encoded(entry, subject, at, state),
            // Handfast: every name of the path fits rules that list what is allowed.
            "required" => {
                if other.is_some_and(|rules| self.names_call(rules, "only", 0)) {
                    let bits = bit::SEGS_ALLOWED | bit::SEGS_CLEAN | bit::SEGS_BOUNDED;
                    state.add(subject, bits | bit::SEGS_NO_DASH | bit::NONEMPTY, at);
                }
                subject
            }
            "clean_name" => self.clean_name(subject, at, state),
            // Joined below a root, lexically.
            "safe_join" => {
                let Some(root) = other else { return subject };
                let joined = self.join_paths(vec![root, subject], false, state);
                let vid = self.terms.make(Term::Norm {
                    canonical: false,
                    of: joined,
                    at: Span::default(),
                });
                state.add(vid, bit::IN_LEXICAL | bit::SEGS_CLEAN, at);
                state.add(
                    subject,
                    bit::SEGS_CLEAN | bit::NOT_ABSOLUTE | bit::TYPED,
                    at,
                );
                vid
            }
            // Joined below a root, links resolved at that moment.
            "secure_join" => {
                let Some(root) = other else { return subject };
                let joined = self.join_paths(vec![root, subject], false, state);
                let vid = self.terms.make(Term::Norm {
                    canonical: true,
                    of: joined,
                    at: Span::default(),
                });
                state.add(vid, bit::IN_CANONICAL | bit::RESOLVED_NAME, at);
                vid
            }
            "local" => {
                state.add(
                    subject,
                    bit::SEGS_CLEAN | bit::NOT_ABSOLUTE | bit::NONEMPTY,
                    at,
                );
                subject
            }
            _ => subject,
        }
    }
}
