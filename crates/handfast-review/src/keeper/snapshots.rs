//! Snapshots of a session: taking one, and going back to one.

use std::time::{SystemTime, UNIX_EPOCH};

use handfast_session::{Error, Session};

use super::seal::{Seal, Sealing};
use super::{Keeper, stale, watch};
use crate::protocol::{DoneView, KeeperReply, SnapshotLine};

impl Keeper {
    /// The snapshots of a session beside what it holds now. They count as sent.
    pub(super) fn snapshot_lines(
        &mut self,
        name: &str,
        session: &Session,
        stamp: &str,
    ) -> Result<Vec<SnapshotLine>, Error> {
        let mut lines = Vec::new();
        for label in session.labels()? {
            let seal = of_snapshot(name, &label, stamp);
            self.remember(seal.clone());
            lines.push(SnapshotLine {
                label,
                seal: seal.as_str().to_owned(),
            });
        }
        Ok(lines)
    }

    pub(super) fn snapshot(&mut self, name: &str, label: &str) -> Result<KeeperReply, Error> {
        let (_log, session) = self.open_to_change(name)?;
        session.snapshot(label.trim())?;
        let sentence = format!("The snapshot {} is taken.", label.trim());
        Ok(done(name, sentence, Vec::new()))
    }

    /// Goes back to a snapshot, if the session still holds what was shown beside it. What it holds now
    /// is kept as a snapshot first, so nothing that an agent wrote in the last moment is lost.
    pub(super) fn go_back(
        &mut self,
        name: &str,
        label: &str,
        skip: usize,
        claimed: &str,
    ) -> Result<KeeperReply, Error> {
        let claimed = Seal::claimed(claimed);
        self.require_sent(&claimed)?;
        let (_log, session) = self.open_to_change(name)?;
        let (stamp, _) = watch::changes_stamp(&session, skip)?;
        if of_snapshot(name, label, &stamp) != claimed {
            return Err(stale("the session"));
        }
        let kept = before(label);
        session.rollback_keeping(label, &kept)?;
        let sentence = format!("The session is what it was at the snapshot {label}.");
        let note = format!("What it held until now is the snapshot {kept}.");
        Ok(done(name, sentence, vec![note]))
    }
}

/// An unused label for the state before the rollback.
fn before(label: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let label: String = label.chars().take(30).collect();
    format!("before-{label}-{}", now.map_or(0, |now| now.as_millis()))
}

/// Stands for a snapshot beside what the session holds, as both were shown.
fn of_snapshot(session: &str, label: &str, stamp: &str) -> Seal {
    let mut sealing = Sealing::new("snapshot", session);
    sealing.text(label.as_bytes());
    sealing.text(stamp.as_bytes());
    sealing.done()
}

fn done(session: &str, sentence: String, notes: Vec<String>) -> KeeperReply {
    KeeperReply::Done(DoneView {
        session: session.to_owned(),
        sentence,
        paths: Vec::new(),
        conflicts: Vec::new(),
        notes,
    })
}
