//! Calls that give something back that they were given, changed or as it was.

use crate::facts::bit;
use crate::interp::Interp;
use crate::interp::call::Args;
use crate::ir::{Span, Sym};
use crate::kb::Row;
use crate::state::State;
use crate::term::{Term, Vid};

impl Interp<'_> {
    pub(super) fn same(
        &mut self,
        entry: &Row,
        subject: Option<Vid>,
        args: &Args,
        shown: &str,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let vid = subject
            .or(args.receiver)
            .unwrap_or_else(|| self.terms.make(Term::Null));
        if entry.what == "throws" {
            return self.question(vid, at, state);
        }
        // The system's error became one of the program's own.
        if entry.what == "mapped" && matches!(self.terms.get(vid), Term::Stat { .. }) {
            self.failure(super::FailedCheck::Mapped, at);
            return self.terms.make(Term::Payload(vid));
        }
        if entry.what == "or" {
            return self.value_or(vid, args.at(0), at, state);
        }
        if entry.what == "coerce" {
            state.add(vid, bit::WEAK_COERCED, at);
        }
        if let Some(made) = self.made_of(entry.what.as_str(), vid, args, at, state) {
            return made;
        }
        match entry.what.as_str() {
            "map" => return self.map_value(args, at, state),
            // The elements of what each element gives.
            "flat_map" => {
                let mapped = self.map_value(args, at, state);
                let Term::Mapped { element, coll } = *self.terms.get(mapped) else {
                    return mapped;
                };
                let inner = self.as_collection(element);
                let element = self.terms.make(Term::Elem(inner));
                return self.terms.make(Term::Mapped { element, coll });
            }
            "elements" => return self.as_collection(vid),
            // The first element, or what is given for none.
            "next" => {
                let coll = self.as_collection(vid);
                let first = match *self.terms.get(coll) {
                    Term::Mapped { element, .. } => element,
                    _ => self.terms.make(Term::Elem(coll)),
                };
                return match args.at(1) {
                    Some(otherwise) => self.terms.phi(first, otherwise),
                    None => first,
                };
            }
            "asserts" => {
                let mut failed = state.clone();
                self.assume(vid, true, state, at);
                self.throw(&mut failed);
                return vid;
            }
            "made" => {
                let none = Args::default();
                let made = self.apply_value(vid, &none, at, state);
                return made.unwrap_or(vid);
            }
            what if what.starts_with("context_") => {
                return self.context(what, vid, args, shown, at, state);
            }
            "filter" => return self.filtered(args, at, state),
            what @ ("then" | "catch") => return self.chained(what, args, at, state),
            "apply" => {
                let result = self.apply_rest(vid, args, at, state);
                return result.unwrap_or_else(|| self.unknown_call(shown, args, at, state));
            }
            what @ ("fold" | "try_fold") => {
                let made = self.folded(what == "try_fold", args, at, state);
                return made.unwrap_or_else(|| self.unknown_call(shown, args, at, state));
            }
            "append" => {
                let changed = self.append(args, at, state);
                return changed.unwrap_or_else(|| self.unknown_call(shown, args, at, state));
            }
            _ => {}
        }
        vid
    }
}

impl Interp<'_> {
    /// Texts that grow, lists, and values that come with a condition.
    fn made_of(
        &mut self,
        what: &str,
        vid: Vid,
        args: &Args,
        at: Span,
        state: &mut State,
    ) -> Option<Vid> {
        match what {
            "appended" => Some(self.appended(args, at, state)),
            // `text.push_str(more)` changes its receiver.
            "grow" => {
                let Some(old) = args.receiver else {
                    return Some(vid);
                };
                let mut parts = vec![old];
                if matches!(
                    self.terms.get(old),
                    Term::Undefined(_) | Term::Unknown(_) | Term::Object { .. }
                ) {
                    parts.clear();
                }
                parts.extend(args.list.iter().map(|(_, vid)| *vid));
                let new = self.concat(parts, state);
                self.replace_everywhere(old, new, state);
                Some(new)
            }
            "grown" => {
                if matches!(self.terms.get(vid), Term::List(_) | Term::Mapped { .. }) {
                    return Some(self.appended(
                        &Args {
                            receiver: None,
                            list: args.all().into_iter().map(|vid| (None, vid)).collect(),
                            places: Vec::new(),
                        },
                        at,
                        state,
                    ));
                }
                Some(self.concat(args.all(), state))
            }
            // Nothing in it yet, or the text that it begins with.
            "empty_text" => {
                let given = args.at(0).filter(|vid| self.terms.number(*vid).is_none());
                Some(given.unwrap_or_else(|| self.terms.make(Term::Str(Sym::from("")))))
            }
            "list" => {
                let mut parts = Vec::new();
                for (_, vid) in &args.list {
                    match self.terms.get(*vid) {
                        Term::List(inner) => parts.extend(inner.iter().copied()),
                        _ => parts.push(*vid),
                    }
                }
                Some(self.terms.make(Term::List(parts)))
            }
            "sibling" => {
                let parent = self.part("parent", vid, at, state);
                let name = args.at(0).unwrap_or(vid);
                Some(self.join_paths(vec![parent, name], false, state))
            }
            "then_some" => {
                let value = args.at(0).unwrap_or(vid);
                let value = match self.terms.get(value) {
                    Term::Closure { .. } => {
                        let mut inside = state.clone();
                        self.assume(vid, true, &mut inside, at);
                        let none = Args::default();
                        self.apply_value(value, &none, at, &mut inside)
                            .unwrap_or(value)
                    }
                    _ => value,
                };
                Some(self.some_if(vid, value, at, state))
            }
            "some_filter" => {
                let Some(Term::Closure { of, env }) =
                    args.at(0).map(|vid| self.terms.get(vid).clone())
                else {
                    return Some(vid);
                };
                if matches!(
                    self.terms.get(vid),
                    Term::Coll { .. } | Term::Mapped { .. } | Term::List(_)
                ) {
                    return Some(self.filtered(args, at, state));
                }
                let given = Args {
                    receiver: None,
                    list: vec![(None, vid)],
                    places: vec![None],
                };
                let mut inside = state.clone();
                let cond = self.invoke(of, None, &given, Some(env), at, &mut inside);
                Some(self.some_if(cond, vid, at, state))
            }
            _ => None,
        }
    }

    /// `option.filter(f).unwrap_or(x)`: the value, with what its own way knows of it, or the other.
    fn value_or(&mut self, vid: Vid, otherwise: Option<Vid>, at: Span, state: &mut State) -> Vid {
        let Term::Outcome(call) = *self.terms.get(vid) else {
            return self.deref(vid, state);
        };
        let left = state.ways.get(&call).cloned();
        let ways: Vec<super::Way> = self.ways[call as usize].clone();
        let mut all: Option<Vid> = None;
        for (index, way) in ways.iter().enumerate() {
            if left.as_ref().is_some_and(|left| !left.contains(&index))
                || self.is_nothing(way.value)
            {
                continue;
            }
            let value = self.payload(way.value);
            let mut there = state.clone();
            there.facts = way.facts.clone();
            let facts = self.facts_of(value, &there);
            let kept = self.terms.make(Term::Part {
                kind: crate::term::PartKind::Text,
                of: value,
                at,
            });
            *state.edit(kept) = facts;
            all = Some(match all {
                Some(all) => self.terms.phi(all, kept),
                None => kept,
            });
        }
        let otherwise = otherwise.filter(|other| !self.is_function(*other));
        match (all, otherwise) {
            (Some(value), Some(other)) => self.terms.phi(value, other),
            (Some(value), None) | (None, Some(value)) => value,
            (None, None) => self.deref(vid, state),
        }
    }

    /// Go: values that one handler puts into a request's context for the next.
    fn context(
        &mut self,
        what: &str,
        vid: Vid,
        args: &Args,
        shown: &str,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let held = Sym::from("%context");
        match (what, args.at(0), args.at(1), args.at(2)) {
            ("context_with", Some(outer), Some(key), Some(value)) => {
                let name = held;
                let args = vec![outer, key, value];
                self.terms.make(Term::Call { name, args, at })
            }
            ("context_set", Some(context), ..) => {
                state.set_field(vid, held, context);
                vid
            }
            ("context_get", ..) => state.get_field(vid, &held).unwrap_or_else(|| {
                let label = Sym::from("context");
                let at = Span::default();
                self.terms.make(Term::Config { label, at })
            }),
            ("context_value", Some(key), ..) => {
                let found = self.context_value(vid, key);
                found.unwrap_or_else(|| self.unknown_call(shown, args, at, state))
            }
            _ => self.unknown_call(shown, args, at, state),
        }
    }

    /// The value that was put in under a key, or under another one of the same type.
    fn context_value(&self, context: Vid, key: Vid) -> Option<Vid> {
        let mut context = context;
        for _ in 0..8 {
            let Term::Call { name, args, .. } = self.terms.get(context) else {
                return None;
            };
            let (true, [outer, known, value]) = (&**name == "%context", args.as_slice()) else {
                return None;
            };
            let is_same = *known == key
                || match (self.terms.get(*known), self.terms.get(key)) {
                    (Term::Object { class: one, .. }, Term::Object { class: two, .. }) => {
                        one == two
                    }
                    _ => false,
                };
            if is_same {
                return Some(*value);
            }
            context = *outer;
        }
        None
    }
}
