//! Opening, looking, locking: what leaves handles and marks behind.

use crate::facts::bit;
use crate::interp::{
    Event, FailedCheck, Interp, OpenFlags, OpenedValue, RootCheck, Sink, SinkKind,
};
use crate::ir::{Arg, Span, Sym};
use crate::state::{HeldLock, State};
use crate::term::{Term, Vid};

impl Interp<'_> {
    /// Remembers a path operation with all that is known here.
    pub(super) fn sink(&mut self, sink: Sink) {
        if self.muted == 0 && self.sinks.len() < 4000 {
            self.sinks.push(sink);
        }
    }

    pub(super) fn new_sink(
        &mut self,
        kind: SinkKind,
        name: &str,
        path: Vid,
        at: Span,
        is_guess: bool,
        state: &State,
    ) -> Sink {
        let path = self.deref(path, state);
        // Rust: `[root, name].iter().collect::<PathBuf>()`.
        let path = match self.terms.get(path).clone() {
            Term::List(parts) if self.lang() == crate::lang::Lang::Rust && parts.len() > 1 => {
                self.join_paths(parts, true, state)
            }
            _ => path,
        };
        let calls = self
            .frames
            .iter()
            .skip(1)
            .map(|frame| (frame.id, frame.called_at))
            .collect();
        let tolerates = false;
        // What a macro does happens where the macro is named.
        let mut frames = self.frames.iter().rev();
        let mut at = at;
        let mut function = self.here();
        while let Some(frame) = frames.next()
            && self.program.function(frame.id).is_macro
            && frame.called_at.line > 0
        {
            at = frame.called_at;
            function = frames.clone().next().map_or(function, |outer| outer.id);
        }
        Sink {
            entry: self.entry(),
            kind,
            name: Sym::from(name),
            at,
            function,
            path,
            flags: OpenFlags::default(),
            recursive: false,
            dirfd: None,
            anchored: None,
            state: state.clone(),
            calls,
            is_guess: is_guess || self.doubt > 0,
            tolerates_existing: tolerates,
            is_shell: false,
            has_separator: false,
            fd: None,
            from: None,
            handle: None,
            in_loop: self
                .frames
                .last()
                .is_some_and(|frame| !frame.loops.is_empty()),
        }
    }

    /// Opens a path: from here on there is a descriptor.
    pub(super) fn open(
        &mut self,
        path: Vid,
        flags: OpenFlags,
        dirfd: Option<Vid>,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let path = self.deref(path, state);
        let index = u32::try_from(self.opens.len()).unwrap_or(u32::MAX);
        self.opens.push(OpenedValue { path, dirfd });
        let fd = self.terms.make(Term::Fd(index));
        if flags.directory && flags.no_follow {
            // A step of a walk by descriptors.
            let bits = bit::LSTAT | bit::NOT_LINK | bit::IS_DIR;
            self.walk_step(path, bits, state, at);
            state.add(path, bits | bit::FRESH_LSTAT, at);
            if self
                .leaves(path, state)
                .iter()
                .all(|leaf| leaf.kind == crate::term::SourceKind::Guessed)
            {
                self.events.push(Event::RootSeen {
                    at,
                    value: path,
                    how: RootCheck::OpenedNoFollow,
                });
            }
        }
        fd
    }

    /// A question to the filesystem about a path or a descriptor.
    pub(super) fn stat(
        &mut self,
        of: Vid,
        follow: bool,
        fd: bool,
        at: Span,
        state: &mut State,
    ) -> Vid {
        let of = self.deref(of, state);
        let fd = fd || matches!(self.terms.get(of), Term::Fd(_));
        let vid = self.terms.make(Term::Stat { of, follow, fd, at });
        if !fd {
            if self.muted == 0 {
                let function = self.here();
                self.events.push(Event::Asked {
                    at,
                    path: of,
                    follow,
                    function,
                    is_access: false,
                });
            }
            let sink = self.new_sink(SinkKind::Stat, "stat", of, at, true, state);
            self.sink(sink);
            // A failure is the validator's matter only where external text is asked about.
            let external = !self.leaves(of, state).is_empty();
            let mut failed = state.clone();
            self.vacuous(of, &mut failed, at);
            failed.failing = external.then_some(vid);
            if self.is_caught() {
                self.may_throw(&failed);
            } else if external && matches!(self.lang().family(), "python" | "javascript") {
                self.failure(FailedCheck::Raw, at);
            }
        }
        self.note_stat(vid, state);
        vid
    }

    /// What a look itself establishes, before its answer is looked at.
    pub(super) fn note_stat(&mut self, vid: Vid, state: &mut State) {
        let Term::Stat { of, follow, fd, at } = *self.terms.get(vid) else {
            return;
        };
        if fd {
            return;
        }
        if follow {
            state.add(of, bit::LOOKED, at);
        } else {
            state.add(of, bit::LSTAT, at);
            self.walk_step(of, 0, state, at);
        }
    }

    /// What is not there is no link and no device.
    pub(super) fn vacuous(&mut self, of: Vid, state: &mut State, at: Span) {
        let bits = bit::LSTAT | bit::NOT_LINK | bit::IS_DIR | bit::IS_REG | bit::FRESH_LSTAT;
        state.add(of, bits, at);
        self.walk_step(of, bits, state, at);
    }

    /// The status of a look: it failed, or it did not.
    pub(super) fn stat_status(&mut self, stat: Vid, failed: bool, state: &mut State, at: Span) {
        let Term::Stat { of, fd, follow, .. } = *self.terms.get(stat) else {
            return;
        };
        if failed && !fd {
            if !follow {
                self.vacuous(of, state, at);
            }
            state.failing = (!self.leaves(of, state).is_empty()).then_some(stat);
            state.missing = false;
        } else {
            state.failing = None;
        }
    }

    pub(super) fn acquire(&mut self, value: Vid, scoped: bool, at: Span, state: &mut State) {
        if self.muted == 0 {
            let entry = self.entry();
            self.events.push(Event::Acquired {
                entry,
                at,
                scoped,
                state: state.clone(),
            });
        }
        state.age();
        state.held.push(HeldLock { at, value, scoped });
    }

    /// A table indexed by external text is a key derived from it.
    /// `cache.get(name)`, `locks.setdefault(name, …)`: a key of something that is shared.
    pub(super) fn note_lookup(
        &mut self,
        table: Vid,
        method: &str,
        args: &[Arg],
        at: Span,
        state: &mut State,
    ) {
        let looks = matches!(
            method,
            "get"
                | "has"
                | "set"
                | "setdefault"
                | "pop"
                | "Load"
                | "Store"
                | "LoadOrStore"
                | "entry"
                | "contains_key"
                | "insert"
        );
        // Only what can be asked for twice without doing anything.
        let first = args.first().filter(|arg| arg.value.dotted().is_some());
        if let (true, Some(first)) = (looks, first) {
            let key = self.eval(&first.value, state);
            self.note_key(table, key, at, state);
        }
    }

    pub(super) fn note_key(&mut self, base: Vid, index: Vid, at: Span, state: &State) {
        let name = self.name_of(base).unwrap_or_default().to_ascii_lowercase();
        let shared = ["cache", "lock", "registry", "pool"]
            .iter()
            .any(|word| name.contains(word));
        if shared && self.muted == 0 && !self.leaves(index, state).is_empty() {
            self.events.push(Event::Key {
                at,
                value: index,
                state: state.clone(),
            });
        }
    }
}
