//! What the calls of each role do; [`Interp::apply`] chooses among them.

use crate::facts::bit;
use crate::interp::call::Args;
use crate::interp::{Event, Interp, RootCheck, SinkKind};
use crate::ir::{Span, Sym};
use crate::kb::{Row, Slot};
use crate::state::State;
use crate::term::{Term, Vid};

impl Interp<'_> {
    /// Something the operator decides.
    pub(super) fn apply_config(
        &mut self,
        entry: &Row,
        subject: Option<Vid>,
        shown: &str,
        at: Span,
    ) -> Vid {
        let key = subject
            .and_then(|vid| self.terms.string(vid))
            .unwrap_or(shown);
        if entry.returns == "env" && super::sources::is_cgi_variable(key) {
            let label = Sym::from(key);
            let kind = crate::term::SourceKind::Request;
            let vid = self.terms.make(Term::Source {
                label,
                kind,
                at: Span::default(),
            });
            self.met.entry(vid).or_insert(at);
            return vid;
        }
        let label = Sym::from(key);
        let vid = self.terms.make(Term::Config {
            label,
            at: Span::default(),
        });
        self.met.entry(vid).or_insert(at);
        vid
    }

    /// Paths that are put together.
    pub(super) fn apply_join(
        &mut self,
        entry: &Row,
        args: &Args,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let mut parts: Vec<Vid> = Vec::new();
        if matches!(&entry.arg, Slot::Named(name) if name == "self") {
            parts.extend(args.receiver);
        }
        for (_, vid) in &args.list {
            match self.terms.get(*vid) {
                Term::List(inner) => parts.extend(inner.iter().copied()),
                _ if self.is_in_loop() => {
                    let real = self.deref(*vid, state);
                    parts.push(self.keep(real, at, state));
                }
                _ => parts.push(*vid),
            }
        }
        let joined = self.join_paths(parts, entry.what == "discards", state);
        if self.lang_joins_clean() && self.is_rooted(joined) {
            let clean = self.terms.make(Term::Norm {
                canonical: false,
                of: joined,
                at: Span::default(),
            });
            state.add(clean, bit::ROOTED, at);
            return clean;
        }
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

    /// A part or another spelling of a text, or what it is taken apart into.
    pub(super) fn apply_part(
        &mut self,
        entry: &Row,
        subject: Vid,
        args: &Args,
        shown: &str,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let what = entry.what.clone();
        if what == "replace" {
            let is_all = shown.ends_with("replaceAll");
            return self.replaced(subject, args, is_all, at, state);
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
        if what == "scan" {
            self.scanned(subject, 2, args, at, state);
            return self.terms.unknown();
        }
        if what == "list_join" {
            return self.list_join(subject, args, state);
        }
        if what == "slice" && !args.list.is_empty() {
            return self.slice(subject, args.at(0), args.at(1), at);
        }
        if what == "token" {
            return self.token(subject, at, state);
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
        let vid = self.part(&what, subject, at, state);
        let last = shown.rsplit('.').next().unwrap_or(shown);
        let from_start = matches!(
            last,
            "lstrip" | "strip" | "trim_start_matches" | "trim_matches" | "TrimLeft" | "Trim"
        );
        let given = args.all().into_iter().filter(|vid| *vid != subject);
        let slash = given.filter_map(|vid| self.terms.string(vid));
        if from_start && slash.into_iter().any(|text| text.contains('/')) {
            state.add(vid, bit::NOT_ABSOLUTE, at);
            state.edit(vid).narrow_first(!crate::facts::chars("/"), at);
        }
        vid
    }

    /// A look at the object that a path leads to.
    pub(super) fn apply_stat(
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
        let fd = entry.what == "fd";
        let mut follow = entry.what != "nofollow";
        if let Some(flags) = entry.flags.as_ref().and_then(|slot| self.slot(slot, args)) {
            let name = self.name_of(flags).unwrap_or_default();
            if name.contains("NOFOLLOW") || matches!(self.terms.get(flags), Term::Bool(false)) {
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

    pub(super) fn apply_lock(
        &mut self,
        entry: &Row,
        of: Option<Vid>,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let value = of.unwrap_or_else(|| self.terms.make(Term::Null));
        self.acquire(value, entry.what == "scoped", at, state);
        self.terms.make(Term::Lock { at, of })
    }

    pub(super) fn apply_unlock(&mut self, value: Option<Vid>, state: &mut State) {
        if state.held.len() == 1 {
            state.held.clear();
        } else {
            state.held.retain(|held| Some(held.value) != value);
        }
    }

    /// A key or hash of a text.
    pub(super) fn apply_key(
        &mut self,
        entry: &Row,
        subject: Option<Vid>,
        args: &Args,
        at: Span,
        state: &mut State,
    ) -> Vid {
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

    /// A name without a file behind it.
    pub(super) fn apply_temp_name(&mut self, args: &Args, at: Span, state: &mut State) -> Vid {
        let vid = self.terms.make(Term::Call {
            name: Sym::from("%temp_name"),
            args: Vec::new(),
            at,
        });
        if self.lang().family() == "c"
            && let Some(place) = args.places.iter().rev().flatten().next()
        {
            let place = place.clone();
            self.assign(&place, vid, state, at);
        }
        vid
    }

    /// A temporary file or directory.
    #[expect(
        clippy::too_many_arguments,
        reason = "one call, all that is known of it"
    )]
    pub(super) fn apply_temp(
        &mut self,
        entry: &Row,
        subject: Option<Vid>,
        args: &Args,
        shown: &str,
        at: Span,
        is_guess: bool,
        state: &mut State,
    ) -> Vid {
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

    /// A directory that is opened for anchored operations.
    pub(super) fn apply_handle(
        &mut self,
        entry: &Row,
        subject: Option<Vid>,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let of = subject.unwrap_or_else(|| self.terms.make(Term::Null));
        let ty = entry.returns.clone();
        let vid = self.terms.make(Term::Handle {
            ty: Sym::from(ty.as_str()),
            of,
            at,
        });
        if self.muted == 0 && entry.what == "nofollow" {
            let how = RootCheck::OpenedNoFollow;
            self.events.push(Event::RootSeen { at, value: of, how });
        }
        self.may_throw(state);
        self.terms.typed(vid, &ty)
    }

    /// A value object, or the same thing in another type.
    pub(super) fn apply_wrap(
        &mut self,
        entry: &Row,
        subject: Option<Vid>,
        args: &Args,
        shown: &str,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let list = args.all();
        let vid = match (subject, entry.what.as_str()) {
            (Some(subject), "wrap") => {
                // Path(x) is x with a type; several arguments are joined.
                if list.len() > 1 && matches!(entry.arg, Slot::At(0)) {
                    self.join_paths(list, self.lang().absolute_operand_discards_root(), state)
                } else {
                    self.wrap(subject, &entry.returns)
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
}
