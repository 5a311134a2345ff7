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
            self.failure(super::Failure::Mapped, at);
            return self.terms.make(Term::Payload(vid));
        }
        if entry.what == "coerce" {
            state.add(vid, bit::WEAK_COERCED, at);
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
            "appended" => return self.appended(args, at, state),
            // `text.push_str(more)` changes its receiver.
            "grow" => {
                let Some(old) = args.receiver else {
                    return vid;
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
                return new;
            }
            "grown" => {
                if matches!(self.terms.get(vid), Term::List(_) | Term::Mapped { .. }) {
                    return self.appended(
                        &Args {
                            receiver: None,
                            list: args.all().into_iter().map(|vid| (None, vid)).collect(),
                            places: Vec::new(),
                        },
                        at,
                        state,
                    );
                }
                return self.concat(args.all(), state);
            }
            "empty_text" => return self.terms.make(Term::Str(Sym::from(""))),
            "list" => {
                let mut parts = Vec::new();
                for (_, vid) in &args.list {
                    match self.terms.get(*vid) {
                        Term::List(inner) => parts.extend(inner.iter().copied()),
                        _ => parts.push(*vid),
                    }
                }
                return self.terms.make(Term::List(parts));
            }
            "sibling" => {
                let parent = self.part("parent", vid, at, state);
                let name = args.at(0).unwrap_or(vid);
                return self.join_paths(vec![parent, name], false, state);
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
                return self.some_if(vid, value, at, state);
            }
            "some_filter" => {
                let Some(Term::Closure { of, env }) =
                    args.at(0).map(|vid| self.terms.get(vid).clone())
                else {
                    return vid;
                };
                if matches!(
                    self.terms.get(vid),
                    Term::Coll { .. } | Term::Mapped { .. } | Term::List(_)
                ) {
                    return self.filtered(args, at, state);
                }
                let given = Args {
                    receiver: None,
                    list: vec![(None, vid)],
                    places: vec![None],
                };
                let mut inside = state.clone();
                let cond = self.invoke(of, None, &given, Some(env), at, &mut inside);
                return self.some_if(cond, vid, at, state);
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
