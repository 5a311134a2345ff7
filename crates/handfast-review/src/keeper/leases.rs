//! The broker's leases, and the end of one.

use handfast::ErrorKind;
use handfast_session::Error;

use super::seal::{Seal, Sealing};
use super::watch::Looking;
use super::{Keeper, stale};
use crate::protocol::{DoneView, KeeperReply, LeaseLine, LeasesView};

/// So many leases are shown.
const MAX_LEASES: usize = 500;

/// A lease, as the broker reports it.
#[derive(Clone, Debug)]
pub struct HeldLease {
    /// Its public name.
    pub handle: String,
    /// Who holds it, in words.
    pub holder: String,
    /// Patterns of paths.
    pub paths: Vec<String>,
    /// Verbs.
    pub verbs: Vec<String>,
    /// What for.
    pub purpose: Option<String>,
    /// When it was given.
    pub issued: String,
    /// When it ends.
    pub expires: String,
    /// How many opens were made, and how many it allows.
    pub opens: (u64, Option<u64>),
    /// How many descriptors were handed out that cannot be taken back.
    pub outstanding: u64,
}

/// What ended with a lease.
#[derive(Clone, Debug)]
pub struct EndedLeases {
    /// How many leases.
    pub count: u64,
    /// What the reviewer must know besides: descriptors that stay open, a store that did not keep it.
    pub notes: Vec<String>,
}

/// The way to a broker. Each call makes a new connection: a broker may be restarted while the page is open.
pub trait LeaseDesk: Send + Sync {
    /// The leases that this user may see.
    ///
    /// # Errors
    /// Why there is no answer, in words.
    fn list(&self) -> Result<Vec<HeldLease>, String>;

    /// Ends a lease, and all below it. The broker records it, and who did it.
    ///
    /// # Errors
    /// Why it did not end, in words.
    fn revoke(&self, handle: &str) -> Result<EndedLeases, String>;
}

impl Looking {
    fn held(&self) -> Result<Vec<HeldLease>, String> {
        match &self.desk {
            Some(desk) => desk.list(),
            None => Err("this page knows no broker".to_owned()),
        }
    }

    pub(super) fn leases_stamp(&self) -> String {
        stamp(&self.held())
    }
}

/// Times change with every renewal; they are on the page, and a new one is news. A broker counts down to
/// the end of a lease, and says it a few nanoseconds earlier or later each time: that is none.
fn stamp(held: &Result<Vec<HeldLease>, String>) -> String {
    let mut sealing = Sealing::new("leases", "");
    match held {
        Err(why) => sealing.text(why.as_bytes()),
        Ok(held) => {
            for lease in held {
                sealing.text(seal(lease).as_str().as_bytes());
                let seconds = lease.expires.split('.').next().unwrap_or_default();
                sealing.text(seconds.as_bytes());
                sealing.number(lease.opens.0);
                sealing.number(lease.outstanding);
            }
        }
    }
    sealing.done().as_str().to_owned()
}

/// What a lease is, without what changes while it is used.
fn seal(lease: &HeldLease) -> Seal {
    let mut sealing = Sealing::new("lease", "");
    for text in [&lease.handle, &lease.holder, &lease.issued] {
        sealing.text(text.as_bytes());
    }
    for list in [&lease.paths, &lease.verbs] {
        sealing.number(list.len() as u64);
        list.iter().for_each(|text| sealing.text(text.as_bytes()));
    }
    sealing.optional(lease.purpose.as_deref().map(str::as_bytes));
    sealing.done()
}

impl Keeper {
    pub(super) fn leases(&mut self) -> KeeperReply {
        let held = self.looking.held();
        let stamp = stamp(&held);
        let more = held.as_ref().map_or(0, Vec::len).saturating_sub(MAX_LEASES);
        let leases = held.map(|held| {
            let shown = held.into_iter().take(MAX_LEASES);
            shown.map(|lease| self.lease_line(lease)).collect()
        });
        KeeperReply::Leases(Box::new(LeasesView {
            leases,
            more,
            stamp,
        }))
    }

    fn lease_line(&mut self, lease: HeldLease) -> LeaseLine {
        let seal = seal(&lease);
        self.remember(seal.clone());
        LeaseLine {
            handle: lease.handle,
            holder: lease.holder,
            paths: lease.paths,
            verbs: lease.verbs,
            purpose: lease.purpose,
            expires: lease.expires,
            opens: lease.opens,
            outstanding: lease.outstanding,
            seal: seal.as_str().to_owned(),
        }
    }

    /// Ends the lease that was shown under a seal, if it is still that one.
    pub(super) fn revoke(&mut self, claimed: &str) -> Result<KeeperReply, Error> {
        let claimed = Seal::claimed(claimed);
        self.require_sent(&claimed)?;
        let failed = |why: String| Error::refused(ErrorKind::Io, why);
        let held = self.looking.held().map_err(failed)?;
        let lease = held.iter().find(|lease| seal(lease) == claimed);
        let lease = lease.ok_or_else(|| stale("the lease"))?;
        let desk = self.looking.desk.as_ref();
        let desk = desk.ok_or_else(|| stale("the lease"))?;
        let ended = desk.revoke(&lease.handle).map_err(failed)?;
        Ok(KeeperReply::Done(DoneView {
            session: String::new(),
            sentence: match ended.count {
                1 => "1 lease ended.".to_owned(),
                count => format!("{count} leases ended."),
            },
            paths: vec![lease.handle.clone()],
            conflicts: Vec::new(),
            notes: ended.notes,
        }))
    }
}
