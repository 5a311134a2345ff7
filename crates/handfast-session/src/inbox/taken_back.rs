//! Answers that were taken back: each is an event.
//!
//! The person who takes an answer back often has no log; the program that asked has one. So a note is
//! left in the inbox, and the next process that uses the session with a log records it: before it looks
//! for an answer, and when it says [`Session::record_taken_back`].

use handfast::{Decision, Event, Phase, Verb};

use super::question::{read_path, string, write_path};
use super::store::{Inbox, name, names, turn};
use crate::asking::label_of;
use crate::codec::{Reader, Writer, unknown};
use crate::error::Error;
use crate::op::not_recorded;
use crate::session::Session;
use crate::vpath::VirtualPath;

/// What is left of an answer until it is recorded.
pub(super) struct TakenBack {
    pub(super) path: VirtualPath,
    /// Whether it was a yes.
    pub(super) yes: bool,
    pub(super) by: String,
}

impl TakenBack {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(1);
        write_path(&mut out, &self.path);
        out.byte(u8::from(self.yes));
        out.text(self.by.as_bytes());
        out.bytes
    }

    fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new(bytes);
        if input.byte()? != 1 {
            return Err(unknown());
        }
        Ok(Self {
            path: read_path(&mut input)?,
            yes: input.byte()? == 1,
            by: string(&mut input)?,
        })
    }
}

impl Session {
    /// Records the answers that were taken back since the last time. Without a recorder they wait for
    /// a caller that has one.
    ///
    /// # Errors
    /// What the recorder or the disk says.
    pub fn record_taken_back(&self) -> Result<(), Error> {
        let (Some(inbox), true) = (self.inbox(), self.caller().is_recorded()) else {
            return Ok(());
        };
        let Some(dir) = inbox.existing()? else {
            return Ok(());
        };
        if names(&dir, Inbox::TAKEN_BACK)?.is_empty() {
            return Ok(());
        }
        let _turn = turn(&dir)?;
        for id in names(&dir, Inbox::TAKEN_BACK)? {
            let file = name("t", &id)?;
            let taken = TakenBack::parse(&dir.read(&file)?)?;
            self.tell_taken_back(&id, &taken)?;
            dir.remove_file(&file)?;
        }
        Ok(())
    }

    fn tell_taken_back(&self, id: &str, taken: &TakenBack) -> Result<(), Error> {
        let mount = match self.route(&taken.path) {
            Ok(place) => Some(place.mount),
            Err(_) => self.mounts().iter().next(),
        };
        let (Some(recorder), Some(mount)) = (self.caller().recorder_for(true), mount) else {
            return Ok(());
        };
        let answer = if taken.yes { "yes" } else { "no" };
        let label = label_of(&format!("{answer} to {id} taken back by {}", taken.by))?;
        let (identity, backend) = (mount.base.identity(), mount.base.backend());
        let mut event = Event::begin(Verb::Ask, taken.path.as_rel(), identity, backend);
        event.actor = self.caller().told_actor();
        event.destination = Some(&label);
        event.decision = Decision::Allowed;
        event.phase = Phase::Single;
        recorder
            .record(&event)
            .map_err(|refused| not_recorded(&refused))
    }
}
