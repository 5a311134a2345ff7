//! One victim's calls against one attacker: what each came to.

use std::time::{Duration, Instant};

use handfast::{Error, ErrorKind, Links, Root};

use crate::arena::Arena;
use crate::attacker::{Attacker, Way};
use crate::canary::Canary;
use crate::cell::Cell;
use crate::duel::{Duel, REHEARSED, policy_name};
use crate::layers::{Layer, Stand};
use crate::victims::{Names, Returned, Victim};
use crate::watchdog::Watchdog;

/// What an attempt works with.
pub(crate) struct Fight<'a> {
    pub(crate) duel: &'a Duel,
    pub(crate) arena: &'a Arena,
    pub(crate) stand: &'a Stand,
    pub(crate) layer: Layer,
    pub(crate) inside: &'a Root,
    pub(crate) watchdog: Option<&'a Watchdog>,
    pub(crate) links: Links,
}

impl Fight<'_> {
    fn names(&self) -> Names<'static> {
        Names {
            prefix: self.duel.prefix,
        }
    }

    /// A few calls while no attacker acts: how long one takes.
    pub(crate) fn rehearse(&self, victim: &Victim) -> Result<Duration, Error> {
        let mut fastest = Duration::MAX;
        for number in REHEARSED..REHEARSED + 3 {
            self.prepare(victim, number)?;
            let begun = Instant::now();
            match self.stand.call(victim, &self.names(), number) {
                Err(error) if !self.may_refuse(victim, &error) => return Err(error),
                _ => fastest = fastest.min(begun.elapsed()),
            }
        }
        self.prepare(victim, REHEARSED)?;
        Ok(fastest)
    }

    /// Whether a layer may refuse a call even while no attacker acts.
    fn may_refuse(&self, victim: &Victim, error: &Error) -> bool {
        let allowed = self.duel.allowed_on(self.layer, victim, self.links);
        (self.duel.floor)(victim) == 0 && allowed.contains(&error.kind())
    }

    fn prepare(&self, victim: &Victim, number: u64) -> Result<(), Error> {
        if victim.changes() {
            self.stand.refresh()?;
        }
        (victim.prepare)(self.inside, number);
        Ok(())
    }

    /// One call, and a look at what it did.
    pub(crate) fn attempt(
        &mut self,
        victim: &Victim,
        attacker: &Attacker,
        way: Way,
        cell: &mut Cell,
        canary: &mut Canary,
    ) {
        let number = cell.attempts;
        let leaf = self.duel.leaf.and_then(|leaf| leaf(victim));
        if let Err(error) = self.prepare(victim, number) {
            cell.blind(&error);
        }
        attacker.wait_for_swap();
        // The disk does not show what an accomplice exchanged inside an overlay.
        let is_known = !(self.stand.is_overlay() && way == Way::Accomplice);
        let good = is_known && (self.duel.is_good)(self.arena, leaf.unwrap_or_default());
        let call = || self.stand.call(victim, &self.names(), number);
        let (result, hung) = match self.watchdog {
            Some(watchdog) => watchdog.watch(call),
            None => (call(), false),
        };
        cell.attempts += 1;
        cell.good += u64::from(good);
        let was_raced = matches!(&result, Err(error) if error.kind() == ErrorKind::Raced);
        let raced = cell.raced.entry(policy_name(self.links)).or_default();
        *raced = (raced.0 + 1, raced.1 + u64::from(was_raced));
        let mut harm = hung.then(|| "the call hung".to_owned());
        if let Some(touched) = canary.touched() {
            harm = harm.or(Some(touched));
            canary.look_again();
        }
        let seen = match result {
            Ok(seen) => {
                cell.succeeded += 1;
                Some(seen)
            }
            Err(error) => {
                let allowed = self.duel.allowed_on(self.layer, victim, self.links);
                note_error(cell, &error, &allowed);
                None
            }
        };
        if self.duel.leaks {
            harm = harm.or_else(|| leak(seen.as_ref()?, canary));
        }
        match (self.duel.look)(self.arena, self.stand, seen.as_ref()) {
            Ok(found) => harm = harm.or(found),
            Err(error) => cell.blind(&error),
        }
        if let Some(harm) = harm {
            cell.escapes += 1;
            cell.harm.get_or_insert(harm);
        }
    }
}

/// What a call saw of the outside.
fn leak(seen: &Returned, canary: &Canary) -> Option<String> {
    let word = b"outside";
    if seen.text.windows(word.len()).any(|window| window == word) {
        return Some("what is outside was read".to_owned());
    }
    let object = seen.object?;
    canary
        .owns(object)
        .then(|| "an object outside was handed out".to_owned())
}

/// Counts an error as a refusal, or as one that nothing explains.
pub(crate) fn note_error(cell: &mut Cell, error: &Error, allowed: &[ErrorKind]) {
    if allowed.contains(&error.kind()) {
        *cell.refused.entry(error.kind().name()).or_default() += 1;
    } else {
        cell.note_odd(format!("{}: {error}", error.kind()));
    }
}
