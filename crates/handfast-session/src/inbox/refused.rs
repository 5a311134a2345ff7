//! Answers that came from where none may come from, and never reached a question.

use handfast::{Decision, ErrorKind, Event, RelPath, Verb};

use crate::error::Error;
use crate::op::not_recorded;
use crate::session::Session;

impl Session {
    /// Records that somebody tried to answer, or to reach those who answer, from where no answer may come
    /// from: a program inside of a run, a browser that is not the reviewer's.
    ///
    /// # Errors
    /// What the recorder says.
    pub fn record_refused_answer(&self, why: &str) -> Result<(), Error> {
        let mount = self.mounts().iter().next();
        let (Some(recorder), Some(mount)) = (self.caller().recorder_for(true), mount) else {
            return Ok(());
        };
        let top = RelPath::root();
        let mut event = Event::begin(Verb::Ask, &top, mount.base.identity(), mount.base.backend());
        event.actor = self.caller().told_actor();
        event.process = self.caller().told_process();
        event.decision = Decision::Refused {
            kind: ErrorKind::Denied,
            why: format!("an answer was refused: {why}"),
        };
        recorder
            .record(&event)
            .map_err(|refused| not_recorded(&refused))
    }
}
