//! What a mount's specification says, for who builds on it.

use std::path::Path;

use handfast::Links;

use crate::mount::{Mode, MountSpec};
use crate::quota::Quota;
use crate::vpath::VirtualPath;

impl MountSpec {
    /// The directory of the host.
    #[must_use]
    pub fn host_dir(&self) -> &Path {
        &self.host
    }

    /// Where a session sees it.
    #[must_use]
    pub fn mount_point(&self) -> &VirtualPath {
        &self.at
    }

    /// What may be done below it.
    #[must_use]
    pub fn access_mode(&self) -> Mode {
        self.mode
    }

    /// Whether links are followed while they stay beneath it.
    #[must_use]
    pub fn follows_links(&self) -> bool {
        self.links == Links::Beneath
    }

    /// What may be used below it.
    #[must_use]
    pub fn limits(&self) -> Quota {
        self.quota
    }
}
