//! Text that a format puts together.

use crate::interp::Interp;
use crate::interp::call::Args;
use crate::ir::{Span, Sym};
use crate::kb::{Row, Slot};
use crate::state::State;
use crate::term::{CollKind, PartKind, Term, Vid};

impl Interp<'_> {
    /// `"%s/%s" % (root, name)`, `snprintf`.
    pub(super) fn format_percent(&mut self, format: &str, values: Vid, state: &mut State) -> Vid {
        let values = match self.terms.get(values).clone() {
            Term::List(parts) => parts,
            _ => vec![values],
        };
        let mut rest = values.into_iter();
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                text.push(c);
                continue;
            }
            if chars.peek() == Some(&'%') {
                chars.next();
                text.push('%');
                continue;
            }
            let mut verb = ' ';
            for c in chars.by_ref() {
                if c.is_ascii_alphabetic() && !matches!(c, 'l' | 'z' | 'h') {
                    verb = c;
                    break;
                }
            }
            if !text.is_empty() {
                parts.push(self.terms.make(Term::Str(Sym::from(text.as_str()))));
                text.clear();
            }
            let value = rest.next();
            // The number of a descriptor is no text.
            let is_number = matches!(verb, 'd' | 'i' | 'u')
                && value.is_some_and(|vid| matches!(self.terms.get(vid), Term::Fd(_)));
            parts.extend(if is_number {
                Some(self.terms.unknown())
            } else {
                value
            });
        }
        if !text.is_empty() {
            parts.push(self.terms.make(Term::Str(Sym::from(text.as_str()))));
        }
        self.concat(parts, state)
    }

    /// `strtok(text, "/")` gives a segment; with NULL the next one of the same text.
    pub(super) fn token(&mut self, subject: Vid, at: Span, state: &mut State) -> Vid {
        let key = Sym::from("%token");
        let is_next = matches!(self.terms.get(subject), Term::Null);
        let level = self.loop_level();
        let deep = Sym::from("%token_level");
        let begun = state.env.get(&deep).and_then(|vid| self.terms.number(*vid));
        let begun = if is_next { begun.unwrap_or(0) } else { level };
        let marked = self.terms.make(Term::Num(begun));
        state.env.insert(deep, marked);
        let coll = if is_next {
            state.env.get(&key).copied()
        } else {
            let coll = self.terms.make(Term::Coll {
                kind: CollKind::Split,
                of: subject,
                seps: 2,
            });
            state.env.insert(key, coll);
            Some(coll)
        };
        match coll {
            // In a loop each token in turn; else the second one is another than the first.
            Some(coll) if is_next && level <= begun => {
                let which = self.terms.make(Term::Num(i64::from(at.start)));
                self.terms.make(Term::Index(coll, which))
            }
            Some(coll) => self.terms.make(Term::Elem(coll)),
            None => self.terms.unknown(),
        }
    }

    /// `snprintf(out, n, "%s/%s", root, name)`: the buffer holds the text.
    pub(super) fn printf(
        &mut self,
        entry: &Row,
        format: Vid,
        args: &Args,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let start = match &entry.arg {
            Slot::At(index) => index + 1,
            _ => 1,
        };
        let values: Vec<Vid> = args.list.iter().skip(start).map(|(_, vid)| *vid).collect();
        let value = match self.terms.string(format).map(str::to_owned) {
            Some(format) => {
                let list = self.terms.make(Term::List(values));
                self.format_percent(&format, list, state)
            }
            None => match self.terms.get(format).clone() {
                // `ROOT "/%s"`: a constant, then a format.
                Term::Concat(parts) => self.format_parts(&parts, values, state),
                // strcpy, strncat: the text itself; what follows is a size.
                _ => format,
            },
        };
        match &entry.other {
            Some(Slot::At(index)) => {
                if let Some(Some(place)) = args.places.get(*index) {
                    let place = place.clone();
                    let value = match (entry.label.as_str(), args.at(*index)) {
                        ("append", Some(old)) => self.concat(vec![old, value], state),
                        _ => value,
                    };
                    self.assign(&place, value, state, at);
                }
                self.terms.unknown()
            }
            _ => value,
        }
    }

    fn format_parts(&mut self, parts: &[Vid], values: Vec<Vid>, state: &mut State) -> Vid {
        let mut rest = values.into_iter();
        let mut out = Vec::new();
        for part in parts {
            let text = match self.terms.get(*part) {
                Term::Str(text) => text.clone(),
                _ => {
                    out.push(*part);
                    continue;
                }
            };
            let wanted = text.matches('%').count() - 2 * text.matches("%%").count();
            let given: Vec<Vid> = rest.by_ref().take(wanted).collect();
            let given = self.terms.make(Term::List(given));
            out.push(self.format_percent(&text, given, state));
        }
        self.concat(out, state)
    }

    /// `sscanf(text, format, &a, &b)`: each gets a piece of the text.
    pub(super) fn scanned(
        &mut self,
        text: Vid,
        first: usize,
        args: &Args,
        at: Span,
        state: &mut State,
    ) {
        let places: Vec<_> = args.places.iter().enumerate().skip(first).collect();
        for (index, place) in places {
            let Some(place) = place.clone() else {
                continue;
            };
            let piece = self.terms.make(Term::Part {
                kind: PartKind::Slice,
                of: text,
                at: Span {
                    file: at.file,
                    line: at.line,
                    start: u32::try_from(index).unwrap_or(0),
                    ..Span::default()
                },
            });
            self.assign(&place, piece, state, at);
        }
    }

    /// `"{}/{}".format(root, name)`.
    pub(super) fn format_braces(&mut self, format: &str, args: &Args, state: &mut State) -> Vid {
        let mut parts = Vec::new();
        let mut next = 0;
        let mut rest = format;
        while let Some(at) = rest.find('{') {
            if at > 0 {
                parts.push(self.terms.make(Term::Str(Sym::from(&rest[..at]))));
            }
            let end = rest[at..].find('}').map_or(rest.len(), |end| at + end + 1);
            let name = rest[at + 1..end.saturating_sub(1).max(at + 1)]
                .split([':', '!', '.'])
                .next()
                .unwrap_or("");
            let value = args.named(name).or_else(|| {
                let value = args.at(name.parse().unwrap_or(next));
                next += 1;
                value
            });
            parts.extend(value);
            rest = &rest[end..];
        }
        if !rest.is_empty() {
            parts.push(self.terms.make(Term::Str(Sym::from(rest))));
        }
        self.concat(parts, state)
    }

    /// `path.and_then(File::open)`, `.map(Zone::try_from)`: a function by its name.
    fn map_named(&mut self, receiver: Vid, function: Vid, at: Span, state: &mut State) -> Vid {
        let is_list = matches!(
            self.terms.get(receiver),
            Term::Coll { .. } | Term::Mapped { .. } | Term::List(_)
        );
        let value = match (is_list, self.terms.get(receiver)) {
            (true, Term::Mapped { element, .. }) => *element,
            (true, _) => {
                let coll = self.as_collection(receiver);
                self.terms.make(Term::Elem(coll))
            }
            _ => self.deref(receiver, state),
        };
        let value = self.payload(value);
        let given = Args {
            receiver: None,
            list: vec![(None, value)],
            places: vec![None],
        };
        match self.apply_value(function, &given, at, state) {
            Some(element) if is_list => {
                let element = self.payload(element);
                self.terms.make(Term::Mapped {
                    element,
                    coll: receiver,
                })
            }
            Some(made) => made,
            None => receiver,
        }
    }

    pub(super) fn map_value(&mut self, args: &Args, at: Span, state: &mut State) -> Vid {
        // A closure over each element, or over a payload.
        let Some(receiver) = args.receiver else {
            return self.terms.unknown();
        };
        let Some(closure) = args.at(0) else {
            return receiver;
        };
        let Term::Closure { of, env } = *self.terms.get(closure) else {
            return self.map_named(receiver, closure, at, state);
        };
        if let Term::Outcome(call) = *self.terms.get(receiver)
            && let Some(mapped) = self.map_ways(call, (of, env), at, state)
        {
            return mapped;
        }
        let is_one = self.lang() == crate::lang::Lang::Rust
            && !matches!(
                self.terms.get(receiver),
                Term::Coll { .. } | Term::Mapped { .. } | Term::List(_)
            );
        if is_one {
            let real = self.deref(receiver, state);
            let given = Args {
                receiver: None,
                list: vec![(None, real)],
                places: vec![None],
            };
            return self.invoke(of, None, &given, Some(env), at, state);
        }
        let coll = self.as_collection(receiver);
        let elem = self.terms.make(Term::Elem(coll));
        let inner = Args {
            receiver: None,
            list: vec![(None, elem)],
            places: vec![None],
        };
        let element = self.invoke(of, None, &inner, Some(env), at, state);
        if let Some(text) = self.mapped_letters(coll, elem, element, at, state) {
            return text;
        }
        self.terms.make(Term::Mapped { element, coll })
    }

    /// `option.filter(ok).map(f)`: what the way with a value knows, the function knows.
    fn map_ways(
        &mut self,
        call: u32,
        (of, env): (crate::term::FnId, u32),
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        let ways = self.ways[call as usize].clone();
        let left = state.ways.get(&call).cloned();
        let is_left = |index: usize| left.as_ref().is_none_or(|left| left.contains(&index));
        let is_fork = ways.len() == 2
            && ways.iter().any(|way| self.is_nothing(way.value))
            && ways
                .iter()
                .any(|way| matches!(self.terms.get(way.value), Term::Variant(..)));
        if !is_fork {
            return None;
        }
        let mut out = Vec::new();
        for (index, way) in ways.into_iter().enumerate() {
            if !is_left(index) {
                continue;
            }
            if self.is_nothing(way.value) {
                out.push(way);
                continue;
            }
            let value = self.payload(way.value);
            let given = Args {
                receiver: None,
                list: vec![(None, value)],
                places: vec![None],
            };
            let mut inner = state.clone();
            inner.facts = way.facts;
            let made = self.invoke(of, None, &given, Some(env), at, &mut inner);
            let name = crate::ir::Sym::from("Some");
            out.push(super::Way {
                value: self.terms.make(Term::Variant(name, made)),
                facts: inner.facts,
                epoch: way.epoch,
            });
        }
        let call = u32::try_from(self.ways.len()).unwrap_or(u32::MAX);
        self.ways.push(out);
        Some(self.terms.make(Term::Outcome(call)))
    }

    /// `chars().map(|c| if ok(c) { c } else { '_' })`: a text with the letters that are left.
    fn mapped_letters(
        &mut self,
        coll: Vid,
        elem: Vid,
        element: Vid,
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        let Term::Coll {
            kind: crate::term::CollKind::Chars,
            of,
            ..
        } = *self.terms.get(coll)
        else {
            return None;
        };
        let letters = self.letters_in(element, elem, &state.facts, 0)?;
        if letters == crate::facts::ANY {
            return None;
        }
        Some(self.with_letters(of, letters, at, state))
    }

    /// One letter of a text, as a comprehension gives it out: one that is left, or what stands for it.
    pub(super) fn each_letter(
        &mut self,
        coll: Vid,
        elem: Vid,
        element: Vid,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let is_text = matches!(
            self.terms.get(coll),
            Term::Coll {
                kind: crate::term::CollKind::Chars,
                ..
            }
        );
        if !is_text || element == elem {
            return element;
        }
        match self.letters_in(element, elem, &state.facts, 0) {
            Some(letters) => self.with_letters(elem, letters, at, state),
            None => element,
        }
    }

    /// The same text, of which only some letters are left.
    pub(super) fn with_letters(
        &mut self,
        of: Vid,
        letters: u32,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let text = self.terms.make(Term::Part {
            kind: crate::term::PartKind::Replace,
            of,
            at: Span {
                file: at.file,
                line: at.line,
                ..Span::default()
            },
        });
        state.edit(text).narrow_chars(letters, at);
        text
    }

    /// Which letters a value can be that is made of one letter.
    fn letters_in(
        &self,
        value: Vid,
        elem: Vid,
        facts: &crate::known::KnownValues,
        depth: usize,
    ) -> Option<u32> {
        if depth > 6 {
            return None;
        }
        if value == elem {
            return Some(
                facts
                    .get(elem)
                    .map_or(crate::facts::ANY, |known| known.chars),
            );
        }
        match self.terms.get(value) {
            Term::Str(text) => Some(crate::facts::stands_for(text)),
            Term::Outcome(call) => {
                let ways = self.ways[*call as usize].iter();
                ways.map(|way| self.letters_in(way.value, elem, &way.facts, depth + 1))
                    .try_fold(0, |all, one| Some(all | one?))
            }
            Term::Phi(parts) => parts
                .iter()
                .map(|part| self.letters_in(*part, elem, facts, depth + 1))
                .try_fold(0, |all, one| Some(all | one?)),
            Term::Part {
                kind: crate::term::PartKind::Case | crate::term::PartKind::Text,
                of,
                ..
            } => match facts.get(value) {
                Some(known) => Some(known.chars),
                None => self.letters_in(*of, elem, facts, depth + 1),
            },
            _ => None,
        }
    }
}
