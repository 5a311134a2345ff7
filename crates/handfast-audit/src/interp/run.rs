//! What is run, and in which order: modules, entries, handlers, constructors.

use std::collections::BTreeMap;

use crate::interp::Interp;
use crate::ir::{Span, Sym};
use crate::state::{Env, State};
use crate::term::{FnId, Term, Vid};

impl Interp<'_> {
    /// Runs the module's own statements once, for its names and for handlers registered there.
    pub(crate) fn run_top(&mut self, file: u32) {
        if self.globals.contains_key(&file) || self.globals.len() > 64 {
            return;
        }
        self.begin_entry();
        self.globals.insert(file, BTreeMap::new());
        let top = u32::try_from(self.program.file(file).module.top).unwrap_or(0);
        let was_top = std::mem::replace(&mut self.at_top, true);
        let muted = std::mem::replace(&mut self.muted, 0);
        if !self.frames.is_empty() {
            self.muted = 1;
        }
        let mut state = self.global_state.clone();
        state.env = Env::default();
        state.dead = false;
        self.push_frame((file, top), Span::default());
        let program = self.program;
        // A module that nobody could import has no handlers: where a statement seems never to end, what
        // was called is not understood, and the next ones are run all the same.
        for statement in &program.function((file, top)).body {
            let before = state.clone();
            self.exec_all(std::slice::from_ref(statement), &mut state);
            if state.dead {
                state = before;
            }
        }
        self.frames.pop();
        self.muted = muted;
        self.at_top = was_top;
        let mut names = BTreeMap::new();
        for (name, vid) in state.env.iter() {
            names.insert(name.clone(), *vid);
        }
        self.globals.insert(file, names);
        self.global_state.facts = state.facts;
        self.global_state.heap = state.heap;
        self.global_state.ways = state.ways;
        self.run_assigners(file);
    }

    /// Runs a function as something calls it from outside.
    pub(crate) fn run_entry(&mut self, id: FnId) {
        let program = self.program;
        self.run_as(id, program.function(id).class.clone());
        // What a class inherits calls what the class has in its place.
        for class in program.overriding(id) {
            self.run_as(id, Some(class));
        }
    }

    fn run_as(&mut self, id: FnId, class: Option<Sym>) {
        self.run_top(id.0);
        self.begin_entry();
        let program = self.program;
        let function = program.function(id);
        let mut state = self.global_state.clone();
        state.env.clear();
        state.dead = false;
        if let Some(receiver) = &function.receiver {
            let object = self.make_object(class.clone());
            self.run_constructor(id, class.as_ref(), object, &mut state);
            self.fill_properties(id, object, &mut state);
            state.env.insert(receiver.clone(), object);
        }
        let is_route = self.is_route(function, id);
        self.push_frame(id, Span::default());
        self.bind_entry_params(id, function, is_route, &mut state);
        self.called.insert(id);
        self.fed.insert(id);
        let is_wrapped = self.is_wrapped(id, function);
        if is_wrapped && self.run_decorated(id, function, &mut state) {
            self.run_pending(&state);
            return;
        }
        let doubt = u32::from(is_wrapped);
        self.doubt += doubt;
        self.exec_all(&function.body, &mut state);
        self.doubt -= doubt;
        self.frames.pop();
        self.run_pending(&state);
    }

    /// Handlers that the module's own statements registered, with the module's values.
    pub(crate) fn run_registered(&mut self) {
        let state = self.global_state.clone();
        self.run_pending(&state);
    }

    /// Whether a function was entered, with values of which something is known.
    pub(crate) fn was_run(&self, id: FnId) -> bool {
        self.fed.contains(&id)
    }

    /// Closures that nobody called: handlers, callbacks.
    pub(crate) fn run_pending(&mut self, state: &State) {
        for _ in 0..200 {
            if self.pending.is_empty() {
                return;
            }
            let (id, env) = self.pending.remove(0);
            if self.called.contains(&id) {
                continue;
            }
            self.begin_entry();
            self.called.insert(id);
            self.fed.insert(id);
            let mut state = state.clone();
            state.dead = false;
            state.held.clear();
            state.failing = None;
            // What was known where the closure was made is known inside it.
            if let Some(taken) = self.taken.get(env as usize)
                && !taken.facts.is_empty()
            {
                state.facts = taken.facts.clone();
                state.heap = taken.heap.clone();
                state.ways = taken.ways.clone();
                state.age();
            }
            let given = self.run_before(id, &mut state);
            state.env = self.envs[env as usize].clone();
            let captured = state.env.clone();
            let function = self.program.function(id);
            let is_route = self.is_route(function, id);
            self.push_frame(id, Span::default());
            self.bind_entry_params(id, function, is_route, &mut state);
            for (param, vid) in function.params.iter().zip(given) {
                state.env.insert(param.name.clone(), vid);
            }
            self.exec_all(&function.body, &mut state);
            self.frames.pop();
            self.share_captured(&captured, &state);
        }
    }

    pub(super) fn make_object(&mut self, class: Option<Sym>) -> Vid {
        let id = self.terms.fresh();
        let ty = class.clone();
        let vid = self.terms.make(Term::Object { class, id });
        self.terms.typed(vid, &ty.unwrap_or_default())
    }

    /// Gives the object the fields its constructor sets. What the constructor saw of the
    /// filesystem is forgotten afterwards.
    fn run_constructor(
        &mut self,
        method: FnId,
        class: Option<&Sym>,
        object: Vid,
        state: &mut State,
    ) {
        let program = self.program;
        let Some(class) = class else {
            return;
        };
        let mut found = program.constructors(method.0, class);
        let base = program.function(method).class.as_ref();
        // One that is inherited.
        if let Some(base) = base.filter(|base| found.is_empty() && *base != class) {
            found = program.constructors(method.0, base);
        }
        for ctor in found.into_iter().take(2) {
            if ctor == method {
                return;
            }
            self.run_top(ctor.0);
            let function = program.function(ctor);
            let mut inner = state.clone();
            inner.env = Env::default();
            if let Some(receiver) = &function.receiver {
                inner.env.insert(receiver.clone(), object);
            }
            self.push_frame(ctor, Span::default());
            self.bind_params(ctor, function, true, &mut inner);
            self.muted += 1;
            self.exec_all(&function.body, &mut inner);
            self.muted -= 1;
            let frame = self.frames.pop();
            let mut ends: Vec<State> = Vec::new();
            for (value, end) in frame.map(|frame| frame.returns).unwrap_or_default() {
                // A function that returns the object copies its fields.
                let mut end = end;
                let made = self.strip(value);
                if let Some(made) = self.object_in(made) {
                    let fields: Vec<_> = end
                        .fields(made)
                        .map(|(name, vid)| (name.clone(), *vid))
                        .collect();
                    for (name, vid) in fields {
                        end.set_field(object, name, vid);
                    }
                    ends.push(end);
                } else if function.receiver.is_some() {
                    ends.push(end);
                }
            }
            if !inner.dead {
                ends.push(inner);
            }
            let mark = self.terms.len();
            let Some(mut joined) = ends.pop() else {
                continue;
            };
            for end in ends {
                joined.join(end, &mut self.terms, mark);
            }
            joined.forget_filesystem();
            state.facts = joined.facts;
            state.heap = joined.heap;
            state.ways = joined.ways;
            return;
        }
    }

    /// Actions whose setters a framework calls with what the request says, before it runs them.
    fn fill_properties(&mut self, id: FnId, object: Vid, state: &mut State) {
        const ACTIONS: [&str; 4] = ["ActionSupport", "Action", "ActionBean", "ManagedBean"];
        let program = self.program;
        let Some(class) = &program.function(id).class else {
            return;
        };
        let Some((file, known)) = program.class(id.0, class) else {
            return;
        };
        let is_action = |base: &Sym| ACTIONS.iter().any(|end| base.ends_with(end));
        if program.file(file).lang != crate::lang::Lang::Java || !known.bases.iter().any(is_action)
        {
            return;
        }
        for (name, ty) in &known.fields {
            let mut letters = name.chars();
            let setter: String = letters.next().map_or(String::new(), |first| {
                format!("set{}{}", first.to_ascii_uppercase(), letters.as_str())
            });
            let Some(setter) = program.method(file, class, &setter) else {
                continue;
            };
            if &**ty != "String" || setter == id {
                continue;
            }
            let value = self.terms.make(Term::Source {
                label: name.clone(),
                kind: crate::term::SourceKind::Request,
                at: program.function(setter).span,
            });
            state.set_field(object, name.clone(), value);
        }
    }

    pub(super) fn object_in(&self, vid: Vid) -> Option<Vid> {
        match self.terms.get(vid) {
            Term::Object { .. } => Some(vid),
            Term::Variant(_, inner) | Term::Payload(inner) => self.object_in(*inner),
            Term::List(parts) => parts.first().and_then(|part| self.object_in(*part)),
            _ => None,
        }
    }
}
