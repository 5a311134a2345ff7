//! What a broker says at one moment.

use std::time::Instant;

use handfast_broker::{Client, ClientError, Denial, LeaseInfo};
use serde_json::Value;

/// Counts since the broker was started, and how much there is now.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Counts {
    pub(super) calls: u64,
    pub(super) denied: u64,
    pub(super) opened: u64,
    pub(super) committed: u64,
    pub(super) acquired: u64,
    pub(super) ended: u64,
    pub(super) drafts: u64,
}

/// One look.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) at: Instant,
    pub(super) pid: u64,
    pub(super) uid: u64,
    pub(super) counts: Counts,
    pub(super) leases: Vec<LeaseInfo>,
    pub(super) denials: Vec<Denial>,
}

impl Snapshot {
    pub(super) fn take(client: &mut Client) -> Result<Self, ClientError> {
        let info = client.info()?;
        // 64-bit numbers are strings there.
        let big = |key: &str| {
            let text = info.get(key).and_then(Value::as_str);
            text.and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        let number = |key: &str| info.get(key).and_then(Value::as_u64).unwrap_or(0);
        Ok(Self {
            at: Instant::now(),
            pid: number("pid"),
            uid: number("uid"),
            counts: Counts {
                calls: big("calls"),
                denied: big("denied"),
                opened: big("opened"),
                committed: big("committed"),
                acquired: big("acquired"),
                ended: big("ended"),
                drafts: big("drafts"),
            },
            leases: client.list("")?,
            denials: client.denials()?,
        })
    }
}
