//! What was finished for a process that was killed: a person who did not expect it is told.

use std::sync::PoisonError;

use crate::error::Error;
use crate::overlay::Overlay;
use crate::session::Session;

/// What a process began and did not live to end, and the next one finished.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Finished {
    /// A commit: its changes are the base's.
    Commit,
    /// A commit was being taken back: its changes are the session's again.
    Undo,
}

impl Overlay {
    pub(super) fn note_finished(&self, what: Finished) {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        *finished = Some(what);
    }

    /// Finishes what a killed process began. What that was, once.
    fn finish_interrupted(&self) -> Result<Option<Finished>, Error> {
        if self.with_tree(|tree| tree.committing.is_some())? {
            // If somebody is still at it, this waits, and finds nothing to finish.
            drop(self.begin()?);
        }
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(finished.take())
    }
}

impl Session {
    /// Finishes a commit, or an undo, that a killed process began, as every change does first. What it was;
    /// each is told once.
    ///
    /// # Errors
    /// `Busy` if another process is at work for long; what the disk says.
    pub fn finish_interrupted(&self) -> Result<Option<Finished>, Error> {
        let mut finished = None;
        for (_, overlay) in self.overlays() {
            finished = overlay.finish_interrupted()?.or(finished);
        }
        Ok(finished)
    }
}
