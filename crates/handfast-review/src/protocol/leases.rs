//! Leases, as they are shown.

use serde::{Deserialize, Serialize};

/// A lease.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct LeaseLine {
    /// Its public name.
    pub handle: String,
    /// Who holds it: the user, and the process, control group or user that it ends with.
    pub holder: String,
    /// Patterns of paths.
    pub paths: Vec<String>,
    /// Verbs.
    pub verbs: Vec<String>,
    /// What for.
    pub purpose: Option<String>,
    /// When it ends, in RFC 3339.
    pub expires: String,
    /// How many opens were made, and how many it allows.
    pub opens: (u64, Option<u64>),
    /// How many descriptors were handed out that cannot be taken back.
    pub outstanding: u64,
    /// The seal that `Revoke` names.
    pub seal: String,
}

/// The leases, or why there are none.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct LeasesView {
    /// The leases.
    pub leases: Result<Vec<LeaseLine>, String>,
    /// So many are not listed.
    pub more: usize,
    /// What news about the leases is compared with.
    pub stamp: String,
}
