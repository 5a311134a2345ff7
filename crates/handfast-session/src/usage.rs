//! What a session uses and may use.

use crate::error::Error;
use crate::meter::Used;
use crate::mount::Mode;
use crate::quota::Quota;
use crate::session::Session;
use crate::vpath::VirtualPath;

/// What a mount uses and may use.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MountUsage {
    /// Which mount.
    pub at: VirtualPath,
    /// Its mode.
    pub mode: Mode,
    /// What is used. Bytes and inodes of a mount that is not an overlay are counted only if
    /// something limits them.
    pub used: Used,
    /// Whether bytes and inodes are counted.
    pub counted: bool,
    /// What it may use.
    pub quota: Quota,
}

impl Session {
    /// What every mount uses and may use.
    ///
    /// # Errors
    /// What the disk says.
    pub fn usage(&self) -> Result<Vec<MountUsage>, Error> {
        let mut found = Vec::new();
        for mount in self.mounts().iter() {
            let mut used = self.account().used(mount.number)?;
            if !self.account().is_counting()
                && let Some(overlay) = mount.layer.overlay()
            {
                (used.bytes, used.inodes) = overlay.usage()?;
            }
            found.push(MountUsage {
                at: mount.at.clone(),
                mode: mount.mode,
                used,
                counted: self.account().is_counting() || mount.layer.overlay().is_some(),
                quota: mount.quota,
            });
        }
        found.sort_by(|one, other| one.at.cmp(&other.at));
        Ok(found)
    }
}
