//! Dropping old events by a rule that is itself in the log. Hashes stay, so proofs still hold.

use super::ledger::{Ledger, Shared, hold};
use super::publish::Publisher;
use crate::error::Error;
use crate::event::{EventKind, Moment, Policy, Record, Retention, U64, rfc3339};
use crate::segment;
use crate::tiles::{Bundle, MOST_BUNDLE, WIDTH, bundle_path, bundles_present};

/// A writer at work looks whether something should go whenever so many bundles have come.
pub(super) const BUNDLES_A_LOOK: u64 = 4;

impl Ledger {
    /// Drops the events before `index`, rounded down to a whole bundle. The rule is logged and
    /// published first. Bundles go at once, a segment when nothing in it is kept any more; a new
    /// segment is begun, so that a later call can drop all that is there now.
    ///
    /// # Errors
    /// `Invalid` if the index is beyond the end; as [`Ledger::publish`].
    pub fn prune(&self, index: u64, policy: &str) -> Result<u64, Error> {
        if index > self.size() {
            return Err(Error::invalid("there are not that many events"));
        }
        self.shared.prune(index - index % WIDTH, policy)
    }
}

impl Shared {
    fn prune(&self, first: u64, policy: &str) -> Result<u64, Error> {
        // What is there so far can go one day: it shares no file with what comes.
        if let Err(error) = hold(&self.core).turn_over() {
            return Err(self.poison(&error));
        }
        let mut record = Record::about_log(EventKind::RetentionSet);
        record.retention = Some(Retention {
            min_index: U64(first),
            policy: policy.into(),
        });
        let mut leaves = vec![record.to_leaf()?];
        // Events name the policy by the last `policy.load`, which may go now.
        if let Some(sha256) = hold(&self.policy).clone() {
            let mut record = Record::about_log(EventKind::PolicyLoad);
            record.policy = Some(Policy {
                name: None,
                sha256: (*sha256).into(),
            });
            leaves.push(record.to_leaf()?);
        }
        self.append(&leaves)?;
        self.publish_now()?;
        let publisher = hold(&self.publisher);
        let segments = segment::list(&self.store)?;
        for pair in segments.windows(2) {
            // A segment goes when the next one begins before what is kept.
            if pair[1] <= first && pair[0] != publisher.segment() {
                self.store.remove(&segment::name(pair[0]))?;
            }
        }
        for bundle in bundles_present(&self.store)?.range(..first / WIDTH) {
            let path = bundle_path(*bundle, WIDTH);
            // Partial forms that a writer left behind hold the same events.
            for (width, _) in self.store.list(&format!("{path}.p"))? {
                self.store.remove(&format!("{path}.p/{width}"))?;
            }
            drop(self.store.remove_empty_dir(&format!("{path}.p")));
            self.store.remove(&path)?;
        }
        Ok(first)
    }

    /// Drops what the log's own rule does not keep, if enough has come since the last look.
    pub(super) fn keep_to_rule(&self, bundles: u64) -> Result<(), Error> {
        let mut publisher = hold(&self.publisher);
        if self.keep.is_everything() || !publisher.is_time_to_look(bundles) {
            return Ok(());
        }
        let first = self.first_kept(&publisher)?;
        drop(publisher);
        match first {
            Some(first) => self.prune(first, &self.keep.words()).map(drop),
            None => Ok(()),
        }
    }

    /// The first event that the rule keeps, if something before it is here. The last bundles stay
    /// whatever the rule says: they are not full, or a segment still needs them.
    fn first_kept(&self, publisher: &Publisher) -> Result<Option<u64>, Error> {
        let most = (publisher.published() / WIDTH).saturating_sub(1);
        let bundles = bundles_present(&self.store)?;
        let mut excess = self.excess(publisher, bundles.iter().copied())?;
        let oldest = self
            .keep
            .seconds
            .map(|seconds| rfc3339(Moment::now().wall_ns - i128::from(seconds.0) * 1_000_000_000));
        let mut first = None;
        for bundle in bundles.range(..most) {
            let path = bundle_path(*bundle, WIDTH);
            let is_old = match &oldest {
                Some(oldest) => self.ends_before(&path, oldest)?,
                None => false,
            };
            if excess == 0 && !is_old {
                break;
            }
            excess = excess.saturating_sub(self.store.on_disk(&path)?);
            first = Some((bundle + 1) * WIDTH);
        }
        Ok(first)
    }

    /// How many bytes there are too many. An eighth more, so that something goes rarely and not
    /// with every bundle.
    fn excess(
        &self,
        publisher: &Publisher,
        bundles: impl Iterator<Item = u64>,
    ) -> Result<u64, Error> {
        let Some(U64(most)) = self.keep.bytes else {
            return Ok(0);
        };
        // Hashes: a full tile for 256 events, and one for 256 of those.
        let mut used = publisher.published() / WIDTH * (WIDTH * 32 + 32);
        used += self.store.on_disk(super::open::RESERVE)?;
        for bundle in bundles {
            used += self.store.on_disk(&bundle_path(bundle, WIDTH))?;
        }
        let last = format!("{}.p", bundle_path(publisher.published() / WIDTH, WIDTH));
        for (width, _) in self.store.list(&last)? {
            used += self.store.on_disk(&format!("{last}/{width}"))?;
        }
        for first in segment::list(&self.store)? {
            used += self.store.on_disk(&segment::name(first))?;
        }
        Ok(match used > most {
            true => used - most + most / 8,
            false => 0,
        })
    }

    /// Whether the last event of a bundle is older than a time.
    fn ends_before(&self, path: &str, time: &str) -> Result<bool, Error> {
        let Some(bytes) = self.store.read_at_most(path, MOST_BUNDLE)? else {
            return Ok(false);
        };
        let bundle = Bundle::parse_front(bytes);
        let last = bundle.len().checked_sub(1).and_then(|at| bundle.get(at));
        Ok(last
            .and_then(|leaf| Record::parse(leaf).ok())
            .is_some_and(|record| &*record.t_wall < time))
    }
}
