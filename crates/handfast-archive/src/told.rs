//! What a log hears of an archive: one operation, with its digest and the paths that came of it.

use std::borrow::Cow;
use std::fmt;

use handfast::{
    Backend, Decision, Effect, Error, ErrorKind, Event, FileKind, Identity, Phase, RecordError,
    Recorder, RelPath, TouchedEntry, Verb,
};

use crate::member::MemberKind;
use crate::report::{Outcome, Report};
use crate::target::{Place, Target};

/// One event holds at most this many entries, or bytes of them.
const SPILL: usize = 256;
const SPILL_BYTES: usize = 32 * 1024;

/// Who hears what becomes of an archive, and on whose behalf it is extracted.
#[derive(Clone, Copy)]
pub struct Telling<'a> {
    /// It is told before the tree is published, and may say no.
    pub recorder: &'a dyn Recorder,
    /// Stands in every event.
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
            Place::Root(root) => root.backend(),
            Place::Files(_) => Backend::Kernel,
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

    /// The archive is about to be published: its digest, and what comes of it.
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
            if list.len() >= SPILL || bytes >= SPILL_BYTES {
                self.tell(Phase::Entries, Decision::Allowed, &list)?;
                (list, bytes) = (Vec::new(), 0);
            }
        }
        match list.is_empty() {
            true => Ok(()),
            false => self.tell(Phase::Entries, Decision::Allowed, &list),
        }
    }

    /// It was published, or that failed.
    pub(crate) fn end(mut self, published: Result<(), Error>) -> Result<(), Error> {
        let decision = match &published {
            Ok(()) => Decision::Allowed,
            Err(error) => Decision::Refused {
                kind: error.kind(),
                why: error.detail(),
            },
        };
        let told = self.tell(Phase::Result, decision, &[]);
        // What went wrong first is what the caller should know.
        published?;
        told.map_err(|error| error.with_effect(Effect::Visible))
    }

    /// Nothing will be published.
    pub(crate) fn refuse(
        mut self,
        report: &Report,
        kind: ErrorKind,
        why: Cow<'_, str>,
    ) -> Result<(), Error> {
        self.know(report)?;
        let why = why.into_owned();
        // An intent that was told gets its result.
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
