//! What is done to a session as a whole, told to its recorder: an intent before, what it is about
//! in lists, a result after.
//!
//! The path of these events is the session's top; the label of a snapshot or the name of a fork is
//! their destination.

use std::collections::BTreeSet;

use handfast::{Decision, Effect, Event, FileKind, Name, Phase, RelPath, TouchedEntry, Verb};

use crate::error::Error;
use crate::op::not_recorded;
use crate::session::Session;
use crate::vpath::VirtualPath;
use crate::whole::Changed;

/// Entries are told in lists of this length, or of this many bytes.
const SPILL: usize = 256;
const SPILL_BYTES: usize = 32 * 1024;

/// One deed, while it is under way.
pub(crate) struct Deed<'a> {
    session: &'a Session,
    verb: Verb,
    top: RelPath,
    label: Option<RelPath>,
    id: u64,
    told: BTreeSet<Vec<u8>>,
    message: Option<&'a str>,
}

impl Session {
    /// Does something to the whole session. Nothing is done that the recorder did not take.
    pub(crate) fn whole<T>(
        &self,
        verb: Verb,
        label: Option<&Name>,
        act: impl FnOnce(&mut Deed<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.whole_because(verb, label, None, act)
    }

    /// As [`Session::whole`]; the recorder is told why.
    pub(crate) fn whole_because<T>(
        &self,
        verb: Verb,
        label: Option<&Name>,
        message: Option<&str>,
        act: impl FnOnce(&mut Deed<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut deed = Deed {
            session: self,
            verb,
            top: RelPath::root(),
            label: label.map(RelPath::from),
            id: 0,
            told: BTreeSet::new(),
            message,
        };
        deed.tell(Phase::Intent, Decision::Allowed, &[])?;
        let done = act(&mut deed);
        let decision = match &done {
            Ok(_) => return done,
            Err(error) => Decision::Refused {
                kind: error.kind(),
                why: error.detail(),
            },
        };
        // What went wrong first is what the caller should know.
        drop(deed.tell(Phase::Result, decision, &[]));
        done
    }
}

impl Session {
    /// Tells the recorder that a person refused to commit a path.
    pub(crate) fn tell_rejected(&self, path: &VirtualPath, why: &str) -> Result<(), Error> {
        let mut deed = Deed {
            session: self,
            verb: Verb::Commit,
            top: path.as_rel().clone(),
            label: None,
            id: 0,
            told: BTreeSet::new(),
            message: None,
        };
        let decision = Decision::Refused {
            kind: handfast::ErrorKind::Denied,
            why: format!("rejected by the reviewer: {}", why.trim()),
        };
        deed.tell(Phase::Intent, decision, &[])
    }
}

impl Deed<'_> {
    /// Whether anybody listens.
    pub(crate) fn is_recorded(&self) -> bool {
        self.session.caller().recorder_for(true).is_some()
    }

    /// Tells which changed paths it is about, those at or below the chosen ones.
    pub(crate) fn is_about(
        &mut self,
        changes: &[Changed],
        chosen: &[VirtualPath],
    ) -> Result<(), Error> {
        let is_chosen = |path: &VirtualPath| {
            chosen.is_empty() || chosen.iter().any(|above| path.starts_with(above))
        };
        let mut touched = Vec::new();
        for change in changes.iter().filter(|change| is_chosen(&change.path)) {
            // A rename takes away the old name too.
            for path in change.from.iter().chain([&change.path]) {
                touched.push((path, kind_of(change)));
            }
        }
        self.touch(touched)
    }

    /// Tells what was touched besides: others may have changed the session since it was looked at.
    pub(crate) fn also(&mut self, paths: &[VirtualPath]) -> Result<(), Error> {
        self.touch(paths.iter().map(|path| (path, FileKind::Unknown)).collect())
    }

    fn touch(&mut self, touched: Vec<(&VirtualPath, FileKind)>) -> Result<(), Error> {
        let mut list = Vec::new();
        let mut bytes = 0;
        for (path, kind) in touched {
            let path = path.as_rel().as_bytes().to_vec();
            if !self.told.insert(path.clone()) {
                continue;
            }
            bytes += path.len();
            list.push(TouchedEntry { path, kind });
            if list.len() >= SPILL || bytes >= SPILL_BYTES {
                self.tell(Phase::Entries, Decision::Allowed, &list)?;
                list.clear();
                bytes = 0;
            }
        }
        if list.is_empty() {
            return Ok(());
        }
        self.tell(Phase::Entries, Decision::Allowed, &list)
    }

    /// It is done, as far as `decision` says.
    pub(crate) fn done(&mut self, decision: Decision) -> Result<(), Error> {
        self.tell(Phase::Result, decision, &[])
            .map_err(|error| error.with_effect(Effect::Visible))
    }

    fn tell(
        &mut self,
        phase: Phase,
        decision: Decision,
        entries: &[TouchedEntry],
    ) -> Result<(), Error> {
        let Some(recorder) = self.session.caller().recorder_for(true) else {
            return Ok(());
        };
        let overlay = self.session.overlays().map(|(mount, _)| mount).next();
        let Some(mount) = overlay.or_else(|| self.session.mounts().iter().next()) else {
            return Ok(());
        };
        let base = &mount.base;
        let backend = base.backend();
        let mut event = Event::begin(self.verb, &self.top, base.identity(), backend);
        event.actor = self.session.caller().told_actor();
        event.destination = self.label.as_ref();
        event.decision = decision;
        event.entries = entries;
        event.phase = phase;
        if phase == Phase::Intent {
            event.text = self.message.map(str::as_bytes);
        }
        match phase {
            Phase::Intent => self.id = event.op_id,
            _ => event.op_id = self.id,
        }
        recorder
            .record(&event)
            .map_err(|refused| not_recorded(&refused).on(self.verb, "/"))
    }
}

/// A change knows directories from the rest.
fn kind_of(change: &Changed) -> FileKind {
    if change.is_dir {
        FileKind::Dir
    } else {
        FileKind::Unknown
    }
}
