//! The abstract interpreter: runs functions on terms instead of values.
//!
//! Calls of functions of the program are followed with their arguments, so a validator, a wrapper
//! or a helper in another file has the effect it has. Every way out of a function is kept apart
//! until the caller has looked at the result, which is how "returns false only if" and "error only
//! if" are understood. Recursion, depth and steps are bounded; beyond them a call is unknown.

mod applied;
mod archives;
mod asks;
mod assign;
mod assume;
mod branches;
mod call;
mod captures;
mod compare;
mod compared;
mod construct;
mod effects;
mod entry;
mod equal;
mod expr;
mod fields;
mod flags;
mod folding;
mod folds;
mod forks;
mod formats;
mod forms;
mod globals;
mod handlers;
mod index;
mod inside;
mod invoke;
mod labels;
mod leaves;
mod loops;
mod meaning;
mod methods;
mod models;
mod object_tests;
mod open;
mod params;
mod parsed;
mod paths;
mod platform;
mod query;
mod run;
mod same;
mod schema;
mod segment_walk;
mod shapes;
mod single;
mod sinks;
mod sources;
mod stmt;
mod text_tests;
mod tries;
mod unknown;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::ir::{Span, Sym};
use crate::kb::{Family, Knowledge};
use crate::program::Program;
use crate::quick::Quick;
use crate::state::{Env, State};
use crate::term::{FnId, Terms, Vid};

pub(crate) use self::flags::OpenFlags;
pub(crate) use self::leaves::Leaf;

/// How deep calls are followed.
const MAX_CALLS: usize = 8;

/// How many expressions are looked at for one file.
const MAX_STEPS: u32 = 24_000;

/// How many expressions are looked at from one entry.
const MAX_ENTRY: u32 = 3_000;

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
    Failure { at: Span, how: FailedCheck },
    /// A filesystem question about a path.
    Asked {
        at: Span,
        path: Vid,
        follow: bool,
        function: FnId,
        /// Asked for rights or existence only.
        is_access: bool,
    },
    /// An archive was unpacked below a directory, in whatever way.
    Unpacked { at: Span, dir: Vid },
    /// A directory was opened or looked at as a root.
    RootSeen {
        at: Span,
        value: Vid,
        how: RootCheck,
    },
}

/// What became of a failed filesystem question.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FailedCheck {
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
    pub(crate) facts: Arc<crate::known::KnownValues>,
    pub(crate) epoch: u32,
}

/// An opened file or directory.
#[derive(Clone, Debug)]
pub(crate) struct OpenedValue {
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
    /// Names whose value is what the function gives back.
    returning: Vec<Sym>,
    /// Ends of scopes that release what is held.
    releases: usize,
}

/// A call by its function, its receiver and what it was given.
type QuietCall = (FnId, Option<Vid>, Vec<Vid>);

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
    pub(crate) opens: Vec<OpenedValue>,
    envs: Vec<Env>,
    /// What was known where each of them was taken.
    taken: Vec<State>,
    globals: BTreeMap<u32, BTreeMap<Sym, Vid>>,
    /// Names of other files that one statement sets; `None` where the whole file has to be run.
    singles: BTreeMap<(u32, Sym), Option<Option<Vid>>>,
    global_state: State,
    frames: Vec<Frame>,
    pub(crate) sinks: Vec<Sink>,
    pub(crate) events: Vec<Event>,
    steps: u32,
    /// What is left of them for the entry that is run.
    left: u32,
    muted: u32,
    /// Loops of which the first turn is being run.
    rehearsals: u32,
    /// What calls gave that changed nothing and reach no operation: by function, receiver and arguments.
    quiet: HashMap<QuietCall, Vid, Quick>,
    /// Rows that were used, for the tests of the knowledge base.
    pub(crate) hits: BTreeSet<usize>,
    /// What was established of descriptors.
    pub(crate) fd_places: Vec<(Vid, u64, Span)>,
    /// Closures that were made and never called yet.
    pending: Vec<(FnId, u32)>,
    /// What was taken out of a text, by the text without it.
    removed: BTreeMap<Vid, Sym>,
    /// Numbers that are the length of a text, because prefixes of that length were compared.
    lengths: BTreeMap<Vid, Vid>,
    /// Values that are others in another type: the outer and the inner one.
    wraps: Vec<(Vid, Vid)>,
    /// The archive that a source of entry names is of; `None` where it may be one of several.
    archives: BTreeMap<Vid, Option<Vid>>,
    /// What a method without arguments gave, by what it was asked of.
    getters: BTreeMap<(Vid, Sym), Vid>,
    /// Paths of what was opened, by the value that reads it.
    read_from: BTreeMap<Vid, Vid>,
    called: BTreeSet<FnId>,
    /// Functions that were called with values, and the entry from where.
    pub(crate) reached_from: BTreeMap<FnId, FnId>,
    /// Entries that nothing in the program calls.
    pub(crate) orphans: BTreeSet<FnId>,
    /// Where external text was met first.
    pub(crate) met: BTreeMap<Vid, Span>,
    /// Those of them that were given values of which something is known.
    fed: BTreeSet<FnId>,
    /// Functions that were registered as handlers of requests.
    handlers: BTreeSet<FnId>,
    /// Functions that a walk through a directory calls for what it finds.
    visitors: BTreeSet<FnId>,
    /// Functions that are told of messages.
    listeners: BTreeSet<FnId>,
    /// For a handler, the schemas that what it is given has passed.
    schemas: BTreeMap<FnId, Vec<(Sym, Vid)>>,
    /// For a handler, the functions that run before it.
    before: BTreeMap<FnId, Vec<(FnId, u32)>>,
    /// Functions that run before every handler that is registered after them.
    always: Vec<(FnId, u32)>,
    /// States in which such a function went on to the next.
    passed: Vec<Vec<State>>,
    /// Something nobody understands stands before the function that is run.
    doubt: u32,
    /// Calls whose result is what the function gives back.
    tails: Vec<Span>,
    /// A call whose result nobody waits for.
    loose: Option<Span>,
    pub(crate) overrun: bool,
    /// Module-level statements are being run for their names only.
    at_top: bool,
    /// Who reaches a path operation; without it every call is followed.
    pub(crate) graph: Option<&'p crate::callgraph::CallGraph>,
    /// The function of the operation that is being asked about.
    pub(crate) asking: Option<FnId>,
    /// Functions that bring in external text themselves, as far as somebody asked.
    gives: BTreeMap<FnId, bool>,
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
            taken: Vec::new(),
            globals: BTreeMap::new(),
            singles: BTreeMap::new(),
            global_state: State::default(),
            frames: Vec::new(),
            sinks: Vec::new(),
            events: Vec::new(),
            steps: 0,
            left: MAX_ENTRY,
            muted: 0,
            rehearsals: 0,
            quiet: HashMap::default(),
            hits: BTreeSet::new(),
            fd_places: Vec::new(),
            pending: Vec::new(),
            removed: BTreeMap::new(),
            lengths: BTreeMap::new(),
            wraps: Vec::new(),
            archives: BTreeMap::new(),
            getters: BTreeMap::new(),
            read_from: BTreeMap::new(),
            called: BTreeSet::new(),
            reached_from: BTreeMap::new(),
            orphans: BTreeSet::new(),
            met: BTreeMap::new(),
            fed: BTreeSet::new(),
            handlers: BTreeSet::new(),
            visitors: BTreeSet::new(),
            listeners: BTreeSet::new(),
            schemas: BTreeMap::new(),
            before: BTreeMap::new(),
            always: Vec::new(),
            passed: Vec::new(),
            doubt: 0,
            tails: Vec::new(),
            loose: None,
            overrun: false,
            at_top: false,
            graph: None,
            asking: None,
            gives: BTreeMap::new(),
            home,
        }
    }

    /// A new entry has its own share of the steps, as long as the file has some left.
    fn begin_entry(&mut self) {
        if self.frames.is_empty() {
            self.left = MAX_ENTRY.min(MAX_STEPS.saturating_sub(self.steps));
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
            if let Some(value) = self.single_global(file, name) {
                return value;
            }
            self.run_top(file);
        }
        self.globals.get(&file)?.get(name).copied()
    }

    /// Called for each thing that a walk finds, by its place or by what it overrides.
    pub(crate) fn is_visitor(&self, id: FnId) -> bool {
        let name = &*self.program.function(id).name;
        self.visitors.contains(&id) || matches!(name, "visitFile" | "preVisitDirectory")
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
            returning: Vec::new(),
            releases: 0,
        });
    }

    /// A name that the user declared to be the root.
    pub(crate) fn is_declared_root(&self, name: &str) -> bool {
        self.declared.roots.iter().any(|root| {
            let last = root.rsplit(['.', '>', ':']).next().unwrap_or(root);
            **root == *name || last == name
        })
    }
}
