//! What a known call does, by the role of its row.

use crate::facts::{bit, mask};
use crate::interp::call::Args;
use crate::interp::{Event, Interp, OpenFlags, SinkKind};
use crate::ir::{Span, Sym};
use crate::kb::{Role, Row, Slot};
use crate::lang::Lang;
use crate::state::State;
use crate::term::{CollKind, MatchMode, ObjectKind, PartKind, Pred, Term, Vid};

impl Interp<'_> {
    /// The argument a row speaks of.
    fn slot(&self, slot: &Slot, args: &Args) -> Option<Vid> {
        match slot {
            Slot::At(index) => args.at(*index),
            Slot::Either(index, name) => args
                .named(name)
                .or_else(|| args.at(*index))
                .or_else(|| self.option(name, args)),
            Slot::Named(name) if name == "self" => args.receiver,
            Slot::Named(name) => args.named(name).or_else(|| self.option(name, args)),
        }
    }

    fn option(&self, name: &str, args: &Args) -> Option<Vid> {
        args.list
            .iter()
            .find_map(|(_, vid)| match self.terms.get(*vid) {
                Term::Dict(pairs) => pairs
                    .iter()
                    .find(|(key, _)| **key == *name)
                    .map(|(_, value)| *value),
                _ => None,
            })
    }

    pub(super) fn apply(
        &mut self,
        row: usize,
        args: &Args,
        shown: &str,
        at: Span,
        is_guess: bool,
        state: &mut State,
    ) -> Vid {
        self.hits.insert(row);
        let family = self.family();
        let entry: &Row = &family.rows[row];
        let subject = self.slot(&entry.arg, args);
        let subject = subject.map(|vid| self.deref(vid, state));
        let vid = match entry.role {
            Role::Source if entry.what == "filled" && !self.is_filled_from_outside(shown, args) => {
                let name = shown.to_owned();
                return self.unknown_call(&name, args, at, state);
            }
            Role::Source => {
                let label = if entry.label.is_empty() {
                    shown
                } else {
                    &entry.label
                };
                let kind = super::expr::source_kind(&entry.what);
                let key = subject.and_then(|vid| self.terms.string(vid));
                // The environment is the operator's, but for what a web server puts there.
                if entry.label == "getenv" && key.is_some_and(|key| !is_cgi_variable(key)) {
                    let label = Sym::from(key.unwrap_or_default());
                    let at = Span::default();
                    return self.terms.make(Term::Config { label, at });
                }
                let label = match key {
                    Some(key) if kind != crate::term::SourceKind::Archive => {
                        format!("{label}.{key}")
                    }
                    _ => label.to_owned(),
                };
                let vid = self.terms.make(Term::Source {
                    label: Sym::from(label.as_str()),
                    kind,
                    at: Span::default(),
                });
                if self.lang().has_static_strings() {
                    state.add(vid, bit::TYPED, at);
                }
                // C: a buffer that is filled.
                if let Some(Some(place)) = entry.other.as_ref().and_then(|slot| match slot {
                    Slot::At(index) => args.places.get(*index),
                    _ => None,
                }) {
                    let place = place.clone();
                    self.assign(&place, vid, state, at);
                }
                vid
            }
            Role::Config => {
                let key = subject
                    .and_then(|vid| self.terms.string(vid))
                    .unwrap_or(shown);
                let label = Sym::from(key);
                self.terms.make(Term::Config {
                    label,
                    at: Span::default(),
                })
            }
            Role::Sink => self.apply_sink(entry, args, subject, shown, at, is_guess, state),
            Role::Join => {
                let mut parts: Vec<Vid> = Vec::new();
                if matches!(&entry.arg, Slot::Named(name) if name == "self") {
                    parts.extend(args.receiver);
                }
                for (_, vid) in &args.list {
                    match self.terms.get(*vid) {
                        Term::List(inner) => parts.extend(inner.iter().copied()),
                        _ => parts.push(*vid),
                    }
                }
                let joined = self.join_paths(parts, entry.what == "discards", state);
                if entry.what == "resolve" {
                    return self.terms.make(Term::Norm {
                        canonical: false,
                        of: joined,
                        at: Span::default(),
                    });
                }
                // `path.push(x)` changes its receiver.
                if entry.what == "push"
                    && let Some(receiver) = args.receiver
                {
                    self.replace_everywhere(receiver, joined, state);
                }
                joined
            }
            Role::Norm => self.normalise(entry, subject, args, at, state),
            Role::Part | Role::Coll => match subject {
                Some(subject) => {
                    let what = entry.what.clone();
                    if what == "replace" {
                        return self.replaced(subject, args, at, state);
                    }
                    if what == "split" {
                        return self.split(subject, args);
                    }
                    if what == "format" {
                        let format = self.terms.string(subject).map(str::to_owned);
                        return match format {
                            Some(format) => self.format_braces(&format, args, state),
                            None => self.terms.unknown(),
                        };
                    }
                    if what == "token" {
                        return self.token(subject, state);
                    }
                    if what == "printf" {
                        return self.printf(entry, subject, args, at, state);
                    }
                    if what == "mismatch" {
                        let parts = [args.at(0), args.at(2).or(args.at(1))];
                        let parts = parts.into_iter().flatten().collect();
                        return self.terms.make(Term::CommonPath(parts));
                    }
                    if what == "common_path" || what == "common_prefix" {
                        let parts = match self.terms.get(subject) {
                            Term::List(parts) => parts.clone(),
                            _ => vec![subject],
                        };
                        let term = if what == "common_path" {
                            Term::CommonPath(parts)
                        } else {
                            Term::CommonPrefix(parts)
                        };
                        return self.terms.make(term);
                    }
                    if what == "regex" {
                        let flags = args
                            .at(1)
                            .and_then(|vid| self.name_of(vid))
                            .unwrap_or("")
                            .to_ascii_lowercase();
                        let flags = if flags.starts_with('m') { "m" } else { "" };
                        return match self.terms.string(subject).map(Sym::from) {
                            Some(pattern) => {
                                let vid = self.terms.make(Term::Regex(pattern, Sym::from(flags)));
                                self.terms.typed(vid, "regex")
                            }
                            None => self.terms.unknown(),
                        };
                    }
                    self.part(&what, subject, at, state)
                }
                None => self.terms.unknown(),
            },
            Role::Test => self.test(entry, subject, args, at, state),
            Role::Check => self.check(entry, subject, args, at, state),
            Role::Stat => {
                let Some(subject) = subject else {
                    return self.terms.unknown();
                };
                let fd = entry.what == "fd";
                let mut follow = entry.what != "nofollow";
                if let Some(flags) = entry.flags.as_ref().and_then(|slot| self.slot(slot, args)) {
                    let name = self.name_of(flags).unwrap_or_default();
                    if name.contains("NOFOLLOW")
                        || matches!(self.terms.get(flags), Term::Bool(false))
                    {
                        follow = false;
                    }
                }
                let vid = self.stat(subject, follow, fd, at, state);
                // C: the struct that is filled.
                if let Some(Slot::At(index)) = &entry.other
                    && let Some(Some(place)) = args.places.get(*index)
                {
                    let place = place.clone();
                    self.assign(&place, vid, state, at);
                }
                vid
            }
            Role::Fd => {
                let Some(fd) = subject else {
                    return self.terms.unknown();
                };
                if entry.returns == "self" {
                    fd
                } else {
                    self.terms.unknown()
                }
            }
            Role::Lock => {
                let value = args
                    .receiver
                    .or(subject)
                    .unwrap_or_else(|| self.terms.make(Term::Null));
                let scoped = entry.what == "scoped";
                self.acquire(value, scoped, at, state);
                let of = args.receiver.or(subject);
                self.terms.make(Term::Lock { at, of })
            }
            Role::Unlock => {
                let value = args.receiver.or(subject);
                if state.held.len() == 1 {
                    state.held.clear();
                } else {
                    state.held.retain(|held| Some(held.value) != value);
                }
                self.terms.make(Term::Null)
            }
            Role::Key => {
                if let Some(value) = subject
                    && self.muted == 0
                    && !self.leaves(value, state).is_empty()
                {
                    self.events.push(Event::Key {
                        at,
                        value,
                        state: state.clone(),
                    });
                }
                let list = args.all();
                let vid = self.terms.make(Term::Call {
                    name: Sym::from("hash"),
                    args: list,
                    at,
                });
                // A digest is text that nobody chooses.
                if entry.what == "digest" {
                    let inner = self.terms.make(Term::Random(at));
                    return self.terms.typed(inner, "digest");
                }
                vid
            }
            Role::Temp => {
                let dir = subject;
                let vid = self.terms.make(Term::Temp { dir, at });
                // C: the template is filled in.
                if self.lang().family() == "c"
                    && let Some(Some(place)) = args.places.first()
                {
                    let place = place.clone();
                    self.assign(&place, vid, state, at);
                }
                if let Some(dir) = dir {
                    let sink = self.new_sink(SinkKind::Temp, shown, dir, at, is_guess, state);
                    self.sink(sink);
                }
                self.terms.typed(vid, &entry.returns)
            }
            Role::Random => self.terms.make(Term::Random(at)),
            Role::Clock => self.terms.make(Term::Clock(at)),
            Role::Spawn => self.spawn(entry, args, shown, at, state),
            Role::Handle => {
                let of = subject.unwrap_or_else(|| self.terms.make(Term::Null));
                let ty = entry.returns.clone();
                let vid = self.terms.make(Term::Handle {
                    ty: Sym::from(ty.as_str()),
                    of,
                    at,
                });
                if self.muted == 0 && entry.what == "nofollow" {
                    let how = super::RootCheck::OpenedNoFollow;
                    self.events.push(Event::RootSeen { at, value: of, how });
                }
                self.may_throw(state);
                self.terms.typed(vid, &ty)
            }
            Role::Value => {
                let list = args.all();
                let vid = match (subject, entry.what.as_str()) {
                    (Some(subject), "wrap") => {
                        // Path(x) is x with a type; several arguments are joined.
                        if list.len() > 1 && matches!(entry.arg, Slot::At(0)) {
                            self.join_paths(
                                list,
                                self.lang().absolute_operand_discards_root(),
                                state,
                            )
                        } else {
                            self.terms.make(Term::Part {
                                kind: PartKind::Text,
                                of: subject,
                                at: Span::default(),
                            })
                        }
                    }
                    _ => self.terms.make(Term::Call {
                        name: Sym::from(shown),
                        args: list,
                        at,
                    }),
                };
                self.terms.typed(vid, &entry.returns)
            }
            Role::Same => {
                let vid = subject
                    .or(args.receiver)
                    .unwrap_or_else(|| self.terms.make(Term::Null));
                if entry.what == "throws" {
                    return self.question(vid, at, state);
                }
                // The system's error became one of the program's own.
                if entry.what == "mapped" && matches!(self.terms.get(vid), Term::Stat { .. }) {
                    self.failure(super::Failure::Mapped, at);
                    return self.terms.make(Term::Payload(vid));
                }
                if entry.what == "coerce" {
                    state.add(vid, bit::WEAK_COERCED, at);
                }
                if entry.what == "map" {
                    return self.map_value(args, at, state);
                }
                vid
            }
            Role::Builder => self.builder(entry, args, shown),
            Role::Exit => {
                self.throw(state);
                self.terms.make(Term::Null)
            }
            Role::Route => {
                let list = args.all();
                for vid in &list {
                    if let Term::Closure { of, .. } = *self.terms.get(*vid) {
                        self.handlers.insert(of);
                    }
                }
                self.terms.make(Term::Call {
                    name: Sym::from(shown),
                    args: list,
                    at,
                })
            }
            Role::Pure => {
                let list = args.all();
                self.terms.make(Term::Call {
                    name: Sym::from(shown),
                    args: list,
                    at,
                })
            }
        };
        if !entry.returns.is_empty() && entry.returns != "self" && self.terms.ty(vid).is_none() {
            let returns = entry.returns.clone();
            self.terms.typed(vid, &returns);
        }
        vid
    }

    /// Decoders fill what they are given with what they read; only some read a request.
    fn is_filled_from_outside(&self, shown: &str, args: &Args) -> bool {
        let last = shown.rsplit('.').next().unwrap_or(shown);
        if !matches!(last, "Decode" | "Unmarshal") {
            return true;
        }
        args.all()
            .iter()
            .any(|vid| self.external_base(*vid, 0).is_some())
    }

    /// A name that held a builder or a path holds the changed one.
    fn replace_everywhere(&mut self, old: Vid, new: Vid, state: &mut State) {
        for value in state.env.values_mut() {
            if *value == old {
                *value = new;
            }
        }
    }

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

    fn normalise(
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
            return self.terms.make(Term::Relative {
                root,
                of: subject,
                at: Span::default(),
            });
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
        vid
    }

    /// `"/" + x`: cleaning it cannot lead above.
    fn is_rooted(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Concat(parts) | Term::Join { parts, .. } => {
                parts.len() == 2 && parts.first().is_some_and(|first| self.is_separator(*first))
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
            _ => PartKind::Text,
        };
        let ty = self.terms.ty(of).map(str::to_owned);
        let vid = self.terms.make(Term::Part {
            kind,
            of,
            at: Span {
                file: at.file,
                line: at.line,
                ..Span::default()
            },
        });
        let _ = state;
        if kind == PartKind::Parent || kind == PartKind::Strip || kind == PartKind::Text {
            self.terms.typed(vid, &ty.unwrap_or_default());
        }
        vid
    }

    fn split(&mut self, subject: Vid, args: &Args) -> Vid {
        let sep = args
            .list
            .iter()
            .map(|(_, vid)| *vid)
            .find(|vid| *vid != subject);
        let is_path = match sep.map(|vid| self.terms.get(vid).clone()) {
            None => true,
            Some(Term::Str(text)) => text.contains('/') || text.contains('\\'),
            Some(Term::Regex(pattern, _)) => pattern.contains('/'),
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

    fn replaced(&mut self, subject: Vid, args: &Args, at: Span, state: &mut State) -> Vid {
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
        let vid = self.terms.make(Term::Part {
            kind: PartKind::Replace,
            of: subject,
            at: place,
        });
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
            for c in chars.by_ref() {
                if c.is_ascii_alphabetic() && !matches!(c, 'l' | 'z' | 'h') {
                    break;
                }
            }
            if !text.is_empty() {
                parts.push(self.terms.make(Term::Str(Sym::from(text.as_str()))));
                text.clear();
            }
            parts.extend(rest.next());
        }
        if !text.is_empty() {
            parts.push(self.terms.make(Term::Str(Sym::from(text.as_str()))));
        }
        self.concat(parts, state)
    }

    /// `strtok(text, "/")` gives a segment; with NULL the next one of the same text.
    fn token(&mut self, subject: Vid, state: &mut State) -> Vid {
        let key = Sym::from("%token");
        let coll = if matches!(self.terms.get(subject), Term::Null) {
            state.env.get(&key).copied()
        } else {
            let coll = self.terms.make(Term::Coll {
                kind: CollKind::Split,
                of: subject,
                seps: 1,
            });
            state.env.insert(key, coll);
            Some(coll)
        };
        match coll {
            Some(coll) => self.terms.make(Term::Elem(coll)),
            None => self.terms.unknown(),
        }
    }

    /// `snprintf(out, n, "%s/%s", root, name)`: the buffer holds the text.
    fn printf(
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
            // strcpy, strncat: the text itself; what follows is a size.
            None => format,
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

    /// `"{}/{}".format(root, name)`.
    fn format_braces(&mut self, format: &str, args: &Args, state: &mut State) -> Vid {
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

    fn map_value(&mut self, args: &Args, at: Span, state: &mut State) -> Vid {
        // A closure over each element, or over a payload.
        let Some(receiver) = args.receiver else {
            return self.terms.unknown();
        };
        let Some(closure) = args.at(0) else {
            return receiver;
        };
        let Term::Closure { of, env } = *self.terms.get(closure) else {
            return receiver;
        };
        let coll = self.as_collection(receiver);
        let elem = self.terms.make(Term::Elem(coll));
        let inner = Args {
            receiver: None,
            list: vec![(None, elem)],
            places: vec![None],
        };
        let element = self.invoke(of, None, &inner, Some(env), at, state);
        self.terms.make(Term::Mapped { element, coll })
    }

    fn test(
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
            ("prefix", Some(other)) => match self.terms.get(other).clone() {
                Term::List(items) => self.any_prefix(subject, &items),
                _ => Pred::Prefix(subject, other),
            },
            ("suffix", Some(other)) => Pred::Suffix(subject, other),
            ("contains", Some(other)) => {
                if let Term::Global { of, .. } = self.terms.get(subject)
                    && matches!(
                        self.terms.get(*of),
                        Term::List(_) | Term::Dict(_) | Term::Call { .. }
                    )
                {
                    Pred::Member(other, subject)
                } else if matches!(self.terms.get(subject), Term::List(_) | Term::Dict(_)) {
                    Pred::Member(other, subject)
                } else {
                    Pred::Contains(subject, other)
                }
            }
            ("member", Some(other)) => Pred::Member(other, subject),
            // Text, not a path: characters are compared.
            ("within", Some(other)) if self.is_rust_text(subject) => Pred::Prefix(subject, other),
            ("within", Some(other)) => Pred::Within(subject, other),
            ("absolute", _) => Pred::IsAbsolute(subject),
            ("local", _) => Pred::IsLocal(subject),
            ("string", other) => {
                let name = other.and_then(|vid| self.name_of(vid));
                if name.is_some_and(|name| name != "str" && name != "string") {
                    Pred::Unknown(self.terms.fresh())
                } else {
                    Pred::IsString(subject)
                }
            }
            ("link" | "dir" | "file", _) => {
                let kind = match entry.what.as_str() {
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
                    self.asked(subject, kind != ObjectKind::Link, at);
                    Pred::PathIs(subject, kind)
                }
            }
            ("exists", _) => {
                self.asked(subject, true, at);
                Pred::PathIs(subject, ObjectKind::Exists)
            }
            ("alnum", _) => letters(char::is_alphanumeric),
            ("ascii_alnum", _) => letters(|c| c.is_ascii_alphanumeric()),
            ("alpha", _) => letters(char::is_alphabetic),
            ("ascii_alpha", _) => letters(|c| c.is_ascii_alphabetic()),
            ("digit", _) => letters(|c| c.is_ascii_digit()),
            ("control", _) => letters(char::is_control),
            ("identifier", _) => letters(|c| c.is_alphanumeric() || c == '_'),
            ("any" | "all", _) => {
                return self.quantifier(entry.what == "any", subject, args, at, state);
            }
            ("missing", _) => Pred::IsMissing(subject),
            ("equal", Some(other)) => Pred::Compare(crate::ir::Op::Eq, subject, other),
            ("is_ok", _) => Pred::Variant(subject, Sym::from("Ok")),
            ("is_some", _) => Pred::Variant(subject, Sym::from("Some")),
            ("is_err", _) => Pred::Variant(subject, Sym::from("Err")),
            ("is_none", _) => Pred::Variant(subject, Sym::from("None")),
            ("empty", _) => {
                let length = self.terms.make(Term::Length(subject, true));
                let zero = self.terms.make(Term::Num(0));
                Pred::Compare(crate::ir::Op::Eq, length, zero)
            }
            _ => Pred::Unknown(self.terms.fresh()),
        };
        self.terms.make(Term::Pred(pred))
    }

    fn is_rust_text(&self, vid: Vid) -> bool {
        self.lang() == Lang::Rust && self.terms.ty(vid) == Some("text")
    }

    fn any_prefix(&mut self, subject: Vid, items: &[Vid]) -> Pred {
        let mut result: Option<Vid> = None;
        for item in items {
            let one = self.terms.make(Term::Pred(Pred::Prefix(subject, *item)));
            result = Some(match result {
                Some(before) => self.terms.make(Term::Pred(Pred::Or(before, one))),
                None => one,
            });
        }
        let inner = result.unwrap_or_else(|| self.terms.make(Term::Bool(false)));
        let not = self.terms.make(Term::Pred(Pred::Not(inner)));
        Pred::Not(not)
    }

    fn asked(&mut self, path: Vid, follow: bool, at: Span) {
        if self.muted == 0 {
            let function = self.here();
            self.events.push(Event::Asked {
                at,
                path,
                follow,
                function,
            });
        }
    }

    /// `any(…)`, `all(…)`, `.some(f)`, `.every(f)`, `.all(f)`.
    fn quantifier(
        &mut self,
        any: bool,
        subject: Vid,
        args: &Args,
        at: Span,
        state: &mut State,
    ) -> Vid {
        if let Term::Mapped { element, coll } = *self.terms.get(subject) {
            return self.terms.make(Term::Pred(Pred::Quant {
                any,
                cond: element,
                coll,
            }));
        }
        let closure = args
            .list
            .iter()
            .map(|(_, vid)| *vid)
            .find(|vid| matches!(self.terms.get(*vid), Term::Closure { .. }));
        let Some(closure) = closure else {
            return self.terms.unknown();
        };
        let Term::Closure { of, env } = *self.terms.get(closure) else {
            return self.terms.unknown();
        };
        let coll = self.as_collection(subject);
        let elem = self.terms.make(Term::Elem(coll));
        let inner = Args {
            receiver: None,
            list: vec![(None, elem)],
            places: vec![None],
        };
        let mut copy = state.clone();
        let cond = self.invoke(of, None, &inner, Some(env), at, &mut copy);
        self.terms.make(Term::Pred(Pred::Quant { any, cond, coll }))
    }

    /// Returns only if something holds.
    fn check(
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
            // A name made harmless; it may come back empty.
            "clean_name" => {
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
                state.add(vid, bit::IN_CANONICAL, at);
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

    fn builder(&mut self, entry: &Row, args: &Args, shown: &str) -> Vid {
        if entry.what == "new" {
            return self.terms.make(Term::Builder {
                ty: Sym::from(entry.returns.as_str()),
                flags: Vec::new(),
            });
        }
        let Some(receiver) = args.receiver else {
            return self.terms.unknown();
        };
        let mut flags = match self.terms.get(receiver) {
            Term::Builder { flags, .. } => flags.clone(),
            _ => Vec::new(),
        };
        let name = shown.rsplit('.').next().unwrap_or(shown);
        let value = args
            .at(0)
            .unwrap_or_else(|| self.terms.make(Term::Bool(true)));
        flags.retain(|(known, _)| **known != *name);
        flags.push((Sym::from(name), value));
        let ty = entry.returns.clone();
        let vid = self.terms.make(Term::Builder {
            ty: Sym::from(ty.as_str()),
            flags,
        });
        self.terms.typed(vid, &ty)
    }

    fn spawn(&mut self, entry: &Row, args: &Args, shown: &str, at: Span, state: &mut State) -> Vid {
        self.may_throw(state);
        let mut values = Vec::new();
        for vid in args.all() {
            match self.terms.get(vid) {
                Term::List(items) => values.extend(items.iter().copied()),
                _ => values.push(vid),
            }
        }
        let is_shell = entry.what == "shell" || self.option_is_true("shell", args);
        let dashes = values
            .iter()
            .position(|vid| self.terms.string(*vid) == Some("--"));
        for (index, value) in values.iter().enumerate() {
            if self.leaves(*value, state).is_empty() {
                continue;
            }
            let mut sink = self.new_sink(SinkKind::Spawn, shown, *value, at, false, state);
            sink.is_shell = is_shell;
            sink.has_separator = dashes.is_some_and(|dash| dash < index)
                || args
                    .receiver
                    .is_some_and(|receiver| self.has_dashes(receiver, 0));
            self.sink(sink);
        }
        state.age();
        let list = args.all();
        let vid = self.terms.make(Term::Call {
            name: Sym::from(shown),
            args: list,
            at,
        });
        self.terms.typed(vid, &entry.returns)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one call, all that is known of it"
    )]
    fn apply_sink(
        &mut self,
        entry: &Row,
        args: &Args,
        subject: Option<Vid>,
        shown: &str,
        at: Span,
        is_guess: bool,
        state: &mut State,
    ) -> Vid {
        let Some(path) = subject else {
            return self.terms.unknown();
        };
        let mut flags = OpenFlags::default();
        for name in &entry.fixed {
            flags.set(name);
            if name.len() == 1 {
                flags.set_mode(name);
            }
        }
        if let Some(given) = entry.flags.as_ref().and_then(|slot| self.slot(slot, args)) {
            let given = self.deref(given, state);
            self.fold_flags(given, &mut flags);
            self.struct_flags(given, state, &mut flags);
        }
        let dirfd = entry.dirfd.as_ref().and_then(|slot| self.slot(slot, args));
        let dirfd = dirfd.map(|vid| self.deref(vid, state));
        let dirfd = dirfd.filter(|vid| {
            !matches!(self.terms.get(*vid), Term::Null)
                && self.name_of(*vid).is_none_or(|n| n != "AT_FDCWD")
        });
        let recursive = entry.fixed.iter().any(|name| name == "recursive");
        let kinds: Vec<(SinkKind, Vid)> = match entry.what.as_str() {
            "open" => vec![(SinkKind::Open, path)],
            "read" => vec![(SinkKind::Read, path)],
            "create" => vec![(SinkKind::Create, path)],
            "mutate" => vec![(SinkKind::Mutate, path)],
            "delete" => vec![(SinkKind::Delete, path)],
            "mkdir" => vec![(SinkKind::Mkdir, path)],
            "mkdir_rec" => vec![(SinkKind::MkdirAll, path)],
            "stat" => vec![(SinkKind::Stat, path)],
            "link" => vec![(SinkKind::Link, path)],
            "move" | "copy" => {
                let mut out = Vec::new();
                out.push((
                    if entry.what == "move" {
                        SinkKind::MoveFrom
                    } else {
                        SinkKind::Read
                    },
                    path,
                ));
                if let Some(to) = entry.other.as_ref().and_then(|slot| self.slot(slot, args)) {
                    out.push((
                        if entry.what == "move" {
                            SinkKind::MoveTo
                        } else {
                            SinkKind::Create
                        },
                        to,
                    ));
                }
                out
            }
            _ => vec![(SinkKind::Read, path)],
        };
        let opens = entry.what == "open";
        let origin = self.deref(path, state);
        let fd = opens.then(|| self.open(path, flags, dirfd, at, state));
        for (kind, path) in kinds {
            let mut sink = self.new_sink(kind, shown, path, at, is_guess, state);
            sink.flags = flags;
            sink.recursive = recursive;
            sink.dirfd = dirfd;
            sink.anchored.clone_from(&entry.anchored);
            sink.fd = fd;
            sink.tolerates_existing = self.tolerates(args);
            sink.handle = args.receiver.filter(|_| entry.anchored.is_some());
            sink.from = (kind == SinkKind::MoveTo).then_some(origin);
            self.sink(sink);
            if matches!(kind, SinkKind::Create) && entry.fixed.iter().any(|name| name == "parents")
            {
                let sink = self.new_sink(SinkKind::MkdirAll, shown, path, at, is_guess, state);
                self.sink(sink);
            }
        }
        self.may_throw(state);
        let vid = fd.unwrap_or_else(|| {
            let list = args.all();
            self.terms.make(Term::Call {
                name: Sym::from("io"),
                args: list.into_iter().take(0).collect(),
                at,
            })
        });
        if entry.returns == "handle" {
            // An anchored directory opened below an anchored one.
            let ty = entry.anchored.clone().unwrap_or_default();
            return self.terms.typed(vid, &ty);
        }
        vid
    }

    /// A command that was given `--` before.
    fn has_dashes(&self, vid: Vid, depth: usize) -> bool {
        match self.terms.get(vid) {
            Term::Call { args, .. } if depth < 16 => args.iter().any(|arg| {
                self.terms.string(*arg) == Some("--") || self.has_dashes(*arg, depth + 1)
            }),
            _ => false,
        }
    }

    /// "Already there" is accepted by an option.
    fn tolerates(&self, args: &Args) -> bool {
        self.option_is_true("exist_ok", args)
    }

    /// `struct open_how`, `OpenHow`: fields of an object.
    fn struct_flags(&self, vid: Vid, state: &State, flags: &mut OpenFlags) {
        for field in ["flags", "resolve", "Flags", "Resolve"] {
            if let Some(value) = state.get_field(vid, field) {
                self.fold_flags(value, flags);
                flags.unknown = false;
            }
        }
    }
}

/// Variables that a web server fills from the request.
fn is_cgi_variable(name: &str) -> bool {
    name.starts_with("HTTP_")
        || matches!(
            name,
            "QUERY_STRING"
                | "PATH_INFO"
                | "PATH_TRANSLATED"
                | "REQUEST_URI"
                | "SCRIPT_NAME"
                | "DOCUMENT_URI"
                | "REMOTE_USER"
                | "REMOTE_HOST"
                | "CONTENT_TYPE"
        )
}
