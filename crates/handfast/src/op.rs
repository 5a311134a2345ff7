//! One operation, from the request to the last event.
//!
//! Every public verb runs inside [`Root::act`]: it adds verb and path to faults, and sees to it
//! that exactly one decision is recorded before anything is given out or changed, and one result
//! after a change. A verb that forgets to decide fails its first test.

use crate::error::{Effect, Error, ErrorKind, Fault};
use crate::event::{Decision, Event, Phase, RecordError, Recorder, TouchedEntry, next_op_id};
use crate::identity::Identity;
use crate::metadata::Metadata;
use crate::path::RelPath;
use crate::root::Root;
use crate::verb::Verb;

/// The entries of a tree operation are recorded in lists of this length, or of this many bytes.
const MAX_EVENT_ENTRIES: usize = 256;
const MAX_EVENT_BYTES: usize = 32 * 1024;

/// What an operation knows of itself.
pub(crate) struct Op<'a> {
    root: &'a Root,
    verb: Verb,
    path: &'a RelPath,
    /// The second path, and the root or directory that it counts from.
    destination: Option<(&'a Root, &'a RelPath)>,
    /// The paths as the top of the root would say them, where a directory below it was used and
    /// somebody listens.
    full: Option<Box<(RelPath, Option<RelPath>)>>,
    id: u64,
    decided: bool,
    /// The recorder itself refused: it knows.
    silent: bool,
    /// The object, where it was only known after the decision.
    object: Option<Box<Metadata>>,
    touched: Vec<TouchedEntry>,
    touched_bytes: usize,
}

impl Root {
    /// Turns text into a path as [`RelPath::clean`] does, and records it if it is refused.
    ///
    /// # Errors
    /// As [`RelPath::clean`]; `Io` or `Denied` if the refusal cannot be recorded.
    pub fn path(&self, text: impl AsRef<[u8]>) -> Result<RelPath, Error> {
        let text = text.as_ref();
        let error = match RelPath::clean(text) {
            Ok(path) => return Ok(path),
            Err(error) => error,
        };
        if let Some(recorder) = &self.options.recorder {
            let top = RelPath::root();
            let mut event = Event::begin(Verb::Parse, &top, self.pinned.identity, self.backend());
            event.actor = self.options.actor.as_deref();
            // It may be of any length.
            event.text = Some(&text[..text.len().min(4096)]);
            event.decision = Decision::Refused {
                kind: error.kind(),
                why: error.detail(),
            };
            recorder.record(&event).map_err(|refused| {
                Error::new(Verb::Parse, crate::escape(text), record_fault(&refused))
            })?;
        }
        Err(error)
    }

    /// Runs a verb on one path.
    #[inline(always)]
    pub(crate) fn act<T>(
        &self,
        verb: Verb,
        path: &RelPath,
        body: impl FnOnce(&mut Op<'_>) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        self.act_between(verb, path, None, body)
    }

    /// Runs a verb on a source and a destination.
    #[inline(always)]
    pub(crate) fn act_on_two<T>(
        &self,
        verb: Verb,
        path: &RelPath,
        destination: &RelPath,
        body: impl FnOnce(&mut Op<'_>) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        self.act_between(verb, path, Some((self, destination)), body)
    }

    /// Runs a verb on a source and a destination that may count from another directory.
    #[inline(always)]
    pub(crate) fn act_between<T>(
        &self,
        verb: Verb,
        path: &RelPath,
        destination: Option<(&Self, &RelPath)>,
        body: impl FnOnce(&mut Op<'_>) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        let is_recorded = self.options.recorder.is_some();
        let is_below =
            self.below.is_some() || destination.is_some_and(|(root, _)| root.below.is_some());
        let full = (is_recorded && is_below).then(|| {
            let destination = destination.map(|(root, path)| root.full(path));
            Box::new((self.full(path), destination))
        });
        let mut op = Op {
            root: self,
            verb,
            path,
            destination,
            full,
            id: if is_recorded { next_op_id() } else { 0 },
            decided: false,
            silent: false,
            object: None,
            touched: Vec::new(),
            touched_bytes: 0,
        };
        let result = body(&mut op);
        debug_assert!(
            op.decided || result.is_err(),
            "the verb {verb} gave something out without a decision"
        );
        if self.options.recorder.is_some() {
            return op.finish(result);
        }
        // The usual case, kept short: there is no recorder.
        match result {
            Ok(value) => Ok(value),
            Err(fault) => Err(op.error(fault)),
        }
    }
}

impl Op<'_> {
    /// Tells the recorder what is about to happen. Nothing is given out or changed before this.
    #[inline(always)]
    pub(crate) fn allow(&mut self, object: Option<&Metadata>) -> Result<(), Fault> {
        self.allow_in(None, object)
    }

    /// As [`Op::allow`], with the directory that holds the name.
    #[inline(always)]
    pub(crate) fn allow_in(
        &mut self,
        parent: Option<Identity>,
        object: Option<&Metadata>,
    ) -> Result<(), Fault> {
        debug_assert!(!self.decided, "one decision an operation");
        self.decided = true;
        if !self.is_recorded() {
            return Ok(());
        }
        self.tell_allowed(parent, object)
    }

    #[cold]
    fn tell_allowed(
        &mut self,
        parent: Option<Identity>,
        object: Option<&Metadata>,
    ) -> Result<(), Fault> {
        let Some(recorder) = self.recorder() else {
            return Ok(());
        };
        let phase = if self.verb.changes() {
            Phase::Intent
        } else {
            Phase::Single
        };
        let event = Event {
            parent,
            object,
            ..self.event(phase, Decision::Allowed)
        };
        recorder.record(&event).map_err(|error| {
            self.silent = true;
            record_fault(&error)
        })
    }

    /// Tells with the result which object it was, where the decision came before it was there.
    pub(crate) fn note(&mut self, object: &Metadata) {
        if self.is_recorded() {
            self.object = Some(Box::new(*object));
        }
    }

    /// Whether anybody listens: what only events need is not collected otherwise.
    pub(crate) fn is_recorded(&self) -> bool {
        self.root.options.recorder.is_some()
    }

    /// Notes an entry that a tree operation touched.
    pub(crate) fn touch(&mut self, entry: TouchedEntry) -> Result<(), Fault> {
        self.touched_bytes += entry.path.len();
        self.touched.push(entry);
        if self.touched.len() >= MAX_EVENT_ENTRIES || self.touched_bytes >= MAX_EVENT_BYTES {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), Fault> {
        let entries = std::mem::take(&mut self.touched);
        self.touched_bytes = 0;
        let Some(recorder) = self.recorder() else {
            return Ok(());
        };
        if entries.is_empty() {
            return Ok(());
        }
        let event = Event {
            entries: &entries,
            ..self.event(Phase::Entries, Decision::Allowed)
        };
        recorder
            .record(&event)
            .map_err(|error| record_fault(&error).with_effect(Effect::Visible))
    }

    #[cold]
    fn error(&self, fault: Fault) -> Error {
        let shown = |(root, path): (&Root, &RelPath)| root.full(path).to_string();
        Error::new(self.verb, shown((self.root, self.path)), fault)
            .with_destination(self.destination.map(shown))
    }

    #[cold]
    fn finish<T>(&mut self, result: Result<T, Fault>) -> Result<T, Error> {
        let result = match (self.spill(), result) {
            (Err(fault), Ok(_)) => Err(fault),
            (_, result) => result,
        };
        let result = match (self.tell_end(result.as_ref().err()), result) {
            (Err(fault), Ok(_)) => Err(fault),
            (_, result) => result,
        };
        result.map_err(|fault| self.error(fault))
    }

    /// The result of a change, or the refusal of anything.
    fn tell_end(&self, fault: Option<&Fault>) -> Result<(), Fault> {
        let Some(recorder) = self.recorder() else {
            return Ok(());
        };
        if self.silent {
            return Ok(());
        }
        let phase = match (self.decided, self.verb.changes(), fault.is_some()) {
            (true, true, _) => Phase::Result,
            (false, true, true) => Phase::Intent,
            (_, false, true) => Phase::Single,
            _ => return Ok(()),
        };
        // A read that failed after it was allowed is not recorded twice.
        if phase == Phase::Single && self.decided {
            return Ok(());
        }
        let decision = fault.map_or(Decision::Allowed, |fault| Decision::Refused {
            kind: fault.kind,
            why: fault.to_string(),
        });
        recorder
            .record(&self.event(phase, decision))
            .map_err(|error| record_fault(&error).with_effect(Effect::Visible))
    }

    fn recorder(&self) -> Option<&dyn Recorder> {
        self.root.options.recorder.as_deref()
    }

    fn event(&self, phase: Phase, decision: Decision) -> Event<'_> {
        let (path, destination) = match &self.full {
            Some(full) => (&full.0, full.1.as_ref()),
            None => (self.path, self.destination.map(|(_, path)| path)),
        };
        Event {
            op_id: self.id,
            phase,
            actor: self.root.options.actor.as_deref(),
            process: None,
            verb: self.verb,
            path,
            destination,
            text: None,
            root: self.root.pinned.identity,
            parent: None,
            object: self.object.as_deref(),
            decision,
            entries: &[],
            backend: self.root.backend(),
        }
    }
}

fn record_fault(error: &RecordError) -> Fault {
    let kind = match error {
        RecordError::Refused(_) => ErrorKind::Denied,
        RecordError::Failed(_) => ErrorKind::Io,
    };
    Fault::rule(kind, error.to_string())
}
