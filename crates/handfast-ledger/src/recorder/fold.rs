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
use super::translate::{asked, level_of, workload_of};
use crate::error::Error;
use crate::event::{
    Assurance, DecisionField, EventKind, Fold, Moment, PhaseField, Record, Request, U64, rfc3339,
};
use crate::level::Level;
use crate::writer::hold;

const SAME: u32 = 100;
const VARIOUS: u32 = 1000;
const WINDOW_NS: u64 = 1_000_000_000;

/// Before there are more windows than this, none is looked for that is over.
const FEW: usize = 1024;

/// What becomes of a refusal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FoldDecision {
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
    windows: Mutex<Windows>,
    /// When the earliest window with a count ends; 0 if there is none.
    due_ns: AtomicU64,
}

/// Windows by what they are of.
#[derive(Debug, Default)]
struct Windows {
    by_key: HashMap<u64, Window>,
    /// With so many, those that are over are taken out.
    sweep_at: usize,
}

impl Windows {
    /// Takes out what is over and counted nothing. Twice as many as stay may come before the next
    /// time, so that each costs little.
    fn sweep(&mut self, now_ns: u64) {
        if self.by_key.len() < self.sweep_at.max(FEW) {
            return;
        }
        self.by_key
            .retain(|_, window| window.folded.is_some() || !window.is_over(now_ns));
        self.sweep_at = 2 * self.by_key.len();
    }

    /// Counts in a window; whether it is beyond its limit. A window that is over and holds a
    /// count stays until that is written.
    fn count(&mut self, key: u64, now_ns: u64, limit: u32) -> bool {
        let window = self.by_key.entry(key).or_insert(Window {
            begun_ns: now_ns,
            seen: 0,
            folded: None,
        });
        if window.is_over(now_ns) && window.folded.is_none() {
            window.begun_ns = now_ns;
            window.seen = 0;
        }
        window.seen = window.seen.saturating_add(1);
        window.seen > limit
    }
}

impl Window {
    fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.begun_ns + WINDOW_NS
    }
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
        windows.by_key.retain(|_, window| {
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

    #[cfg(test)]
    fn len(&self) -> usize {
        hold(&self.windows).by_key.len()
    }

    /// Takes one refusal.
    pub(super) fn meet(
        &self,
        event: &Event<'_>,
        kind: PathError,
        why: &str,
        now: Moment,
    ) -> FoldDecision {
        let path = asked(event);
        let same = self.hasher.hash_one((event.actor, event.verb, kind, path));
        let actor = self.hasher.hash_one((event.actor, "any"));
        let mut windows = hold(&self.windows);
        windows.sweep(now.boot_ns);
        // Both are counted, so that neither limit hides the other; but an actor beyond its own
        // limit adds no more paths to those that are watched.
        let by_actor = windows.count(actor, now.boot_ns, VARIOUS);
        let is_watched = !by_actor || windows.by_key.contains_key(&same);
        let by_path = is_watched && windows.count(same, now.boot_ns, SAME);
        let (key, various) = match (by_path, by_actor) {
            (true, _) => (same, false),
            (false, true) => (actor, true),
            (false, false) => return FoldDecision::Write,
        };
        let Some(window) = windows.by_key.get_mut(&key) else {
            return FoldDecision::Write;
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
        FoldDecision::Count
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
            level: level_of(level),
        });
        record.fold = Some(Fold {
            count: U64(self.count),
            since: Cow::Owned(rfc3339(self.since.wall_ns)),
            paths: Cow::Borrowed(if self.various { "various" } else { "same" }),
        });
        record.to_leaf()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast::{Backend, Identity, RelPath};

    /// Refusals of ever other paths, so many a second, for so many seconds. How many are written.
    fn refuse(folds: &Folds, each_second: u64, seconds: u64) -> u64 {
        let root = Identity {
            device: 1,
            inode: 2,
            mount: None,
            born: None,
        };
        let mut written = 0;
        for number in 0..each_second * seconds {
            let path = RelPath::parse(format!("secret-{number}")).unwrap();
            let mut event = Event::begin(Verb::Open, &path, root, Backend::Kernel);
            event.actor = Some("somebody");
            let now = Moment {
                wall_ns: 0,
                boot_ns: number * WINDOW_NS / each_second,
            };
            if folds.is_due(now.boot_ns) {
                drop(folds.due(now.boot_ns));
            }
            let verdict = folds.meet(&event, PathError::Denied, "no", now);
            written += u64::from(verdict == FoldDecision::Write);
        }
        written
    }

    #[test]
    fn whoever_asks_for_ever_other_paths_takes_bounded_memory() {
        // Slowly enough that nothing is folded, and fast enough that nearly everything is.
        let (slow, fast) = (Folds::default(), Folds::default());
        assert_eq!(refuse(&slow, 500, 60), 30_000);
        assert!(slow.len() < 5_000, "{}", slow.len());
        assert_eq!(refuse(&fast, 200_000, 2), 2_000);
        assert!(fast.len() < 5_000, "{}", fast.len());
    }
}
