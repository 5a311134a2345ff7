//! The events of an extraction: one operation, with the archive's digest and the paths it made.

use std::borrow::Cow;
use std::fmt;

use handfast::{
    Backend, Decision, Effect, Error, ErrorKind, Event, FileKind, Identity, Phase, RecordError,
    Recorder, RelPath, TouchedEntry, Verb,
};

use crate::member::MemberKind;
use crate::report::{Outcome, Report};
use crate::target::{Target, TargetPlace};

/// One event holds at most this many entries, or this many bytes of paths.
const MAX_EVENT_ENTRIES: usize = 256;
const MAX_EVENT_BYTES: usize = 32 * 1024;

/// The recorder of an extraction, and the actor that it is done for.
#[derive(Clone, Copy)]
pub struct Telling<'a> {
    /// Called before the tree is published; if it refuses, nothing is published.
    pub recorder: &'a dyn Recorder,
    /// The actor in every event.
    pub actor: Option<&'a str>,
}

impl fmt::Debug for Telling<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telling")
            .field("actor", &self.actor)
            .finish_non_exhaustive()
    }
}

/// The events of one extraction.
pub(crate) struct Story<'a> {
    telling: Telling<'a>,
    path: &'a RelPath,
    root: Identity,
    backend: Backend,
    /// `sha256:` and the digest, once all of the archive was read.
    digest: Option<RelPath>,
    id: u64,
}

impl<'a> Story<'a> {
    pub(crate) fn new(telling: Telling<'a>, target: &Target<'a>) -> Result<Self, Error> {
        let backend = match target.place {
            TargetPlace::Root(root) => root.backend(),
            TargetPlace::Files(_) => Backend::Kernel,
        };
        Ok(Self {
            telling,
            path: target.path,
            root: target.files().top()?.metadata().identity,
            backend,
            digest: None,
            id: 0,
        })
    }

    /// Records that the archive is about to be published, with its digest and its paths.
    pub(crate) fn intend(&mut self, report: &Report) -> Result<(), Error> {
        self.know(report)?;
        self.tell(Phase::Intent, Decision::Allowed, &[])?;
        let (mut list, mut bytes) = (Vec::new(), 0);
        for verdict in &report.verdicts {
            let (Outcome::Accepted, Some(path)) = (&verdict.outcome, &verdict.path) else {
                continue;
            };
            bytes += path.as_bytes().len();
            list.push(TouchedEntry {
                path: path.as_bytes().to_vec(),
                kind: kind_of(verdict.kind),
            });
            if list.len() >= MAX_EVENT_ENTRIES || bytes >= MAX_EVENT_BYTES {
                self.tell(Phase::Entries, Decision::Allowed, &list)?;
                (list, bytes) = (Vec::new(), 0);
            }
        }
        match list.is_empty() {
            true => Ok(()),
            false => self.tell(Phase::Entries, Decision::Allowed, &list),
        }
    }

    /// Records the result.
    pub(crate) fn end(mut self, published: Result<(), Error>) -> Result<(), Error> {
        let decision = match &published {
            Ok(()) => Decision::Allowed,
            Err(error) => Decision::Refused {
                kind: error.kind(),
                why: error.detail(),
            },
        };
        let told = self.tell(Phase::Result, decision, &[]);
        // The first error is the one that helps the caller.
        published?;
        told.map_err(|error| error.with_effect(Effect::Visible))
    }

    /// Records that nothing is published.
    pub(crate) fn refuse(
        mut self,
        report: &Report,
        kind: ErrorKind,
        why: Cow<'_, str>,
    ) -> Result<(), Error> {
        self.know(report)?;
        let why = why.into_owned();
        // An intent that was recorded needs a result.
        let phase = match self.id {
            0 => Phase::Intent,
            _ => Phase::Result,
        };
        self.tell(phase, Decision::Refused { kind, why }, &[])
    }

    fn know(&mut self, report: &Report) -> Result<(), Error> {
        if let Some(digest) = &report.digest {
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            self.digest = Some(RelPath::parse(format!("sha256:{hex}"))?);
        }
        Ok(())
    }

    fn tell(
        &mut self,
        phase: Phase,
        decision: Decision,
        entries: &[TouchedEntry],
    ) -> Result<(), Error> {
        let mut event = Event::begin(Verb::Extract, self.path, self.root, self.backend);
        event.actor = self.telling.actor;
        event.destination = self.digest.as_ref();
        event.decision = decision;
        event.entries = entries;
        event.phase = phase;
        match phase {
            Phase::Intent => self.id = event.op_id,
            _ => event.op_id = self.id,
        }
        self.telling.recorder.record(&event).map_err(|refused| {
            let kind = match &refused {
                RecordError::Refused(_) => ErrorKind::Denied,
                RecordError::Failed(_) => ErrorKind::Io,
            };
            Error::refused(kind, refused.to_string())
        })
    }
}

fn kind_of(kind: MemberKind) -> FileKind {
    match kind {
        MemberKind::Dir => FileKind::Dir,
        MemberKind::Symlink => FileKind::Symlink,
        _ => FileKind::File,
    }
}
