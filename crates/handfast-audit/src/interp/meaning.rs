//! What a known call does, by the role of its row.

use crate::interp::Interp;
use crate::interp::call::Args;
use crate::ir::{Span, Sym};
use crate::kb::{Role, Row, Slot};
use crate::state::State;
use crate::term::{Term, Vid};

impl Interp<'_> {
    /// The argument a row speaks of.
    pub(super) fn slot(&self, slot: &Slot, args: &Args) -> Option<Vid> {
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

    pub(super) fn option(&self, name: &str, args: &Args) -> Option<Vid> {
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
        // Whether it is an error is asked of all ways out at once.
        let is_whole = entry.what.starts_with("is_")
            || entry.what == "holds_and"
            || matches!(&*entry.what, "throws" | "mapped" | "or");
        let subject = match subject {
            Some(vid) if !is_whole => Some(self.deref(vid, state)),
            other => other,
        };
        let vid = match entry.role {
            Role::Source => match self.source(entry, args, subject, shown, at, state) {
                Some(vid) => vid,
                None => return self.unknown_call(shown, args, at, state),
            },
            Role::Config => self.apply_config(entry, subject, shown, at),
            Role::Sink => self.apply_sink(entry, args, subject, shown, at, is_guess, state),
            Role::Join => self.apply_join(entry, args, at, state),
            Role::Norm => self.normalise(entry, subject, args, at, state),
            Role::Part | Role::Coll => match subject {
                Some(subject) => self.apply_part(entry, subject, args, shown, at, state),
                None => self.terms.unknown(),
            },
            Role::Test => self.test(entry, subject, args, at, state),
            Role::Check => self.check(entry, subject, args, at, state),
            Role::Stat => self.apply_stat(entry, subject, args, at, state),
            Role::Fd => match subject {
                Some(fd) if entry.returns == "self" => fd,
                _ => self.terms.unknown(),
            },
            Role::Lock => self.apply_lock(entry, args.receiver.or(subject), at, state),
            Role::Unlock => {
                self.apply_unlock(args.receiver.or(subject), state);
                self.terms.make(Term::Null)
            }
            Role::Key => self.apply_key(entry, subject, args, at, state),
            Role::Temp if entry.what == "name" => self.apply_temp_name(args, at, state),
            Role::Temp => self.apply_temp(entry, subject, args, shown, at, is_guess, state),
            Role::Random => self.terms.make(Term::Random(at)),
            Role::Clock => self.terms.make(Term::Clock(at)),
            Role::Spawn => self.spawn(entry, args, shown, at, state),
            Role::Handle => self.apply_handle(entry, subject, at, state),
            Role::Value => self.apply_wrap(entry, subject, args, shown, at, state),
            Role::Same => self.same(entry, subject, args, shown, at, state),
            Role::Builder => self.builder(entry, args, shown),
            Role::Exit => {
                self.throw(state);
                self.terms.make(Term::Null)
            }
            Role::Route => {
                let list = args.all();
                self.register(entry, shown, &list);
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
        self.call_back(shown, args, vid, at, state);
        if !entry.returns.is_empty() && entry.returns != "self" && self.terms.ty(vid).is_none() {
            let returns = entry.returns.clone();
            self.terms.typed(vid, &returns);
        }
        vid
    }

    /// A name that held a builder or a path holds the changed one.
    pub(super) fn replace_everywhere(&mut self, old: Vid, new: Vid, state: &mut State) {
        for value in state.env.values_mut() {
            if *value == old {
                *value = new;
            }
        }
    }
}
