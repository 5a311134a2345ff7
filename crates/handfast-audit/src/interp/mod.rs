//! The abstract interpreter: runs functions on terms instead of values.
//!
//! Calls of functions of the program are followed with their arguments, so a validator, a wrapper
//! or a helper in another file has the effect it has. Every way out of a function is kept apart
//! until the caller has looked at the result, which is how "returns false only if" and "error only
//! if" are understood. Recursion, depth and steps are bounded; beyond them a call is unknown.

mod applied;
mod asks;
mod assign;
mod assume;
mod call;
mod captures;
mod compare;
mod entry;
mod expr;
mod fields;
mod flags;
mod forks;
mod formats;
mod globals;
mod handlers;
mod invoke;
mod leaves;
mod loops;
mod meaning;
mod object_tests;
mod open;
mod paths;
mod query;
mod sinks;
mod stmt;
mod text_tests;
mod tries;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::ir::{Function, Span, Sym};
use crate::kb::{Family, Knowledge};
use crate::program::Program;
use crate::state::{Env, State};
use crate::term::{FnId, SourceKind, Term, Terms, Vid};

pub(crate) use self::flags::OpenFlags;
pub(crate) use self::leaves::Leaf;

/// How deep calls are followed.
const MAX_CALLS: usize = 8;

/// How many expressions are looked at for one file.
const MAX_STEPS: u32 = 60_000;

/// What a path operation does.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum SinkKind {
    Open,
    Read,
    Create,
    Mutate,
    Delete,
    MoveFrom,
    MoveTo,
    Link,
    Stat,
    Mkdir,
    MkdirAll,
    Temp,
    Spawn,
}

/// A path operation as it was met, with everything known there.
#[derive(Clone, Debug)]
pub(crate) struct Sink {
    pub(crate) kind: SinkKind,
    pub(crate) name: Sym,
    pub(crate) at: Span,
    pub(crate) function: FnId,
    pub(crate) path: Vid,
    pub(crate) flags: OpenFlags,
    pub(crate) recursive: bool,
    pub(crate) dirfd: Option<Vid>,
    pub(crate) anchored: Option<String>,
    pub(crate) state: State,
    /// Done again and again, segment by segment.
    pub(crate) in_loop: bool,
    /// The handle whose anchored operation this is.
    pub(crate) handle: Option<Vid>,
    /// Where a moved or copied file comes from.
    pub(crate) from: Option<Vid>,
    /// The function that was entered from outside.
    pub(crate) entry: FnId,
    /// The calls that led here, outermost first.
    pub(crate) calls: Vec<(FnId, Span)>,
    /// The receiver or callee was guessed.
    pub(crate) is_guess: bool,
    /// "Already there" is caught and accepted.
    pub(crate) tolerates_existing: bool,
    /// A shell string, for spawns.
    pub(crate) is_shell: bool,
    pub(crate) has_separator: bool,
    /// The descriptor this opened, as an index of [`Interp::opens`].
    pub(crate) fd: Option<Vid>,
}

/// Something that happened besides sinks, in order.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A lock or shared resource was taken.
    Acquired {
        entry: FnId,
        at: Span,
        scoped: bool,
        state: State,
    },
    /// A function was left by an error with a lock held that nobody releases.
    Leaked { lock: Span },
    /// A key or hash was derived.
    Key { at: Span, value: Vid, state: State },
    /// A filesystem question failed, and this became of it.
    Failure { at: Span, how: Failure },
    /// A filesystem question about a path.
    Asked {
        at: Span,
        path: Vid,
        follow: bool,
        function: FnId,
    },
    /// A directory was opened or looked at as a root.
    RootSeen {
        at: Span,
        value: Vid,
        how: RootCheck,
    },
}

/// What became of a failed filesystem question.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Failure {
    Raw,
    Mapped,
    MissingAccepted,
    Swallowed,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RootCheck {
    NotLink,
    IsDir,
    OpenedNoFollow,
}

/// One way out of a function that was followed.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) value: Vid,
    pub(crate) facts: Arc<crate::state::Known>,
    pub(crate) epoch: u32,
}

/// An opened file or directory.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) path: Vid,
    pub(crate) dirfd: Option<Vid>,
}

/// One function being run.
#[derive(Debug)]
struct Frame {
    id: FnId,
    returns: Vec<(Vid, State)>,
    throws: Vec<State>,
    /// What a generator gave out.
    yields: Vec<Vid>,
    tries: Vec<Vec<State>>,
    loops: Vec<Loop>,
    called_at: Span,
    /// Ends of scopes that release what is held.
    releases: usize,
}

#[derive(Debug, Default)]
struct Loop {
    breaks: Vec<State>,
    continues: Vec<State>,
}

/// What the user said about the context.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared {
    pub(crate) roots: Vec<String>,
    pub(crate) inputs: Vec<String>,
}

/// The interpreter of one file's functions.
pub(crate) struct Interp<'p> {
    pub(crate) program: &'p Program,
    knowledge: &'p Knowledge,
    declared: &'p Declared,
    pub(crate) terms: Terms,
    ways: Vec<Vec<Way>>,
    pub(crate) opens: Vec<Opened>,
    envs: Vec<Env>,
    globals: BTreeMap<u32, BTreeMap<Sym, Vid>>,
    global_state: State,
    frames: Vec<Frame>,
    pub(crate) sinks: Vec<Sink>,
    pub(crate) events: Vec<Event>,
    steps: u32,
    muted: u32,
    /// Rows that were used, for the tests of the knowledge base.
    pub(crate) hits: BTreeSet<usize>,
    /// What was established of descriptors.
    pub(crate) fd_places: Vec<(Vid, u64, Span)>,
    /// Closures that were made and never called yet.
    pending: Vec<(FnId, u32)>,
    /// Values that are others in another type: the outer and the inner one.
    wraps: Vec<(Vid, Vid)>,
    called: BTreeSet<FnId>,
    /// Those of them that were given values of which something is known.
    fed: BTreeSet<FnId>,
    /// Functions that were registered as handlers of requests.
    handlers: BTreeSet<FnId>,
    /// Functions that are told of messages.
    listeners: BTreeSet<FnId>,
    /// For a handler, the functions that run before it.
    before: BTreeMap<FnId, Vec<(FnId, u32)>>,
    /// States in which such a function went on to the next.
    passed: Vec<Vec<State>>,
    /// Something nobody understands stands before the function that is run.
    doubt: u32,
    /// A call whose result nobody waits for.
    loose: Option<Span>,
    pub(crate) overrun: bool,
    /// Module-level statements are being run for their names only.
    at_top: bool,
    /// Who reaches a path operation; without it every call is followed.
    pub(crate) graph: Option<&'p crate::callgraph::CallGraph>,
    /// The function of the operation that is being asked about.
    pub(crate) asking: Option<FnId>,
    /// The file whose report this is for.
    home: u32,
}

impl std::fmt::Debug for Interp<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interp")
            .field("sinks", &self.sinks.len())
            .finish_non_exhaustive()
    }
}

impl<'p> Interp<'p> {
    pub(crate) fn new(
        program: &'p Program,
        knowledge: &'p Knowledge,
        declared: &'p Declared,
        home: u32,
    ) -> Self {
        Self {
            program,
            knowledge,
            declared,
            terms: Terms::default(),
            ways: Vec::new(),
            opens: Vec::new(),
            envs: Vec::new(),
            globals: BTreeMap::new(),
            global_state: State::default(),
            frames: Vec::new(),
            sinks: Vec::new(),
            events: Vec::new(),
            steps: 0,
            muted: 0,
            hits: BTreeSet::new(),
            fd_places: Vec::new(),
            pending: Vec::new(),
            wraps: Vec::new(),
            called: BTreeSet::new(),
            fed: BTreeSet::new(),
            handlers: BTreeSet::new(),
            listeners: BTreeSet::new(),
            before: BTreeMap::new(),
            passed: Vec::new(),
            doubt: 0,
            loose: None,
            overrun: false,
            at_top: false,
            graph: None,
            asking: None,
            home,
        }
    }

    fn family(&self) -> &'p Family {
        self.knowledge.family(self.lang())
    }

    /// The function being run; the file's own statements when none is.
    fn here(&self) -> FnId {
        self.frames.last().map_or((self.home, 0), |frame| frame.id)
    }

    /// The function that was entered from outside.
    fn entry(&self) -> FnId {
        self.frames.first().map_or((self.home, 0), |frame| frame.id)
    }

    fn lang(&self) -> crate::lang::Lang {
        self.program.file(self.here().0).lang
    }

    /// What a file's own statements give a name, once they were run.
    fn global(&mut self, file: u32, name: &str) -> Option<Vid> {
        if !self.globals.contains_key(&file) && self.program.may_set_at_top(file, name) {
            self.run_top(file);
        }
        self.globals.get(&file)?.get(name).copied()
    }

    /// Runs the module's own statements once, for its names and for handlers registered there.
    pub(crate) fn run_top(&mut self, file: u32) {
        if self.globals.contains_key(&file) || self.globals.len() > 64 {
            return;
        }
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
        let body = &program.function((file, top)).body;
        self.exec_all(body, &mut state);
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

    fn push_frame(&mut self, id: FnId, called_at: Span) {
        self.frames.push(Frame {
            id,
            returns: Vec::new(),
            throws: Vec::new(),
            yields: Vec::new(),
            tries: Vec::new(),
            loops: Vec::new(),
            called_at,
            releases: 0,
        });
    }

    /// Runs a function as something calls it from outside.
    pub(crate) fn run_entry(&mut self, id: FnId) {
        self.run_top(id.0);
        let program = self.program;
        let function = program.function(id);
        let mut state = self.global_state.clone();
        state.env.clear();
        state.dead = false;
        if let Some(receiver) = &function.receiver {
            let object = self.make_object(function.class.clone());
            self.run_constructor(id, object, &mut state);
            state.env.insert(receiver.clone(), object);
        }
        let is_route = self.is_route(function, id);
        self.push_frame(id, Span::default());
        self.bind_entry_params(id, function, is_route, &mut state);
        self.called.insert(id);
        self.fed.insert(id);
        let doubt = u32::from(self.is_wrapped(id, function));
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
            self.called.insert(id);
            self.fed.insert(id);
            let mut state = state.clone();
            state.dead = false;
            state.held.clear();
            state.failing = None;
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

    fn make_object(&mut self, class: Option<Sym>) -> Vid {
        let id = self.terms.fresh();
        let ty = class.clone();
        let vid = self.terms.make(Term::Object { class, id });
        self.terms.typed(vid, &ty.unwrap_or_default())
    }

    /// Gives the object the fields its constructor sets. What the constructor saw of the
    /// filesystem is forgotten afterwards.
    fn run_constructor(&mut self, method: FnId, object: Vid, state: &mut State) {
        let program = self.program;
        let Some(class) = program.function(method).class.clone() else {
            return;
        };
        for ctor in program.constructors(method.0, &class).into_iter().take(2) {
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

    fn object_in(&self, vid: Vid) -> Option<Vid> {
        match self.terms.get(vid) {
            Term::Object { .. } => Some(vid),
            Term::Variant(_, inner) | Term::Payload(inner) => self.object_in(*inner),
            Term::List(parts) => parts.first().and_then(|part| self.object_in(*part)),
            _ => None,
        }
    }

    fn bind_params(&mut self, id: FnId, function: &Function, is_ctor: bool, state: &mut State) {
        for (index, param) in function.params.iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(0);
            let term = Term::Param {
                name: param.name.clone(),
                index,
                of: id,
                is_ctor,
            };
            let vid = self.terms.make(term);
            if let Some(ty) = &param.ty {
                let ty = self.type_name(id.0, ty);
                self.terms.typed(vid, &ty);
            }
            state.env.insert(param.name.clone(), vid);
        }
    }

    fn bind_entry_params(
        &mut self,
        id: FnId,
        function: &Function,
        is_route: bool,
        state: &mut State,
    ) {
        self.bind_params(id, function, false, state);
        self.heard(id, function, state);
        let by_place = self.filled_by_framework(id, function);
        for (index, param) in function.params.iter().enumerate() {
            let is_named = self
                .declared
                .inputs
                .iter()
                .any(|input| **input == *param.name);
            let is_argv = &*function.name == "main"
                && self.lang().family() == "c"
                && param.ty.as_deref().is_some_and(|ty| ty.contains("char"))
                || self.lang().family() == "c" && &*param.name == "argv";
            let by_type = param.ty.as_deref().and_then(|ty| self.source_type(ty));
            let is_request = matches!(
                &*param.name,
                "req"
                    | "request"
                    | "ctx"
                    | "res"
                    | "response"
                    | "next"
                    | "c"
                    | "w"
                    | "r"
                    | "reply"
                    | "self"
            );
            let by_place = by_place.contains(&index);
            let is_source = is_named
                || is_argv
                || by_place
                || by_type.is_some()
                || (is_route && !is_request && self.lang() != crate::lang::Lang::Rust);
            if is_source {
                let kind = if is_argv {
                    SourceKind::Process
                } else if by_type.is_some() || by_place || is_route {
                    SourceKind::Request
                } else {
                    SourceKind::Declared
                };
                let term = Term::Source {
                    label: param.name.clone(),
                    kind,
                    at: function.span,
                };
                let vid = self.terms.make(term);
                if self.has_string_type(param.ty.as_deref())
                    || (is_route && self.lang() == crate::lang::Lang::Python)
                {
                    state.add(vid, crate::facts::bit::TYPED, function.span);
                }
                state.env.insert(param.name.clone(), vid);
            } else if self.has_string_type(param.ty.as_deref())
                && let Some(vid) = state.env.get(&param.name).copied()
            {
                state.add(vid, crate::facts::bit::TYPED, function.span);
            }
            if let Some(pattern) = &param.pattern
                && let Some(vid) = state.env.get(&param.name).copied()
            {
                self.assign(pattern, vid, state, function.span);
            }
        }
    }

    /// A name that the user declared to be the root.
    pub(crate) fn is_declared_root(&self, name: &str) -> bool {
        self.declared.roots.iter().any(|root| {
            let last = root.rsplit(['.', '>', ':']).next().unwrap_or(root);
            **root == *name || last == name
        })
    }

    fn has_string_type(&self, ty: Option<&str>) -> bool {
        let lang = self.lang();
        if lang.has_static_strings() {
            return true;
        }
        ty.is_some_and(|ty| matches!(ty.trim(), "str" | "string" | "Path" | "pathlib.Path"))
    }

    /// A declared type as it is known by: imports resolved, references and generics dropped.
    fn type_name(&self, file: u32, ty: &str) -> String {
        let ty = ty
            .trim_start_matches(['&', '*', ' '])
            .trim_start_matches("mut ")
            .trim_start_matches("const ");
        let ty = ty.trim_start_matches("impl ").trim_start_matches("struct ");
        // What only holds or shares a value has its operations.
        if let Some((outer, inner)) = ty.split_once('<') {
            let outer = outer.rsplit([':', '.']).next().unwrap_or(outer);
            let holds = ["Arc", "Rc", "Box", "State", "Data", "Extension"];
            if holds.contains(&outer.trim()) {
                let inner = inner.strip_suffix('>').unwrap_or(inner);
                return self.type_name(file, inner);
            }
        }
        let ty = ty.split(['<', '[', '|']).next().unwrap_or(ty).trim();
        let dotted = ty.replace("::", ".");
        self.program.qualify(file, &dotted)
    }
}
