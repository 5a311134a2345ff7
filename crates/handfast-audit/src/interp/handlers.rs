//! What stands before and around a handler: middleware, decorators, events.

use crate::interp::Interp;
use crate::interp::call::Args;
use crate::ir::{Function, Span, Sym};
use crate::kb::Row;
use crate::state::{Env, State};
use crate::term::{FnId, SourceKind, Term, Vid};

/// Events that carry no text.
const SILENT: [&str; 12] = [
    "error",
    "close",
    "exit",
    "end",
    "finish",
    "listening",
    "connect",
    "drain",
    "open",
    "timeout",
    "SIGINT",
    "SIGTERM",
];

impl Interp<'_> {
    /// Functions that are given to a router or an emitter.
    pub(super) fn register(&mut self, entry: &Row, shown: &str, list: &[Vid]) {
        let mut functions = Vec::new();
        for vid in list {
            if let Term::Closure { of, env } = *self.terms.get(*vid) {
                functions.push((of, env));
            }
        }
        if self.lang().family() == "javascript" {
            for vid in list {
                self.register_record(*vid, list);
            }
            if let Some((last, _)) = functions.last() {
                self.note_schemas(*last, list);
            }
        }
        if entry.what == "event" {
            let is_silent = list
                .iter()
                .filter_map(|vid| self.terms.string(*vid))
                .any(|name| SILENT.contains(&name));
            if !is_silent {
                self.listeners.extend(functions.iter().map(|(of, _)| *of));
            }
            return;
        }
        self.handlers.extend(functions.iter().map(|(of, _)| *of));
        if let Some(((last, _), earlier)) = functions.split_last() {
            // What stands before all handlers of the file that come after it, and before this one.
            let mut before: Vec<(FnId, u32)> = self.always.clone();
            before.extend(earlier);
            before.retain(|(id, _)| id != last && id.0 == last.0);
            if !before.is_empty() {
                self.before.insert(*last, before);
            }
        }
        let goes_on = |(of, _): &&(FnId, u32)| {
            let params = &self.program.function(*of).params;
            let next = params.get(1).or(params.get(2));
            params.len() <= 3 && next.is_some_and(|param| &*param.name == "next")
                || params.get(2).is_some_and(|param| &*param.name == "next")
        };
        let is_before_all = shown.ends_with(".use") || shown.ends_with(".param");
        if is_before_all && self.always.len() < 4 {
            let all: Vec<(FnId, u32)> = functions.iter().filter(goes_on).copied().collect();
            self.always.extend(all);
        }
    }

    /// `{ "/files/:name": (request, response, found) => … }`: a table of routes.
    pub(super) fn note_route(&mut self, key: &str, value: Vid) {
        let Term::Closure { of, env } = *self.terms.get(value) else {
            return;
        };
        let path = key.split_once(' ').map_or(key, |(_, path)| path);
        let takes = self.program.function(of).params.len();
        if self.lang().family() == "javascript" && path.starts_with('/') && takes >= 2 {
            self.handlers.insert(of);
            if self.muted == 0 {
                self.pending.push((of, env));
            }
        }
    }

    /// `route({ path, options, handler })`: the handler is a part of the record.
    fn register_record(&mut self, vid: Vid, list: &[Vid]) {
        let Term::Dict(pairs) = self.terms.get(vid).clone() else {
            return;
        };
        let handler = pairs.iter().find(|(key, _)| &**key == "handler");
        if let Some((_, value)) = handler
            && let Term::Closure { of, .. } = *self.terms.get(*value)
        {
            self.handlers.insert(of);
            self.note_schemas(of, list);
        }
    }

    /// Runs what a route puts before a handler; the handler begins where that went on. Gives the
    /// request and the response that they share.
    pub(super) fn run_before(&mut self, handler: FnId, state: &mut State) -> Vec<Vid> {
        let Some(before) = self.before.get(&handler).cloned() else {
            return Vec::new();
        };
        let mut given: Vec<Vid> = Vec::new();
        for (id, env) in before {
            let function = self.program.function(id);
            // Without a parameter for it there is no way on that could be seen.
            let Some(next) = function.params.get(2).or(function.params.get(1)) else {
                continue;
            };
            let mut inner = state.clone();
            inner.env = self.envs[env as usize].clone();
            self.called.insert(id);
            self.fed.insert(id);
            self.push_frame(id, Span::default());
            self.bind_entry_params(id, function, false, &mut inner);
            let shared = function.params.len().saturating_sub(1).min(2);
            for (index, param) in function.params.iter().take(shared).enumerate() {
                match given.get(index) {
                    Some(vid) => {
                        inner.env.insert(param.name.clone(), *vid);
                    }
                    None => given.extend(inner.env.get(&param.name)),
                }
            }
            let mark = self.terms.make(Term::Call {
                name: Sym::from("%next"),
                args: Vec::new(),
                at: Span::default(),
            });
            inner.env.insert(next.name.clone(), mark);
            self.passed.push(Vec::new());
            self.exec_all(&function.body, &mut inner);
            self.frames.pop();
            let mut ends = self.passed.pop().unwrap_or_default();
            let mark = self.terms.len();
            let Some(mut joined) = ends.pop() else {
                continue;
            };
            for end in ends {
                joined.join(end, &mut self.terms, mark);
            }
            state.facts = joined.facts;
            state.heap = joined.heap;
            state.ways = joined.ways;
        }
        given
    }

    /// `next()`: the next function runs in this state. An error handed over ends it here.
    pub(super) fn goes_on(&mut self, function: Vid, has_error: bool, state: &State) -> bool {
        let is_next =
            matches!(self.terms.get(function), Term::Call { name, .. } if &**name == "%next");
        if is_next
            && !has_error
            && let Some(states) = self.passed.last_mut()
        {
            states.push(state.clone());
        }
        is_next
    }

    /// What a closure did to the names around it is seen by the closures beside it.
    pub(super) fn share_captured(&mut self, captured: &Env, state: &State) {
        if state.dead {
            return;
        }
        let mut changed: Vec<(Sym, Vid, Vid)> = Vec::new();
        for (name, old) in captured.iter() {
            if let Some(new) = state.env.get(name)
                && new != old
            {
                changed.push((name.clone(), *old, *new));
            }
        }
        if changed.is_empty() {
            return;
        }
        let envs: Vec<u32> = self.pending.iter().map(|(_, env)| *env).collect();
        for env in envs {
            for (name, old, new) in &changed {
                let known = self.envs[env as usize].get(name).copied();
                if known == Some(*old) {
                    let either = self.terms.phi(*old, *new);
                    self.envs[env as usize].insert(name.clone(), either);
                }
            }
        }
    }

    /// A decorator of the program stands around it: it may check, and it may not.
    pub(super) fn is_wrapped(&self, id: FnId, function: &Function) -> bool {
        function.decorators.iter().any(|decorator| {
            let name = match &decorator.kind {
                crate::ir::ExprKind::Call { callee, .. } => callee.dotted(),
                _ => decorator.dotted(),
            };
            name.is_some_and(|name| self.program.free_function(id.0, &name).is_some())
        })
    }

    /// Python: runs what the decorators of the program make of a function, with the values that the
    /// function was entered with. False: it is not known what they make of it.
    pub(super) fn run_decorated(
        &mut self,
        id: FnId,
        function: &Function,
        state: &mut State,
    ) -> bool {
        if self.lang() != crate::lang::Lang::Python || function.receiver.is_some() {
            return false;
        }
        let list = function.params.iter().map(|param| {
            let value = state.env.get(&param.name).copied();
            (Some(param.name.clone()), value)
        });
        let list: Option<Vec<(Option<Sym>, Vid)>> =
            list.map(|(name, value)| Some((name, value?))).collect();
        let Some(list) = list else { return false };
        let env = u32::try_from(self.envs.len()).unwrap_or(u32::MAX);
        self.envs.push(Env::default());
        self.taken.push(State::default());
        let own = self.terms.make(Term::Closure { of: id, env });
        let top = u32::try_from(self.program.file(id.0).module.top).unwrap_or(0);
        let entered = self.frames.pop();
        self.push_frame((id.0, top), Span::default());
        let mut made = own;
        for decorator in function.decorators.iter().rev() {
            let name = decorator.dotted();
            let Some(wrap) = name.and_then(|name| self.program.free_function(id.0, &name)) else {
                continue;
            };
            let args = Args {
                receiver: None,
                list: vec![(None, made)],
                places: vec![None],
            };
            made = self.invoke(wrap, None, &args, None, decorator.span, state);
        }
        let made = self.deref(made, state);
        let is_known = made != own && matches!(self.terms.get(made), Term::Closure { .. });
        if is_known {
            let args = Args {
                receiver: None,
                places: vec![None; list.len()],
                list,
            };
            for (_, vid) in &args.list {
                self.met.entry(*vid).or_insert(function.span);
            }
            self.apply_value(made, &args, function.span, state);
        }
        self.frames.pop();
        if !is_known {
            self.frames.extend(entered);
        }
        is_known
    }

    /// What a message brings, as far as anybody can say.
    pub(super) fn heard(&mut self, id: FnId, function: &Function, state: &mut State) {
        if !self.listeners.contains(&id) {
            return;
        }
        for param in &function.params {
            let term = Term::Source {
                label: param.name.clone(),
                kind: SourceKind::Guessed,
                at: function.span,
            };
            let vid = self.terms.make(term);
            state.env.insert(param.name.clone(), vid);
            if let Some(pattern) = &param.pattern {
                self.assign(pattern, vid, state, function.span);
            }
        }
    }
}
