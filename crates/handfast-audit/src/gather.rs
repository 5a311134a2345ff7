//! From what the interpreter saw to what a report is about.

use crate::facts::bit;
use crate::hazards::Hazard;
use crate::interp::{Event, Interp, Leaf, Sink, SinkKind};
use crate::ir::Span;
use crate::scope::{Flow, LockFacts, Root, RootFacts, Scope};
use crate::state::State;
use crate::term::{FnId, SourceKind, Term, Vid};

/// What a file is about, or why that cannot be said.
pub(crate) struct Gathered {
    pub(crate) flows: Vec<Flow>,
    pub(crate) spawns: Vec<Flow>,
    /// External text reaches an operation and no root is declared.
    pub(crate) rootless: Vec<Flow>,
    /// A root is there and nobody says what the input is.
    pub(crate) undeclared: Vec<Flow>,
    pub(crate) roots: Vec<RootFacts>,
    pub(crate) keys: Vec<(Span, Vec<Vid>, bool)>,
    pub(crate) locks: Vec<LockFacts>,
    pub(crate) hazards: Vec<Hazard>,
}

impl Interp<'_> {
    /// Sorts all sinks of a file.
    pub(crate) fn gather(&mut self, file: u32) -> Gathered {
        let sinks = std::mem::take(&mut self.sinks);
        let mut found = Gathered {
            flows: Vec::new(),
            spawns: Vec::new(),
            rootless: Vec::new(),
            undeclared: Vec::new(),
            roots: Vec::new(),
            keys: Vec::new(),
            locks: Vec::new(),
            hazards: Vec::new(),
        };
        found.hazards = self.hazards(file, &sinks);
        let mut looks: Vec<Flow> = Vec::new();
        for sink in &sinks {
            // An operation on a descriptor is none on a path.
            let on_fd = matches!(self.terms.get(sink.path), Term::Fd(_)) && sink.dirfd.is_none();
            if on_fd {
                continue;
            }
            let flow = self.flow(sink);
            // A look tells little; it counts where the path is handed on and nothing else is done.
            if sink.kind == SinkKind::Stat {
                if flow
                    .leaves
                    .iter()
                    .any(|leaf| leaf.kind == SourceKind::Request)
                    && (sink.function.0 == file || self.enters_at(file, &flow))
                {
                    looks.push(flow);
                }
                continue;
            }
            if flow.leaves.is_empty() {
                continue;
            }
            // In another file, reached from here: it is for the report of the file where the text
            // comes in.
            if sink.function.0 != file && !self.enters_at(file, &flow) {
                continue;
            }
            let known = flow
                .leaves
                .iter()
                .any(|leaf| leaf.kind != SourceKind::Undeclared);
            let sure = flow.leaves.iter().any(|leaf| leaf.kind.is_sure());
            if flow.sink.kind == SinkKind::Spawn {
                if sure || known && flow.root.is_some() {
                    found.spawns.push(flow);
                }
            } else if sure || known && flow.root.is_some() || flow.is_read {
                found.flows.push(flow);
            } else if flow.root.is_none() {
                found.rootless.push(flow);
            } else {
                found.undeclared.push(flow);
            }
        }
        self.sinks = sinks;
        let same_text = |a: &Flow, b: &Flow| {
            a.sink.entry == b.sink.entry
                && a.leaves
                    .iter()
                    .any(|leaf| b.leaves.iter().any(|other| other.vid == leaf.vid))
        };
        looks.retain(|look| !found.flows.iter().any(|flow| same_text(look, flow)));
        found.flows.extend(looks);
        // Text that goes past the root of the file is measured against it.
        let root = found.flows.iter().find_map(|flow| flow.root.clone());
        match root {
            Some(root) => {
                for flow in found.flows.iter_mut().filter(|flow| flow.root.is_none()) {
                    flow.root = Some(root.clone());
                    flow.discards = true;
                }
            }
            // Only what is joined to something counts as a spawn of a path.
            None => found.spawns.clear(),
        }
        dedupe(&mut found.flows, &self.reached_from);
        dedupe(&mut found.spawns, &self.reached_from);
        found.roots = self.root_facts(&found.flows);
        self.ordering(&mut found);
        found
    }

    /// Some of the text that surely comes from outside comes in through this file, or nobody knows
    /// where.
    fn enters_at(&self, file: u32, flow: &Flow) -> bool {
        flow.leaves.iter().any(|leaf| {
            let mut vid = leaf.vid;
            while let Term::Field(of, _)
            | Term::Index(of, _)
            | Term::Elem(of)
            | Term::Coll { of, .. } = self.terms.get(vid)
            {
                vid = *of;
            }
            match self.terms.get(vid) {
                Term::Source { at, .. } => *at == Span::default() || at.file == file,
                Term::Param { of, .. } => of.0 == file && leaf.kind == SourceKind::Guessed,
                _ => leaf.kind != SourceKind::Guessed && leaf.kind != SourceKind::Undeclared,
            }
        })
    }

    /// Text that was read from a stream or a socket is nobody's own choice of a file, even alone.
    fn is_read_in(&self, leaves: &[Leaf], sink: &Sink) -> bool {
        leaves.iter().any(|leaf| {
            let mut vid = leaf.vid;
            for _ in 0..12 {
                vid = match self.terms.get(vid) {
                    Term::Field(of, _)
                    | Term::Index(of, _)
                    | Term::Elem(of)
                    | Term::Coll { of, .. }
                    | Term::Part { of, .. }
                    | Term::Payload(of) => *of,
                    Term::Call { args, .. } => {
                        let mut given = args.iter().copied();
                        match given.find(|arg| self.external_base(*arg, 0).is_some()) {
                            Some(arg) => arg,
                            None => break,
                        }
                    }
                    _ => break,
                };
            }
            leaf.kind == SourceKind::Process
                && matches!(self.terms.get(vid), Term::Source { at, label, .. } if at.line > 0 && &**label != "argv")
        }) && self.program.file(sink.function.0).lang.family() == "c"
    }

    fn flow(&mut self, sink: &Sink) -> Flow {
        let state = sink.state.clone();
        let mut leaves = self.leaves(sink.path, &state);
        self.asking = Some(sink.function);
        let root = match (&sink.anchored, sink.dirfd) {
            (Some(_), _) | (None, Some(_)) => self.anchor_root(sink),
            (None, None) => {
                let root = self.operator_root(sink.path, &state);
                root.or_else(|| self.root_of(sink.path, 0))
            }
        };
        // The root itself is no input.
        if let Some(root) = &root {
            let inside: Vec<Vid> = self
                .leaves(root.vid, &state)
                .iter()
                .map(|leaf| leaf.vid)
                .collect();
            let all = leaves.clone();
            leaves.retain(|leaf| {
                sink.anchored.is_some() && root.vid == sink.path
                    || leaf.vid != root.vid && !self.is_inside(root.vid, leaf.vid)
            });
            let is_call = matches!(
                self.terms.get(root.vid),
                Term::Call { .. } | Term::Join { .. } | Term::Concat(_) | Term::Outcome(_)
            );
            let is_more = leaves.iter().any(|leaf| !inside.contains(&leaf.vid));
            if is_more || !is_call && root.vid != sink.path {
                leaves.retain(|leaf| !inside.contains(&leaf.vid));
            }
            // The same text chooses the root and the name below it.
            if leaves.is_empty() && all.iter().any(|leaf| leaf.kind.is_sure()) {
                leaves = all;
                leaves.retain(|leaf| leaf.vid != root.vid);
            }
            if leaves.is_empty() {
                leaves = self.environment(sink.path, root.vid);
            }
        }
        // The code that made the object chose its parts, if other text is there.
        let is_made_with = |leaf: &Leaf| {
            leaf.kind == SourceKind::Guessed
                && matches!(self.terms.get(leaf.vid), Term::Param { is_ctor: true, .. })
        };
        if leaves.iter().any(|leaf| !is_made_with(leaf)) {
            leaves.retain(|leaf| !is_made_with(leaf));
        }
        let labels = leaves.iter().map(|leaf| self.label(leaf.vid)).collect();
        let anchor = self.anchor_of(sink, &leaves);
        let is_temp = self.is_unguessable(sink.path, 0);
        let from_temp = sink.from.is_some_and(|from| self.is_unguessable(from, 0));
        let from_elsewhere = sink
            .from
            .is_some_and(|from| self.is_temp_elsewhere(from, 0));
        let has_clock = self.has_clock(sink.path, 0);
        let discards = root.is_none() || self.may_discard(sink.path, 0);
        let ends_with_text = self.ends_with_text(sink.path, 0);
        let source_at = leaves.first().and_then(|leaf| self.met_at(leaf.vid));
        let function = self.function_name(sink.function);
        let is_read = self.is_read_in(&leaves, sink);
        Flow {
            discards,
            climbs: self.climbs(sink.path, 0),
            is_repeated: self.segments_in(sink.path, 0) > 1,
            is_read,
            ends_with_text,
            source_at,
            sink: sink.clone(),
            leaves,
            labels,
            root,
            anchor,
            is_temp,
            from_temp,
            from_elsewhere,
            has_clock,
            function,
        }
    }

    /// `out / name` where the command line says `out` and a document says `name`: the person who
    /// started the program chose the root.
    fn operator_root(&mut self, path: Vid, state: &State) -> Option<Root> {
        let mut at = path;
        let first = loop {
            at = self.deref(at, state);
            match self.terms.get(at) {
                Term::Norm { of, .. } | Term::Part { of, .. } | Term::Global { of, .. } => at = *of,
                Term::Join { parts, .. } | Term::Concat(parts) if parts.len() > 1 => {
                    break *parts.first()?;
                }
                _ => return None,
            }
        };
        let of_root = self.leaves(first, state);
        let is_operators = |leaf: &Leaf| leaf.kind == SourceKind::Process;
        if of_root.is_empty() || !of_root.iter().all(is_operators) {
            return None;
        }
        let all = self.leaves(path, state);
        all.iter().any(|leaf| leaf.kind.is_sure()).then(|| Root {
            vid: first,
            label: self.label(of_root[0].vid),
            at: None,
        })
    }

    fn anchor_root(&mut self, sink: &Sink) -> Option<Root> {
        let base = sink.dirfd.or(sink.handle).or_else(|| {
            // The receiver of an anchored operation is a handle that is in scope.
            let state = &sink.state;
            state
                .env
                .values()
                .copied()
                .find(|vid| matches!(self.terms.get(*vid), Term::Handle { .. }))
        });
        let found = base.and_then(|base| self.root_of(base, 0));
        found.or_else(|| {
            sink.anchored.as_ref().map(|anchor| Root {
                vid: base.unwrap_or(sink.path),
                label: anchor.clone(),
                at: Some(sink.at),
            })
        })
    }

    fn anchor_of(&mut self, sink: &Sink, leaves: &[Leaf]) -> Option<String> {
        if let Some(anchor) = &sink.anchored {
            return Some(anchor.clone());
        }
        if sink.dirfd.is_some() {
            if sink.flags.beneath {
                let kind = if sink.flags.no_symlinks {
                    "openat2 without links"
                } else {
                    "openat2"
                };
                return Some(kind.to_owned());
            }
            if leaves
                .iter()
                .all(|leaf| leaf.facts.is_one_segment() && leaf.facts.has_no_dots())
            {
                return Some("one name below a descriptor".to_owned());
            }
        }
        None
    }

    /// A parameter of the function around a handler was set once, as a constructor's is.
    pub(crate) fn is_captured(&self, of: FnId) -> bool {
        let Some(mut at) = self.asking else {
            return false;
        };
        for _ in 0..8 {
            let Some(parent) = self.program.function(at).parent else {
                return false;
            };
            at = (at.0, u32::try_from(parent).unwrap_or(u32::MAX));
            let is_top = parent == self.program.file(at.0).module.top;
            if at == of {
                return !is_top;
            }
        }
        false
    }

    pub(crate) fn function_name(&self, id: FnId) -> String {
        let function = self.program.function(id);
        let mut name = function.name.to_string();
        if let Some(class) = &function.class {
            name = format!("{class}.{name}");
        } else if name.starts_with('<')
            && let Some(parent) = function.parent
        {
            let outer = &self.program.file(id.0).module.functions[parent];
            name = format!("{}.{name}", outer.name);
        }
        name
    }

    fn ordering(&mut self, found: &mut Gathered) {
        let leaves: Vec<Vid> = found
            .flows
            .iter()
            .flat_map(|flow| flow.leaves.iter().map(|leaf| leaf.vid))
            .collect();
        let events = std::mem::take(&mut self.events);
        for event in &events {
            match event {
                Event::Key { at, value, state } => {
                    let inside = self.leaves(*value, state);
                    if inside.iter().any(|leaf| leaves.contains(&leaf.vid)) {
                        let validated = inside.iter().all(|leaf| leaf.facts.is_validated());
                        found.keys.push((
                            *at,
                            inside.iter().map(|leaf| leaf.vid).collect(),
                            validated,
                        ));
                    }
                }
                Event::Acquired {
                    entry,
                    at,
                    scoped,
                    state,
                } => {
                    // A lock that no flow comes past is none of ours.
                    let past: Vec<Vid> = found
                        .flows
                        .iter()
                        .filter(|flow| flow.sink.entry == *entry && self.comes_past(flow, *at))
                        .map(|flow| flow.sink.path)
                        .collect();
                    if past.is_empty() {
                        continue;
                    }
                    let validated = self.is_text_validated(&leaves, state)
                        || past.iter().all(|path| {
                            let inside = self.leaves(*path, state);
                            inside.iter().all(|leaf| leaf.facts.is_validated())
                        });
                    let later = found.flows.iter().any(|flow| {
                        flow.sink.at.file == at.file && flow.all(crate::facts::Facts::is_validated)
                    });
                    found.locks.push(LockFacts {
                        at: *at,
                        scoped: *scoped,
                        too_early: !validated && later,
                    });
                }
                _ => {}
            }
        }
        self.events = events;
    }

    /// Whether a lock is taken in one of the functions that lead to an operation, or is held there.
    fn comes_past(&self, flow: &Flow, lock: Span) -> bool {
        let inside = |id: FnId| {
            let span = self.program.function(id).span;
            span.file == lock.file && (span.start..=span.end).contains(&lock.start)
        };
        inside(flow.sink.function)
            || flow.sink.calls.iter().any(|(id, _)| inside(*id))
            || flow.sink.state.held.iter().any(|held| held.at == lock)
    }

    fn is_text_validated(&self, leaves: &[Vid], state: &State) -> bool {
        leaves.iter().all(|leaf| {
            let facts = self.facts_of(*leaf, state);
            facts.is_validated() || facts.any(bit::CONTAINMENT)
        }) || leaves
            .iter()
            .any(|leaf| state.own(*leaf).is_some_and(|facts| facts.is_validated()))
    }
}

/// One operation met on several ways is asked once, with what holds on all of them.
/// A function that another one hands the same text is seen through that one.
fn dedupe(flows: &mut Vec<Flow>, reached_from: &std::collections::BTreeMap<FnId, FnId>) {
    let mut out: Vec<Flow> = Vec::new();
    for flow in flows.drain(..) {
        let same = out.iter_mut().find(|known| {
            known.sink.at == flow.sink.at
                && known.sink.kind == flow.sink.kind
                && known.leaves.len() == flow.leaves.len()
                && known
                    .leaves
                    .iter()
                    .zip(&flow.leaves)
                    .all(|(a, b)| a.vid == b.vid)
        });
        match same {
            Some(known) if reached_from.get(&known.sink.entry) == Some(&flow.sink.entry) => {
                *known = flow;
            }
            Some(known) if reached_from.get(&flow.sink.entry) == Some(&known.sink.entry) => {}
            Some(known) => merge(known, flow),
            None => out.push(flow),
        }
    }
    *flows = out;
}

/// The same text at the same operation on two ways: the worse way is told. Where each is held back
/// by a guard of its own, one of them stands for both.
fn merge(known: &mut Flow, flow: Flow) {
    let (one, two) = (known.standing(), flow.standing());
    if one != two {
        if one < two {
            *known = flow;
        }
        return;
    }
    let before: Vec<crate::facts::Facts> =
        known.leaves.iter().map(|leaf| leaf.facts.clone()).collect();
    for (a, b) in known.leaves.iter_mut().zip(&flow.leaves) {
        a.facts = a.facts.both(&b.facts);
    }
    if known.standing() != one {
        for (leaf, facts) in known.leaves.iter_mut().zip(before) {
            leaf.facts = facts;
        }
    }
}

impl Scope<'_> {
    /// A fact about a descriptor, established after it was opened.
    pub(crate) fn fd_facts(&self, fd: Vid, bits: u64) -> Option<Span> {
        self.fds
            .iter()
            .find(|(known, facts)| *known == fd && facts & bits != 0)
            .map(|(_, _)| {
                self.fd_places
                    .iter()
                    .find(|(known, key, _)| *known == fd && key & bits != 0)
                    .map_or_else(Span::default, |(_, _, at)| *at)
            })
    }

    /// A temporary file that is moved away.
    pub(crate) fn moves_from(&self, flow: &Flow) -> bool {
        self.all_moves.contains(&flow.sink.path)
    }

    pub(crate) fn is_in_constructor(&self, at: Span) -> bool {
        self.program
            .file(at.file)
            .module
            .functions
            .iter()
            .any(|function| {
                (function.is_ctor || function.makes.is_some())
                    && (function.span.line..=function.span.end_line).contains(&at.line)
            })
    }
}
