//! Dropping old events by a rule that is itself in the log. Hashes stay, so proofs still hold.

use super::ledger::{Ledger, hold};
use crate::error::Error;
use crate::event::{EventKind, Record, Retention, U64};
use crate::segment;
use crate::tiles::{WIDTH, bundle_path, bundles_present};

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
        let first = index - index % WIDTH;
        // What is there so far can go one day: it shares no file with what comes.
        if let Err(error) = hold(&self.shared.core).turn_over() {
            return Err(self.shared.poison(&error));
        }
        let mut record = Record::about_log(EventKind::RetentionSet);
        record.retention = Some(Retention {
            min_index: U64(first),
            policy: policy.into(),
        });
        let _receipt = self.append(&record)?;
        // Events name the policy by the last `policy.load`, which may go now.
        if let Some(policy) = self.policy() {
            let _again = self.policy_loaded(None, &policy)?;
        }
        self.publish()?;
        let publisher = hold(&self.shared.publisher);
        let segments = segment::list(&self.shared.store)?;
        for pair in segments.windows(2) {
            // A segment goes when the next one begins before what is kept.
            if pair[1] <= first && pair[0] != publisher.segment() {
                self.shared.store.remove(&segment::name(pair[0]))?;
            }
        }
        let store = &self.shared.store;
        for bundle in bundles_present(store)?.range(..first / WIDTH) {
            let path = bundle_path(*bundle, WIDTH);
            // Partial forms that a writer left behind hold the same events.
            for (width, _) in store.list(&format!("{path}.p"))? {
                store.remove(&format!("{path}.p/{width}"))?;
            }
            drop(store.remove_empty_dir(&format!("{path}.p")));
            store.remove(&path)?;
        }
        Ok(first)
    }
}
