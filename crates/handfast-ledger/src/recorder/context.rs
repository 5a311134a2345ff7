//! What a recorder knows about the caller, beside what the event says.

use crate::event::{Lease, Workload};

/// Stands in every event of a recorder.
#[derive(Clone, Debug, Default)]
pub struct Context {
    pub(crate) workload: Workload<'static>,
    pub(crate) lease: Option<Lease<'static>>,
    pub(crate) root_id: Option<String>,
    pub(crate) policy_sha256: Option<String>,
}

impl Context {
    /// This process: its id, its user, its group.
    #[must_use]
    pub fn new() -> Self {
        Self {
            workload: Workload {
                pid: Some(std::process::id()),
                uid: Some(rustix::process::getuid().as_raw()),
                gid: Some(rustix::process::getgid().as_raw()),
                ..Workload::default()
            },
            ..Self::default()
        }
    }

    /// Somebody else, on whose behalf this process acts. The name that a root was given
    /// (`RootOptions::actor`) stands in for a missing `agent_id`.
    #[must_use]
    pub fn workload(mut self, workload: Workload<'static>) -> Self {
        self.workload = workload;
        self
    }

    /// The lease it is done under.
    #[must_use]
    pub fn lease(mut self, lease: Lease<'static>) -> Self {
        self.lease = Some(lease);
        self
    }

    /// The root's name in the configuration.
    #[must_use]
    pub fn root_id(mut self, id: impl Into<String>) -> Self {
        self.root_id = Some(id.into());
        self
    }

    /// The policy in force. Events name it where the log's last `policy.load` does not.
    #[must_use]
    pub fn policy_sha256(mut self, digest: impl Into<String>) -> Self {
        self.policy_sha256 = Some(digest.into());
        self
    }
}
