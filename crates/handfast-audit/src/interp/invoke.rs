//! Following a call into a function of the program, and what comes back.

use std::sync::Arc;

use crate::facts::bit;
use crate::interp::call::Args;
use crate::interp::{Interp, MAX_CALLS, Way};
use crate::ir::{Expr, ExprKind, Function, Span, StmtKind};
use crate::kb::Role;
use crate::state::State;
use crate::term::{FnId, Term, Vid};

/// How many calls deep functions are followed that only say something about a value.
const MAX_ASIDE: usize = 3;

impl Interp<'_> {
    /// Follows a call into a function of the program.
    pub(super) fn invoke(
        &mut self,
        id: FnId,
        receiver: Option<Vid>,
        args: &Args,
        env: Option<u32>,
        at: Span,
        state: &mut State,
    ) -> Vid {
        if state.dead {
            return self.terms.unknown();
        }
        let program = self.program;
        let id = program.overload(id, args.list.len());
        let recursive = self.frames.iter().any(|frame| frame.id == id);
        if recursive && self.tails.contains(&at) && self.here() == id {
            state.dead = true;
            return self.terms.unknown();
        }
        let dull = !self.is_worth_following(id, receiver, args, state);
        if dull || recursive || self.frames.len() > MAX_CALLS || self.left == 0 {
            let name = program.function(id).name.to_string();
            return self.unknown_call(&name, args, at, state);
        }
        let quiet = self.quiet_call(id, receiver, args, env);
        if let Some(known) = quiet.as_ref().and_then(|call| self.quiet.get(call)) {
            return *known;
        }
        let entered = (state.epoch, state.heap.clone(), state.ways.clone());
        let is_loose = self.loose == Some(at) && program.function(id).is_async;
        self.called.insert(id);
        let is_blank = |vid: Vid| matches!(self.terms.get(vid), Term::Unknown(_));
        if !args.list.iter().any(|(_, vid)| is_blank(*vid)) {
            self.fed.insert(id);
            let entry = self.entry();
            self.reached_from.entry(id).or_insert(entry);
        }
        let function = program.function(id);
        let caller_env = std::mem::take(&mut state.env);
        let mut inner = state.clone();
        inner.env = env
            .map(|env| self.envs[env as usize].clone())
            .unwrap_or_default();
        if let (Some(name), Some(value)) = (&function.receiver, receiver) {
            inner.env.insert(name.clone(), value);
        }
        self.push_frame(id, at);
        self.bind_call(function, args, &mut inner);
        let mark = self.terms.len();
        self.exec_all(&function.body, &mut inner);
        let Some(frame) = self.frames.pop() else {
            return self.terms.unknown();
        };
        let given_out = frame.yields;
        let is_calm = frame.throws.is_empty() && given_out.is_empty();
        let mut ways = frame.returns;
        if !inner.dead {
            let nothing = self.terms.make(Term::Null);
            inner.failing = None;
            ways.push((nothing, inner));
        }
        for thrown in frame.throws.into_iter().take(8) {
            let mut thrown = thrown;
            thrown.env = caller_env.clone();
            if let Some(outer) = self.frames.last_mut() {
                match outer.tries.last_mut() {
                    Some(caught) => caught.push(thrown),
                    None => outer.throws.push(thrown),
                }
            }
        }
        let is_file_c = program.file(id.0).lang.family() == "c";
        let before = state.facts.clone();
        let result = self.merge_ways(ways, function, args, &caller_env, is_file_c, mark, state);
        if let Some((first, rest)) = given_out.split_first() {
            // A generator: a collection of what it gives out.
            let element = rest
                .iter()
                .fold(*first, |all, one| self.terms.phi(all, *one));
            let coll = self.terms.make(Term::List(Vec::new()));
            return self.terms.make(Term::Mapped { element, coll });
        }
        if is_loose && !state.dead {
            // It has not run yet, and what it throws goes elsewhere.
            state.facts = before;
            return result;
        }
        self.note_unseen(function, args, &before, result, at, state);
        if let Some(call) = quiet.filter(|_| is_calm && !state.dead) {
            let is_same = Arc::ptr_eq(&before, &state.facts)
                && Arc::ptr_eq(&entered.1, &state.heap)
                && Arc::ptr_eq(&entered.2, &state.ways)
                && entered.0 == state.epoch;
            let is_value = !matches!(
                self.terms.get(result),
                Term::Outcome(_) | Term::Object { .. }
            );
            if is_same && is_value {
                self.quiet.insert(call, result);
            }
        }
        if state.dead {
            state.env = caller_env;
        }
        result
    }

    /// A call that reaches no operation, and can be told by what it is given.
    fn quiet_call(
        &self,
        id: FnId,
        receiver: Option<Vid>,
        args: &Args,
        env: Option<u32>,
    ) -> Option<super::QuietCall> {
        let graph = self.graph?;
        let is_plain = env.is_none() && args.list.iter().all(|(name, _)| name.is_none());
        let is_written = self.program.file(id.0).lang.family() == "c";
        if graph.reaches(id) || !is_plain || is_written {
            return None;
        }
        Some((
            id,
            receiver,
            args.list.iter().map(|(_, vid)| *vid).collect(),
        ))
    }

    /// A function that by its name decides about a value, and of which nothing was understood.
    pub(super) fn note_unseen(
        &mut self,
        function: &Function,
        args: &Args,
        before: &std::sync::Arc<crate::known::KnownValues>,
        result: Vid,
        at: Span,
        state: &mut State,
    ) {
        let name = function.name.to_ascii_lowercase();
        let decides = [
            "allow", "permit", "inside", "within", "is_in_", "isin", "forbid",
        ];
        if state.dead || !decides.iter().any(|word| name.contains(word)) {
            return;
        }
        let list: Vec<Vid> = args.list.iter().map(|(_, vid)| *vid).collect();
        for vid in list {
            let real = self.deref(vid, state);
            let own = |known: &crate::known::KnownValues| known.get(real).cloned();
            let told = match self.terms.get(result) {
                // Each way may tell something of its own.
                Term::Outcome(call) => self.ways[*call as usize]
                    .iter()
                    .any(|way| own(&way.facts) != own(before)),
                Term::Pred(_) => true,
                _ => own(&state.facts) != own(before),
            };
            if !told {
                state.add(real, bit::UNSEEN_CHECK, at);
            }
        }
    }

    /// A call that can neither reach a path operation nor say anything about external text needs
    /// no look inside.
    pub(super) fn is_worth_following(
        &mut self,
        id: FnId,
        receiver: Option<Vid>,
        args: &Args,
        state: &State,
    ) -> bool {
        let Some(graph) = self.graph else {
            return true;
        };
        // What it makes is a function: a check that stands before a handler, perhaps.
        let makes_function = matches!(
            self.program.function(id).body.last().map(|last| &last.kind),
            Some(StmtKind::Return(Some(Expr {
                kind: ExprKind::Lambda(_),
                ..
            })))
        );
        if graph.reaches(id) || makes_function {
            return true;
        }
        // A closure is a part of the function that hands it over.
        let aside = self.frames.iter().rev();
        let aside = aside.take_while(|frame| !graph.reaches(frame.id));
        let is_named =
            |frame: &&super::Frame| !self.program.function(frame.id).name.starts_with('<');
        if aside.filter(is_named).count() >= MAX_ASIDE {
            return false;
        }
        args.list.is_empty()
            || receiver
                .into_iter()
                .chain(args.list.iter().map(|(_, vid)| *vid))
                .any(|vid| self.may_carry_text(vid, state, 0))
            || self.gives_text(id, 0)
    }

    /// The function brings in external text itself: `param("name")` that asks the request.
    fn gives_text(&mut self, id: FnId, depth: usize) -> bool {
        if let Some(known) = self.gives.get(&id) {
            return *known;
        }
        self.gives.insert(id, false);
        let program = self.program;
        let family = self.knowledge.family(program.file(id.0).lang);
        let is_source = |row: usize| family.rows[row].role == Role::Source;
        let (mut found, mut reads) = (false, false);
        let mut called: Vec<FnId> = Vec::new();
        crate::calls::each_call(
            &program.function(id).body,
            &mut |callee, _| {
                let Some(dotted) = callee.dotted() else {
                    return;
                };
                let full = program.qualify(id.0, &dotted);
                let last = dotted.rsplit('.').next().unwrap_or(&dotted);
                let mut rows = family.call(&full).iter();
                let mut loose = family.call(&format!("*.{last}")).iter();
                found = found
                    || rows.any(|row| is_source(*row))
                    || dotted.contains('.') && loose.any(|row| is_source(*row));
                called.extend(program.free_function(id.0, &dotted));
            },
            &mut |expr| {
                if let (false, ExprKind::Field(..), Some(dotted)) =
                    (reads, &expr.kind, expr.dotted())
                {
                    let row = family
                        .field(&program.qualify(id.0, &dotted))
                        .or_else(|| family.field(&dotted));
                    reads = row.is_some_and(is_source);
                }
            },
        );
        let found = found
            || reads
            || depth < 2 && called.iter().any(|next| self.gives_text(*next, depth + 1));
        self.gives.insert(id, found);
        found
    }

    pub(super) fn may_carry_text(&self, vid: Vid, state: &State, depth: usize) -> bool {
        if depth > 14 {
            return false;
        }
        match self.terms.get(vid) {
            Term::Source { .. }
            | Term::Param { .. }
            | Term::Undefined(_)
            | Term::Closure { .. } => true,
            Term::Config { .. } | Term::Global { .. } | Term::Handle { .. } | Term::Temp { .. } => {
                true
            }
            Term::Object { .. } => state
                .fields(vid)
                .any(|(_, value)| self.may_carry_text(*value, state, depth + 1)),
            Term::Join { parts, .. }
            | Term::Concat(parts)
            | Term::Phi(parts)
            | Term::List(parts) => parts
                .iter()
                .any(|part| self.may_carry_text(*part, state, depth + 1)),
            Term::Field(of, _)
            | Term::Index(of, _)
            | Term::Norm { of, .. }
            | Term::Part { of, .. }
            | Term::Elem(of)
            | Term::Coll { of, .. }
            | Term::Payload(of)
            | Term::Proj(of, _)
            | Term::Variant(_, of)
            | Term::Stat { of, .. } => self.may_carry_text(*of, state, depth + 1),
            Term::Outcome(_) | Term::Relative { .. } | Term::Fd(_) => true,
            // A path that is written down: perhaps a root.
            Term::Str(text) => text.contains('/'),
            Term::Call { args, .. } => args
                .iter()
                .any(|arg| self.may_carry_text(*arg, state, depth + 1)),
            _ => false,
        }
    }

    #[expect(clippy::too_many_arguments, reason = "everything a call leaves behind")]
    pub(super) fn merge_ways(
        &mut self,
        ways: Vec<(Vid, State)>,
        function: &Function,
        args: &Args,
        caller: &crate::state::Env,
        writes: bool,
        mark: Vid,
        state: &mut State,
    ) -> Vid {
        let mut ends = Vec::new();
        let mut list = Vec::new();
        for (value, mut end) in ways {
            let mut env = caller.clone();
            if writes {
                for (index, param) in function.params.iter().enumerate() {
                    let Some(Some(place)) = args.places.get(index) else {
                        continue;
                    };
                    let (Some(new), Some((_, old))) =
                        (end.env.get(&param.name), args.list.get(index))
                    else {
                        continue;
                    };
                    if new != old
                        && let ExprKind::Name(name) = &place.kind
                    {
                        env.insert(name.clone(), *new);
                    }
                }
            }
            end.env = env;
            list.push(Way {
                value,
                facts: end.facts.clone(),
                epoch: end.epoch,
            });
            ends.push(end);
        }
        let Some(first) = ends.pop() else {
            state.dead = true;
            return self.terms.unknown();
        };
        if list.len() == 1 {
            *state = first;
            return list[0].value;
        }
        // A value returned by a failing way tells nothing about what was written through pointers.
        let all_same = list.iter().all(|way| way.value == list[0].value);
        let mut merged = first;
        for end in ends {
            merged.join(end, &mut self.terms, mark);
        }
        *state = merged;
        if all_same {
            return list[0].value;
        }
        let call = u32::try_from(self.ways.len()).unwrap_or(u32::MAX);
        self.ways.push(list);
        self.terms.make(Term::Outcome(call))
    }

    pub(super) fn bind_call(&mut self, function: &Function, args: &Args, inner: &mut State) {
        let mut position = 0;
        for param in &function.params {
            let value = args.named(&param.name).or_else(|| {
                let value = args.at(position);
                position += 1;
                value
            });
            let vid = match (param.ty.as_deref(), value) {
                // Whatever else is given by name.
                (Some("**"), _) => {
                    let rest = args.list.iter().filter_map(|(name, vid)| {
                        let name = name.clone()?;
                        let is_taken = function.params.iter().any(|param| param.name == name);
                        (!is_taken).then_some((name, *vid))
                    });
                    let rest = rest.collect();
                    self.terms.make(Term::Dict(rest))
                }
                (_, Some(vid)) => vid,
                (_, None) => self.terms.unknown(),
            };
            if let Some(ty) = &param.ty
                && self.terms.ty(vid).is_none()
                && !matches!(
                    self.terms.get(vid),
                    Term::Str(_) | Term::Num(_) | Term::Null | Term::Bool(_)
                )
            {
                let ty = self.type_name(self.here().0, ty);
                if self.is_telling_type(&ty) {
                    self.terms.typed(vid, &ty);
                }
            }
            inner.env.insert(param.name.clone(), vid);
            if let Some(pattern) = &param.pattern {
                self.assign(pattern, vid, inner, function.span);
            }
        }
    }
}
