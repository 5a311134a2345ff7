//! Requests that the page turned away: said where the keeper was started, and an event.

use handfast_session::Error;

use super::Keeper;
use crate::protocol::{KeeperReply, TurnedAway};

/// No more than this are recorded, whatever the page reports.
const MAX_TOLD: u64 = 100;

impl Keeper {
    /// A client that is not the reviewer's browser asked for the page. The page reports each of the first,
    /// then of fewer and fewer: a program that comes again and again must not fill the log. A page that was
    /// taken over must not either.
    pub(super) fn turned_away(
        &mut self,
        why: TurnedAway,
        count: u64,
    ) -> Result<KeeperReply, Error> {
        self.knocks += 1;
        if self.knocks <= MAX_TOLD {
            let words = format!("the review page turned a request away ({})", why.words());
            let words = match count {
                1 => words,
                count => format!("{words}; {count} so far"),
            };
            self.witness.say(&words);
            self.record_knock(&words)?;
        }
        Ok(KeeperReply::Noted)
    }

    fn record_knock(&self, words: &str) -> Result<(), Error> {
        if self.begin.is_none() {
            return Ok(());
        }
        // An event is about a session; one log holds those of all.
        let names = self.looking.names()?;
        let Some(name) = names.iter().find(|name| self.open(name).is_ok()) else {
            return Ok(());
        };
        let (_log, session) = self.open_to_change(name)?;
        session.record_refused_answer(words)
    }
}
