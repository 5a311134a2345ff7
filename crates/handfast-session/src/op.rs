//! One operation of a session and its events: what is about to happen, and what came of it.

use std::cell::Cell;

use handfast::{Decision, ErrorKind, Event, Metadata, Phase, RecordError, Verb};

use crate::error::{Error, NotRecorded};
use crate::mount::Mount;
use crate::session::Session;
use crate::vpath::VirtualPath;

/// One operation and its events.
pub(crate) struct Op<'a> {
    session: &'a Session,
    verb: Verb,
    path: &'a VirtualPath,
    destination: Option<&'a VirtualPath>,
    told: Cell<Option<u64>>,
    /// The recorder itself refused: it knows.
    silent: Cell<bool>,
}

impl<'a> Op<'a> {
    pub(crate) fn new(
        session: &'a Session,
        verb: Verb,
        path: &'a VirtualPath,
        destination: Option<&'a VirtualPath>,
    ) -> Self {
        Self {
            session,
            verb,
            path,
            destination,
            told: Cell::new(None),
            silent: Cell::new(false),
        }
    }

    pub(crate) fn session(&self) -> &'a Session {
        self.session
    }

    pub(crate) fn verb(&self) -> Verb {
        self.verb
    }

    /// The path that was asked for.
    pub(crate) fn path(&self) -> &VirtualPath {
        self.path
    }

    /// The other path of a verb that has two.
    pub(crate) fn other_than(&self, path: &VirtualPath) -> Option<VirtualPath> {
        let destination = self.destination?;
        Some(match destination == path {
            true => self.path.clone(),
            false => destination.clone(),
        })
    }

    /// Tells the recorder what is about to happen, once. Nothing is given out or changed before.
    pub(crate) fn allow(&self, mount: &Mount, object: Option<&Metadata>) -> Result<(), Error> {
        if self.told.get().is_some() {
            return Ok(());
        }
        self.tell(Some(mount), object, None, None)
    }

    /// The result of a change, or the refusal of anything; puts the path into the error.
    pub(crate) fn finish<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        let result = result.map_err(|error| {
            error
                .on(self.verb, self.path.to_string())
                .with_destination(self.destination.map(ToString::to_string))
        });
        if self.recorder().is_none() || self.silent.get() {
            return result;
        }
        let told = match (&result, self.told.get(), self.verb.changes()) {
            (Ok(_), Some(id), true) => self.tell(None, None, Some(id), None),
            (Err(error), Some(id), true) => self.tell(None, None, Some(id), Some(error)),
            (Err(error), None, _) => self.tell(None, None, None, Some(error)),
            _ => Ok(()),
        };
        match told {
            Err(error) if result.is_ok() => Err(error
                .with_effect(handfast::Effect::Visible)
                .on(self.verb, self.path.to_string())),
            _ => result,
        }
    }

    /// Tells of a refusal. It holds, also if nobody can be told.
    pub(crate) fn refused(&self, error: &Error) {
        drop(self.tell(None, None, None, Some(error)));
    }

    fn recorder(&self) -> Option<&dyn handfast::Recorder> {
        self.session.caller().recorder_for(self.verb.changes())
    }

    fn tell(
        &self,
        mount: Option<&Mount>,
        object: Option<&Metadata>,
        result_of: Option<u64>,
        error: Option<&Error>,
    ) -> Result<(), Error> {
        let Some(recorder) = self.recorder() else {
            self.told.set(Some(0));
            return Ok(());
        };
        let routed = match mount {
            Some(mount) => Some(mount),
            None => self.session.route(self.path).ok().map(|place| place.mount),
        };
        let base = match routed {
            Some(mount) => &mount.base,
            None => match self.session.mounts().iter().next() {
                Some(mount) => &mount.base,
                None => return Ok(()),
            },
        };
        let mut event = Event::begin(
            self.verb,
            self.path.as_rel(),
            base.identity(),
            base.backend(),
        );
        event.actor = self.session.caller().told_actor();
        event.process = self.session.caller().told_process();
        event.destination = self.destination.map(VirtualPath::as_rel);
        event.object = object;
        if let Some(id) = result_of {
            event.op_id = id;
            event.phase = Phase::Result;
        }
        if let Some(error) = error {
            event.decision = Decision::Refused {
                kind: error.kind(),
                why: error.detail(),
            };
        }
        self.told.set(Some(event.op_id));
        recorder.record(&event).map_err(|refused| {
            self.silent.set(true);
            not_recorded(&refused)
        })
    }
}

/// What is not recorded is not done.
pub(crate) fn not_recorded(refused: &RecordError) -> Error {
    let kind = match refused {
        RecordError::Refused(_) => ErrorKind::Denied,
        RecordError::Failed(_) => ErrorKind::Io,
    };
    let failed = matches!(refused, RecordError::Failed(_));
    Error::refused(kind, refused.to_string()).because(NotRecorded { failed })
}
