//! Statements: every way through and out of them.

use crate::facts::{FOREIGN, bit, chars};
use crate::interp::{Event, Failure, Interp, Loop};
use crate::ir::{Expr, ExprKind, Handler, Span, Stmt, StmtKind};
use crate::state::State;
use crate::term::{CollKind, Term, Vid};

impl Interp<'_> {
    pub(super) fn exec_all(&mut self, statements: &[Stmt], state: &mut State) {
        for statement in statements {
            if state.dead {
                return;
            }
            self.exec(statement, state);
        }
    }

    fn exec(&mut self, statement: &Stmt, state: &mut State) {
        let at = statement.span;
        match &statement.kind {
            StmtKind::Expr(expr) => {
                self.eval(expr, state);
            }
            StmtKind::Assign { target, value, .. } => {
                let vid = self.eval(value, state);
                if !state.dead {
                    self.settle_by_value(target, vid, state, at);
                    self.assign(target, vid, state, at);
                }
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => self.exec_if(cond, then, otherwise, state),
            StmtKind::While {
                cond,
                step,
                body,
                body_first,
            } => {
                self.exec_while(cond.as_ref(), step, body, *body_first, state);
            }
            StmtKind::ForEach {
                target,
                iter,
                body,
                is_pair,
            } => {
                self.exec_for(target, iter, body, *is_pair, state);
            }
            StmtKind::Return(value) => {
                let vid = match value {
                    Some(value) => self.eval(value, state),
                    None => self.terms.make(Term::Null),
                };
                if !state.dead {
                    self.do_return(vid, at, state);
                }
            }
            StmtKind::Throw(value) => {
                let raw = match value {
                    Some(value) => {
                        let vid = self.eval(value, state);
                        self.is_raw_error(vid, state)
                    }
                    None => state.failing.is_some(),
                };
                if state.failing.is_some() && !state.missing {
                    let how = if raw { Failure::Raw } else { Failure::Mapped };
                    self.failure(how, at);
                }
                state.failing = None;
                self.throw(state);
            }
            StmtKind::Break | StmtKind::Continue => {
                self.settle_failure(state, at);
                let copy = std::mem::take(state);
                state.dead = true;
                if let Some(looped) = self
                    .frames
                    .last_mut()
                    .and_then(|frame| frame.loops.last_mut())
                {
                    match statement.kind {
                        StmtKind::Break => looped.breaks.push(copy),
                        _ => looped.continues.push(copy),
                    }
                }
            }
            StmtKind::Try {
                body,
                handlers,
                finally,
            } => {
                self.exec_try(body, handlers, finally, state);
            }
            StmtKind::With { items, body } => self.exec_with(items, body, state),
            StmtKind::Defer(body) => self.exec_defer(body, state),
            StmtKind::Bind { name, function } => {
                let vid = self.closure(*function, state);
                state.env.insert(name.clone(), vid);
            }
            StmtKind::Block(body) => self.exec_all(body, state),
        }
    }

    pub(super) fn failure(&mut self, how: Failure, at: Span) {
        if self.muted == 0 {
            self.events.push(Event::Failure { at, how });
        }
    }

    /// A failed question that execution simply goes on after.
    fn settle_failure(&mut self, state: &mut State, at: Span) {
        if state.failing.take().is_some() {
            let how = if state.missing {
                Failure::MissingAccepted
            } else {
                Failure::Swallowed
            };
            self.failure(how, at);
        }
        state.missing = false;
    }

    /// The value of a branch that follows a failed question, as in `Err(_) => Err(Invalid)`.
    fn settle_by_value(&mut self, target: &Expr, vid: Vid, state: &mut State, at: Span) {
        let is_result = matches!(&target.kind, ExprKind::Name(name) if name.starts_with('%'));
        let is_subject = matches!(self.terms.get(vid), Term::Stat { .. });
        if state.failing.is_none() || !is_result || is_subject {
            return;
        }
        let how = if self.is_raw_error(vid, state) {
            Failure::Raw
        } else if state.missing {
            Failure::MissingAccepted
        } else if self.is_error_value(vid) {
            Failure::Mapped
        } else {
            Failure::Swallowed
        };
        self.failure(how, at);
        state.failing = None;
        state.missing = false;
    }

    fn do_return(&mut self, vid: Vid, at: Span, state: &mut State) {
        if state.failing.is_some() && !state.missing {
            let how = if self.is_raw_error(vid, state) {
                Failure::Raw
            } else if matches!(self.terms.get(vid), Term::Null) || self.is_success_value(vid) {
                // Going on as if nothing were there.
                Failure::Swallowed
            } else {
                Failure::Mapped
            };
            self.failure(how, at);
        } else if state.failing.is_some() {
            self.failure(Failure::MissingAccepted, at);
        }
        state.failing = None;
        state.missing = false;
        if self.is_error_value(vid) {
            self.leak(state);
        }
        let mut copy = std::mem::take(state);
        state.dead = true;
        copy.failing = None;
        if let Some(frame) = self.frames.last_mut()
            && frame.returns.len() < 12
        {
            frame.returns.push((vid, copy));
        }
    }

    /// Leaves by an error: to the next handler, or out of the function.
    pub(super) fn throw(&mut self, state: &mut State) {
        let copy = state.clone();
        *state = State {
            dead: true,
            ..State::default()
        };
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        if let Some(caught) = frame.tries.last_mut() {
            caught.push(copy);
            return;
        }
        frame.throws.push(copy.clone());
        self.leak(&copy);
    }

    /// A lock that is held when a function is left by an error, and that nothing releases.
    fn leak(&mut self, state: &State) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        if frame.releases > 0 || self.muted > 0 {
            return;
        }
        let file = frame.id;
        let held: Vec<Span> = state
            .held
            .iter()
            .filter(|held| !held.scoped && held.at.file == file.0)
            .map(|held| held.at)
            .collect();
        for lock in held {
            self.events.push(Event::Leaked { lock });
        }
    }

    /// Whether an error that is thrown here is caught in one of the functions being run.
    pub(super) fn is_caught(&self) -> bool {
        self.frames.iter().any(|frame| !frame.tries.is_empty())
    }

    /// A call that may fail leaves a copy of the state for the handlers around it, in this function
    /// or in one that called it.
    pub(super) fn may_throw(&mut self, state: &State) {
        if !self.is_caught() {
            return;
        }
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        let out = frame.tries.last_mut().unwrap_or(&mut frame.throws);
        if out.len() < 16 {
            out.push(state.clone());
        }
    }

    fn exec_if(&mut self, cond: &Expr, then: &[Stmt], otherwise: &[Stmt], state: &mut State) {
        let vid = self.eval(cond, state);
        if state.dead {
            return;
        }
        let mark = self.terms.len();
        let failing_before = state.failing;
        let mut other = state.clone();
        self.assume(vid, true, state, cond.span);
        self.assume(vid, false, &mut other, cond.span);
        self.exec_all(then, state);
        self.exec_all(otherwise, &mut other);
        if failing_before.is_none() {
            for way in [&mut *state, &mut other] {
                if !way.dead && way.failing.is_some() {
                    self.settle_failure(way, cond.span);
                }
            }
        }
        state.join(other, &mut self.terms, mark);
    }

    fn exec_while(
        &mut self,
        cond: Option<&Expr>,
        step: &[Stmt],
        body: &[Stmt],
        body_first: bool,
        state: &mut State,
    ) {
        let mut exits: Vec<State> = Vec::new();
        let mark = self.terms.len();
        let mut over: Option<Vid> = None;
        let before = state.clone();
        let mut ends = State {
            dead: true,
            ..State::default()
        };
        for round in 0..2 {
            if round == 0 {
                self.muted += 1;
            }
            let mut now = state.clone();
            if let Some(cond) = cond.filter(|_| !body_first || round > 0) {
                let vid = self.eval(cond, &mut now);
                over = over.or_else(|| self.walked_over(vid));
                let mut out = now.clone();
                self.assume(vid, false, &mut out, cond.span);
                self.assume(vid, true, &mut now, cond.span);
                if round == 1 {
                    exits.push(out);
                }
            }
            self.push_loop();
            self.exec_all(body, &mut now);
            let looped = self.pop_loop();
            for copy in looped.continues {
                now.join(copy, &mut self.terms, mark);
            }
            ends = now.clone();
            self.exec_all(step, &mut now);
            if round == 0 {
                self.muted -= 1;
                let dead = state.dead;
                let mut head = now;
                head.join(state.clone(), &mut self.terms, mark);
                *state = head;
                state.dead = dead;
            } else {
                exits.extend(looped.breaks);
            }
        }
        // A loop over characters or segments by pointer or index is one over the collection.
        if cond.is_none() {
            let mut result = exits.pop().unwrap_or(State {
                dead: true,
                ..State::default()
            });
            for exit in exits {
                result.join(exit, &mut self.terms, mark);
            }
            *state = result;
        } else {
            let mut result = State {
                dead: true,
                ..State::default()
            };
            for exit in exits {
                result.join(exit, &mut self.terms, mark);
            }
            *state = result;
        }
        self.lift_walk(&before, &ends, state);
        if let Some(coll) = over {
            self.lift(coll, &ends, state);
        }
    }

    /// `*p` as a condition, where `p` runs over a string.
    fn walked_over(&self, vid: Vid) -> Option<Vid> {
        match self.terms.get(vid) {
            Term::Elem(coll) => Some(*coll),
            Term::Pred(crate::term::Pred::Compare(_, a, b)) => {
                self.walked_over(*a).or_else(|| self.walked_over(*b))
            }
            _ => None,
        }
    }

    fn push_loop(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.loops.push(Loop::default());
        }
    }

    fn pop_loop(&mut self) -> Loop {
        self.frames
            .last_mut()
            .and_then(|frame| frame.loops.pop())
            .unwrap_or_default()
    }

    fn exec_for(
        &mut self,
        target: &Expr,
        iter: &Expr,
        body: &[Stmt],
        is_pair: bool,
        state: &mut State,
    ) {
        let coll = self.eval(iter, state);
        if state.dead {
            return;
        }
        let coll = self.as_collection(coll);
        let elem = self.terms.make(Term::Elem(coll));
        let mark = self.terms.len();
        let before = state.clone();
        let mut breaks = Vec::new();
        let mut ends = State {
            dead: true,
            ..State::default()
        };
        for round in 0..2 {
            if round == 0 {
                self.muted += 1;
            }
            let mut now = state.clone();
            // What an earlier turn proved of its element says nothing of this one.
            std::sync::Arc::make_mut(&mut now.facts).remove(&elem);
            match (&target.kind, is_pair) {
                (ExprKind::List(parts), true) if parts.len() == 2 => {
                    let index = self.terms.unknown();
                    self.assign(&parts[0], index, &mut now, iter.span);
                    self.assign(&parts[1], elem, &mut now, iter.span);
                }
                (ExprKind::Opaque(_), _) => {}
                _ => self.assign(target, elem, &mut now, iter.span),
            }
            self.push_loop();
            self.exec_all(body, &mut now);
            let looped = self.pop_loop();
            for copy in looped.continues {
                now.join(copy, &mut self.terms, mark);
            }
            ends = now.clone();
            if round == 0 {
                self.muted -= 1;
                let mut head = now;
                head.join(state.clone(), &mut self.terms, mark);
                let dead = state.dead;
                *state = head;
                state.dead = dead;
            } else {
                breaks = looped.breaks;
                now.join(state.clone(), &mut self.terms, mark);
                *state = now;
            }
        }
        self.lift(coll, &ends, state);
        self.lift_walk(&before, &ends, state);
        for copy in breaks {
            let mut copy = copy;
            self.lift_walk(&before, &copy.clone(), &mut copy);
            // Facts of a walk survive leaving it early: what is not there needs no look.
            let walked = self.walk_facts(state, &copy);
            state.join(copy, &mut self.terms, mark);
            for (vid, bits, at) in walked {
                state.add(vid, bits, at);
            }
        }
    }

    fn walk_facts(&self, one: &State, two: &State) -> Vec<(Vid, u64, Span)> {
        const WALK: u64 = bit::WALKED | bit::WALK_NOT_LINK | bit::WALK_IS_DIR | bit::FRESH_WALK;
        let mut out = Vec::new();
        for (vid, facts) in one.facts.iter() {
            let both = facts.bits & two.own(*vid).map_or(0, |other| other.bits) & WALK;
            if both != 0 {
                out.push((*vid, both, facts.at(both).unwrap_or_default()));
            }
        }
        out
    }

    /// What holds at the end of every turn of a loop over a collection holds of all its elements.
    fn lift(&mut self, coll: Vid, ends: &State, state: &mut State) {
        if ends.dead || state.dead {
            return;
        }
        let Term::Coll { kind, of, .. } = *self.terms.get(coll) else {
            return;
        };
        let elem = self.terms.make(Term::Elem(coll));
        let Some(facts) = ends.own(elem).cloned() else {
            return;
        };
        let at = facts.anchors.last().map(|(_, at)| *at).unwrap_or_default();
        self.lift_facts(kind, of, &facts, at, state);
    }

    pub(super) fn lift_facts(
        &mut self,
        kind: CollKind,
        of: Vid,
        facts: &crate::facts::Facts,
        at: Span,
        state: &mut State,
    ) {
        match kind {
            CollKind::Chars => {
                let at = facts.at(crate::facts::AT_CHARS).unwrap_or(at);
                state.edit(of).narrow_chars(facts.chars, at);
            }
            CollKind::Split | CollKind::Components => {
                if facts.has(bit::NOT_DOTDOT)
                    || facts.chars & chars(".") == 0
                    || facts.has_no_dots()
                {
                    let at = facts
                        .at(bit::NOT_DOTDOT | crate::facts::AT_CHARS)
                        .unwrap_or(at);
                    state.add(of, bit::SEGS_CLEAN, at);
                }
                let seps = if kind == CollKind::Components {
                    0
                } else {
                    chars("/")
                };
                if facts.chars & (FOREIGN | chars("\\")) & !seps == 0 {
                    let at = facts.at(crate::facts::AT_CHARS).unwrap_or(at);
                    state.add(of, bit::SEGS_ALLOWED, at);
                    state.edit(of).narrow_chars(facts.chars | chars("/"), at);
                }
                if facts.max_len <= 255 {
                    let at = facts.at(crate::facts::AT_LEN).unwrap_or(at);
                    if facts.is_bounded() {
                        state.add(of, bit::SEGS_BOUNDED, at);
                    }
                }
                if facts.first & chars("-+") == 0 {
                    let at = facts.at(crate::facts::AT_FIRST).unwrap_or(at);
                    state.add(of, bit::SEGS_NO_DASH, at);
                }
                if facts.has(bit::NONEMPTY) {
                    state.add(of, bit::NONEMPTY | bit::NOT_ABSOLUTE, at);
                }
                if facts.has(bit::NFC) {
                    state.add(of, bit::NFC, at);
                }
                if facts.has(bit::UNSEEN_CHECK) {
                    state.add(of, bit::UNSEEN_CHECK, at);
                }
            }
            CollKind::Parents => {
                if facts.has(bit::NOT_LINK) {
                    state.add(of, bit::WALKED | bit::WALK_NOT_LINK | bit::FRESH_WALK, at);
                }
                if facts.has(bit::IS_DIR) {
                    state.add(of, bit::WALK_IS_DIR, at);
                }
            }
            CollKind::Other => {}
        }
    }

    /// Facts of a walk that every turn ends with hold after the loop, also after no turn at all.
    fn lift_walk(&mut self, before: &State, ends: &State, state: &mut State) {
        const WALK: u64 = bit::WALKED | bit::WALK_NOT_LINK | bit::WALK_IS_DIR | bit::FRESH_WALK;
        if ends.dead || state.dead {
            return;
        }
        let mut found = Vec::new();
        for (vid, facts) in ends.facts.iter() {
            let new = facts.bits & WALK & !before.own(*vid).map_or(0, |facts| facts.bits);
            if new != 0 {
                found.push((*vid, new, facts.at(new).unwrap_or_default()));
            }
        }
        for (vid, bits, at) in found {
            state.add(vid, bits, at);
        }
    }

    fn exec_try(
        &mut self,
        body: &[Stmt],
        handlers: &[Handler],
        finally: &[Stmt],
        state: &mut State,
    ) {
        let releases = self.releases_in(finally);
        if releases {
            for held in &mut state.held {
                held.scoped = true;
            }
        }
        let mark = self.terms.len();
        let before = state.clone();
        if let Some(frame) = self.frames.last_mut() {
            frame.releases += usize::from(releases);
            if !handlers.is_empty() {
                frame.tries.push(Vec::new());
            }
        }
        self.exec_all(body, state);
        let thrown = match self.frames.last_mut() {
            Some(frame) if !handlers.is_empty() => frame.tries.pop().unwrap_or_default(),
            _ => Vec::new(),
        };
        if releases {
            for held in &mut state.held {
                held.scoped = true;
            }
        }
        if !handlers.is_empty() {
            self.run_handlers(handlers, thrown, &before, mark, state);
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.releases -= usize::from(releases);
        }
        if !state.dead {
            self.exec_all(finally, state);
        } else if !finally.is_empty() {
            // It runs on the other ways too; what it does to files is seen once.
            let mut copy = before;
            self.exec_all(finally, &mut copy);
        }
    }

    fn run_handlers(
        &mut self,
        handlers: &[Handler],
        thrown: Vec<State>,
        before: &State,
        mark: Vid,
        state: &mut State,
    ) {
        let mut caught = State {
            dead: true,
            ..State::default()
        };
        let failing = thrown.iter().rev().find_map(|copy| copy.failing);
        let vacuous: Vec<_> = thrown
            .iter()
            .filter(|copy| copy.failing.is_some())
            .cloned()
            .collect();
        let source = if vacuous.is_empty() { thrown } else { vacuous };
        for copy in source {
            caught.join(copy, &mut self.terms, mark);
        }
        if caught.dead {
            caught = before.clone();
        }
        let mut result = std::mem::take(state);
        let mut seen_missing = false;
        for handler in handlers {
            let mut inner = caught.clone();
            inner.failing = failing;
            let is_missing = handler.types.iter().any(|ty| is_missing_type(ty));
            inner.missing = is_missing;
            seen_missing |= is_missing;
            let exists = handler.types.iter().any(|ty| ty.contains("FileExists"));
            if exists || handler.types.iter().any(|ty| ty.contains("KeyError")) {
                inner.failing = None;
            }
            if let Some(name) = &handler.name {
                let error = match failing {
                    Some(stat) => self.terms.make(Term::Proj(stat, 1)),
                    None => self.terms.unknown(),
                };
                inner.env.insert(name.clone(), error);
            }
            self.exec_all(&handler.body, &mut inner);
            if !inner.dead {
                self.settle_failure(&mut inner, handler.span);
                result.join(inner, &mut self.terms, mark);
            }
        }
        let specific = handlers.iter().all(|handler| {
            !handler.types.is_empty() && handler.types.iter().all(|ty| is_missing_type(ty))
        });
        // Only "not there" is caught: every other failure goes out as it is.
        if failing.is_some() && specific && seen_missing {
            self.failure(Failure::Raw, handlers[0].span);
        }
        *state = result;
    }

    fn releases_in(&self, statements: &[Stmt]) -> bool {
        fn any(statements: &[Stmt]) -> bool {
            statements.iter().any(|statement| match &statement.kind {
                StmtKind::Expr(expr) => is_release(expr),
                StmtKind::If {
                    then, otherwise, ..
                } => any(then) || any(otherwise),
                StmtKind::Block(body) => any(body),
                _ => false,
            })
        }
        any(statements)
    }

    fn exec_with(&mut self, items: &[(Expr, Option<Expr>)], body: &[Stmt], state: &mut State) {
        let held_before = state.held.len();
        for (value, target) in items {
            let is_name = !matches!(value.kind, ExprKind::Call { .. });
            let vid = self.eval(value, state);
            if state.dead {
                return;
            }
            if is_name && self.looks_like_lock(vid, value) {
                self.acquire(vid, true, value.span, state);
            }
            for held in state.held.iter_mut().skip(held_before) {
                held.scoped = true;
            }
            if let Some(target) = target {
                self.assign(target, vid, state, value.span);
            }
        }
        self.mark_last_acquired_scoped(items.iter().map(|(value, _)| value.span));
        self.exec_all(body, state);
        state.held.truncate(held_before.min(state.held.len()));
    }

    fn mark_last_acquired_scoped(&mut self, spans: impl Iterator<Item = Span>) {
        let spans: Vec<Span> = spans.collect();
        for event in self.events.iter_mut().rev().take(4) {
            if let Event::Acquired { at, scoped, .. } = event
                && spans
                    .iter()
                    .any(|span| span.line == at.line && span.file == at.file)
            {
                *scoped = true;
            }
        }
    }

    fn looks_like_lock(&self, vid: Vid, value: &Expr) -> bool {
        let real = match self.terms.get(vid) {
            Term::Global { of, .. } => *of,
            _ => vid,
        };
        if matches!(self.terms.get(real), Term::Lock { .. })
            || self.terms.ty(real).is_some_and(|ty| ty.contains("Lock"))
        {
            return true;
        }
        let name = value.dotted().unwrap_or_default().to_ascii_lowercase();
        let last = name.rsplit('.').next().unwrap_or("");
        last.contains("lock") || last.contains("mutex") || last.contains("semaphore")
    }

    fn exec_defer(&mut self, body: &[Stmt], state: &mut State) {
        // `defer mu.Unlock()`: from here on every way out releases.
        if self.releases_in(body) {
            for held in &mut state.held {
                held.scoped = true;
            }
            for event in self.events.iter_mut().rev().take(6) {
                if let Event::Acquired { scoped, .. } = event {
                    *scoped = true;
                }
            }
            return;
        }
        let mut copy = state.clone();
        self.exec_all(body, &mut copy);
    }
}

fn is_missing_type(ty: &str) -> bool {
    ty.contains("FileNotFound") || ty.contains("NoSuchFile") || ty.contains("NotFound")
}

fn is_release(expr: &Expr) -> bool {
    let ExprKind::Call { callee, .. } = &expr.kind else {
        return match &expr.kind {
            ExprKind::Await(inner) => is_release(inner),
            _ => false,
        };
    };
    let name = callee.dotted().unwrap_or_default().to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or("");
    last.contains("unlock") || last.contains("release")
}
