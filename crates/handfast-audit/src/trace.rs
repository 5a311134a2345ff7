//! Running a file: which functions are entries, and what the interpreter saw from there.

use std::collections::BTreeMap;

use crate::audit::{Options, declared_in};
use crate::callgraph::CallGraph;
use crate::gather::Gathered;
use crate::hazards::Hazard;
use crate::interp::{Event, Interp, SinkKind};
use crate::ir::{Function, Span};
use crate::kb::Knowledge;
use crate::program::Program;
use crate::report::Covered;
use crate::scope::{Flow, Scope};
use crate::term::{FnId, SourceKind, Vid};
use crate::tests_index::TestIndex;

/// What was seen of one file, without the interpreter that saw it.
pub(crate) struct Traced {
    pub(crate) found: Gathered,
    events: Vec<Event>,
    fd_places: Vec<(Vid, u64, Span)>,
    all_moves: Vec<Vid>,
    pub(crate) overrun: bool,
    /// Functions that were called with values, and the entry from where.
    reached_from: BTreeMap<FnId, FnId>,
}

/// Functions that were reached from entries of any file.
pub(crate) struct SeenThrough(BTreeMap<FnId, FnId>);

/// Runs one file. `None`: nothing of it can reach a path operation.
pub(crate) fn trace(
    program: &Program,
    knowledge: &Knowledge,
    options: &Options,
    called: &CallGraph,
    file: u32,
    is_named: bool,
) -> Option<Traced> {
    let source = program.file(file);
    if !called.any_reaches(file) {
        return None;
    }
    let declared = declared_in(source, options);
    let mut interp = Interp::new(program, knowledge, &declared, file);
    interp.graph = Some(called);
    run(&mut interp, program, file, options, called, is_named);
    let found = interp.gather(file);
    let all_moves = interp
        .sinks
        .iter()
        .filter(|sink| sink.kind == SinkKind::MoveFrom)
        .map(|sink| sink.path)
        .collect();
    Some(Traced {
        found,
        events: std::mem::take(&mut interp.events),
        fd_places: std::mem::take(&mut interp.fd_places),
        all_moves,
        overrun: interp.overrun,
        reached_from: std::mem::take(&mut interp.reached_from),
    })
}

/// Which functions are reached from where, over all files.
pub(crate) fn seen_through(program: &Program, traced: &[Option<Traced>]) -> SeenThrough {
    let mut all = BTreeMap::new();
    for one in traced.iter().flatten().filter(|one| !one.overrun) {
        for (function, entry) in &one.reached_from {
            let is_test = program.file(entry.0).is_test || program.function(*entry).is_test;
            if entry != function && !is_test {
                all.entry(*function).or_insert(*entry);
            }
        }
    }
    SeenThrough(all)
}

impl SeenThrough {
    /// As it is told: only of functions that would have been entries.
    pub(crate) fn told(&self, program: &Program) -> Vec<Covered> {
        let shown = |id: FnId| {
            let function = program.function(id);
            format!("{} ({})", function.name, program.place(function.span))
        };
        let public = self
            .0
            .iter()
            .filter(|(id, _)| program.function(**id).is_public);
        public
            .map(|(id, entry)| Covered {
                function: shown(*id),
                caller: shown(*entry),
            })
            .collect()
    }

    /// A handler of the same file was followed into the function where a flow begins.
    fn is_handed(&self, program: &Program, flow: &Flow) -> bool {
        let entry = flow.sink.entry;
        let is_guess = |leaf: &crate::interp::Leaf| leaf.kind == SourceKind::Guessed;
        flow.leaves.iter().all(is_guess)
            && self
                .0
                .get(&entry)
                .is_some_and(|caller| caller.0 == entry.0 && has_source(program.function(*caller)))
    }

    /// A caller above was followed into the function with its own values; two functions that call
    /// each other do not cover one another.
    fn covers(&self, id: FnId) -> bool {
        let mut at = id;
        for _ in 0..16 {
            match self.0.get(&at) {
                Some(next) if *next == id => return false,
                Some(next) => at = *next,
                None => return at != id,
            }
        }
        false
    }
}

impl Traced {
    /// In a directory, what is only guessed of a function that callers were followed into is said
    /// of the callers.
    pub(crate) fn drop_covered(
        &mut self,
        program: &Program,
        through: &SeenThrough,
        is_named: bool,
    ) {
        let is_covered = |flow: &Flow| {
            let entry = program.function(flow.sink.entry);
            // What is handed over by a caller: parameters, and the request among them.
            let guessed = has_source(entry) && &*entry.name != "main"
                || flow
                    .leaves
                    .iter()
                    .all(|leaf| matches!(leaf.kind, SourceKind::Guessed | SourceKind::Undeclared));
            // Of a file that was named every public function is a boundary, unless a caller in the
            // same file hands it what surely comes from outside.
            let is_boundary = is_named && entry.is_public && !through.is_handed(program, flow);
            guessed && !is_boundary && through.covers(flow.sink.entry)
        };
        // Where text that surely comes from outside reaches the same operation, no guess is needed.
        let sure: Vec<crate::ir::Span> = self
            .found
            .flows
            .iter()
            .filter(|flow| flow.is_external())
            .map(|flow| flow.sink.at)
            .collect();
        self.found.flows.retain(|flow| {
            flow.is_external() || flow.has_source() || !sure.contains(&flow.sink.at)
        });
        for list in [
            &mut self.found.flows,
            &mut self.found.rootless,
            &mut self.found.undeclared,
        ] {
            list.retain(|flow| !is_covered(flow));
        }
    }

    /// Everything a report about some of the flows needs.
    pub(crate) fn scope<'a>(
        &mut self,
        program: &'a Program,
        file: u32,
        flows: Vec<Flow>,
        hazards: Vec<Hazard>,
        options: &Options,
        tests: &'a TestIndex,
    ) -> Scope<'a> {
        let source = program.file(file);
        let functions = flows.iter().flat_map(|flow| {
            std::iter::once(flow.sink.function).chain(flow.sink.calls.iter().map(|(id, _)| *id))
        });
        let mut functions = functions;
        let is_damaged = functions.any(|id| program.function(id).damaged) || self.overrun;
        let windows = source.text.contains(":\\\\")
            || source.text.contains("win32")
            || source.text.contains("C:\\");
        let posix = source.text.contains("O_NOFOLLOW")
            || source.text.contains("\"/")
            || source.text.contains("'/");
        let labels: Vec<&str> = flows
            .iter()
            .filter_map(|flow| flow.root.as_ref())
            .map(|root| root.label.as_str())
            .collect();
        let roots = self.found.roots.iter();
        let roots = roots.filter(|facts| labels.contains(&facts.root.label.as_str()));
        Scope {
            program,
            file,
            lang: source.lang,
            roots: roots.cloned().collect(),
            flows,
            spawns: std::mem::take(&mut self.found.spawns),
            events: std::mem::take(&mut self.events),
            tests,
            about: std::cell::OnceCell::new(),
            is_windows_only: windows && !posix,
            is_damaged,
            controls: options.controls.clone(),
            keys: std::mem::take(&mut self.found.keys),
            locks: std::mem::take(&mut self.found.locks),
            fds: self
                .fd_places
                .iter()
                .map(|(vid, bits, _)| (*vid, *bits))
                .collect(),
            fd_places: self.fd_places.clone(),
            all_moves: self.all_moves.clone(),
            hazards,
        }
    }
}

/// Runs everything in a file that somebody outside can start.
fn run(
    interp: &mut Interp<'_>,
    program: &Program,
    file: u32,
    options: &Options,
    called: &CallGraph,
    is_named: bool,
) {
    interp.run_top(file);
    interp.run_registered();
    let module = &program.file(file).module;
    let top = module.top;
    // What sets a program up hands its handlers on, perhaps with something around them.
    let mut order: Vec<usize> = (0..module.functions.len()).collect();
    // Then what is surely called from outside, before the steps of the file run out.
    order.sort_by_key(|index| {
        let function = &module.functions[*index];
        let sets_up = matches!(&*function.name, "main" | "init");
        let is_free = function.class.is_none();
        let is_handler = is_free && has_source(function) || !function.decorators.is_empty();
        (!sets_up, !is_handler)
    });
    let mut later = Vec::new();
    for index in order {
        let function = &module.functions[index];
        let is_closure =
            function.name.starts_with('<') || function.parent.is_some_and(|parent| parent != top);
        let id = (file, u32::try_from(index).unwrap_or(0));
        if index == top || is_closure || function.is_test || !called.reaches(id) {
            continue;
        }
        let named = function
            .params
            .iter()
            .any(|param| options.inputs.iter().any(|input| **input == *param.name));
        let is_inner = called.is_called(id) && function.decorators.is_empty() && !named;
        if !is_inner {
            interp.orphans.insert(id);
        }
        // A helper that others call is seen through them first, and so is a handler.
        if is_inner && !has_source(function) {
            later.push(id);
            continue;
        }
        if has_source(function) && interp.was_run(id) {
            continue;
        }
        interp.run_entry(id);
    }
    // Every public function is a boundary, also if code here calls it.
    for id in later {
        let function = program.function(id);
        let skipped = function.is_ctor && !is_named;
        if !skipped && function.is_public && !interp.was_run(id) {
            interp.run_entry(id);
        }
    }
}

/// Reads a request or the command line itself.
fn has_source(function: &Function) -> bool {
    function.params.iter().any(|param| {
        matches!(&*param.name, "req" | "request" | "ctx" | "argv")
            || param
                .ty
                .as_deref()
                .is_some_and(|ty| ty.contains("Request") || ty.contains("Context"))
    }) || &*function.name == "main"
}
