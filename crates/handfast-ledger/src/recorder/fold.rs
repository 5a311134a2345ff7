//! Repeated refusals are counted, so that they cannot fill the disk and stop everybody.
//!
//! The first hundred identical refusals (actor, verb, path, kind) of a second are written as they
//! are; what follows in that second is one event with a count. An actor that asks for ever other
//! paths is folded beyond a thousand refusals a second, whatever it asks for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use handfast::{ErrorKind as PathError, Event, Phase, Verb};

use super::context::Context;
use super::translate::{asked, workload_of};
use crate::error::Error;
use crate::event::{
    Assurance, DecisionField, EventKind, Fold, Moment, PhaseField, Record, Request, U64, rfc3339,
};
use crate::level::Level;
use crate::writer::hold;

const SAME: u32 = 100;
const VARIOUS: u32 = 1000;
const WINDOW_NS: u64 = 1_000_000_000;

/// What becomes of a refusal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    Write,
    Count,
}

/// One second of one kind of refusal.
#[derive(Debug)]
struct Window {
    begun_ns: u64,
    seen: u32,
    folded: Option<Folded>,
}

/// What was counted instead of written.
#[derive(Clone, Debug)]
pub(super) struct Folded {
    count: u64,
    since: Moment,
    various: bool,
    actor: Option<String>,
    verb: Verb,
    phase: Phase,
    path: Vec<u8>,
    kind: PathError,
    why: String,
    backend: &'static str,
}

/// The refusals of the last second.
#[derive(Debug, Default)]
pub(super) struct Folds {
    hasher: RandomState,
    windows: Mutex<HashMap<u64, Window>>,
    /// When the earliest window with a count ends; 0 if there is none.
    due_ns: AtomicU64,
}

impl Folds {
    /// Whether something that was counted should be written by now.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        let due = self.due_ns.load(Ordering::Relaxed);
        due != 0 && now_ns >= due
    }

    /// Takes out what was counted in windows that are over.
    pub(super) fn due(&self, now_ns: u64) -> Vec<Folded> {
        let mut windows = hold(&self.windows);
        let mut found = Vec::new();
        let mut next = 0;
        windows.retain(|_, window| {
            let end = window.begun_ns + WINDOW_NS;
            if now_ns >= end {
                found.extend(window.folded.take());
                return false;
            }
            if window.folded.is_some() {
                next = if next == 0 { end } else { end.min(next) };
            }
            true
        });
        self.due_ns.store(next, Ordering::Relaxed);
        found.sort_by_key(|folded| folded.since.boot_ns);
        found
    }

    /// Takes one refusal.
    pub(super) fn meet(
        &self,
        event: &Event<'_>,
        kind: PathError,
        why: &str,
        now: Moment,
    ) -> Verdict {
        let path = asked(event);
        let same = self.hasher.hash_one((event.actor, event.verb, kind, path));
        let actor = self.hasher.hash_one((event.actor, "any"));
        let mut windows = hold(&self.windows);
        // Both are counted, so that neither limit hides the other.
        let by_actor = Self::count(&mut windows, actor, now.boot_ns, VARIOUS);
        let by_path = Self::count(&mut windows, same, now.boot_ns, SAME);
        let (key, various) = match (by_path, by_actor) {
            (true, _) => (same, false),
            (false, true) => (actor, true),
            (false, false) => return Verdict::Write,
        };
        let Some(window) = windows.get_mut(&key) else {
            return Verdict::Write;
        };
        let folded = window.folded.get_or_insert_with(|| Folded {
            count: 0,
            since: now,
            various,
            actor: event.actor.map(str::to_owned),
            verb: event.verb,
            phase: event.phase,
            path: path.to_vec(),
            kind,
            why: why.to_owned(),
            backend: event.backend.name(),
        });
        folded.count += 1;
        let end = window.begun_ns + WINDOW_NS;
        let due = self.due_ns.load(Ordering::Relaxed);
        if due == 0 || end < due {
            self.due_ns.store(end, Ordering::Relaxed);
        }
        Verdict::Count
    }

    /// Counts in a window; whether it is beyond its limit. A window that is over and holds a
    /// count stays until that is written.
    fn count(windows: &mut HashMap<u64, Window>, key: u64, now_ns: u64, limit: u32) -> bool {
        let window = windows.entry(key).or_insert(Window {
            begun_ns: now_ns,
            seen: 0,
            folded: None,
        });
        if now_ns >= window.begun_ns + WINDOW_NS && window.folded.is_none() {
            window.begun_ns = now_ns;
            window.seen = 0;
        }
        window.seen = window.seen.saturating_add(1);
        window.seen > limit
    }
}

impl Folded {
    /// The event that tells the count.
    pub(super) fn leaf(&self, context: &Context, level: Level) -> Result<Vec<u8>, Error> {
        let phase = match self.phase {
            Phase::Intent => PhaseField::Intent,
            _ => PhaseField::Single,
        };
        let mut record = Record::new(EventKind::Verb(self.verb), phase, Moment::now());
        record.req = Some(Request::of(if self.path.is_empty() {
            b"."
        } else {
            &self.path
        }));
        record.wl = Some(workload_of(context, self.actor.as_deref()));
        record.lease = context.lease.clone();
        record.decision = Some(DecisionField {
            allow: false,
            kind: Some(Cow::Borrowed(self.kind.name())),
            why: Some(Cow::Borrowed(&self.why)),
            ..DecisionField::default()
        });
        record.assure = Some(Assurance {
            resolve: Some(Cow::Borrowed(self.backend)),
            visibility: None,
            level: Some(Cow::Borrowed(level.name())),
        });
        record.fold = Some(Fold {
            count: U64(self.count),
            since: Cow::Owned(rfc3339(self.since.wall_ns)),
            paths: Cow::Borrowed(if self.various { "various" } else { "same" }),
        });
        record.to_leaf()
    }
}
