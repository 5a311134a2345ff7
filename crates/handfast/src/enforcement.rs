//! What a root can really promise on this machine.

use std::fmt;

use crate::filesystem::FilesystemKind;
use crate::options::{HardLinks, Links, Mounts, Specials};

/// Who walks paths below a root.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub enum Backend {
    /// The kernel, in one `openat2` call.
    Kernel,
    /// This library, one component at a time.
    Walk,
}

impl Backend {
    /// The name of the backend, as it is in logs and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Walk => "walk",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a root has the backend it has.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub enum BackendReason {
    /// The kernel was asked and behaves as documented.
    Probed,
    /// The options asked for it.
    Chosen,
    /// `openat2` is absent or filtered.
    Absent,
    /// `openat2` answers, but does not refuse what it must refuse.
    Misbehaves,
    /// `openat2` was there when the root was opened and was taken away later.
    Lost,
    /// The root has a deny-list, and every directory on the way has to be seen.
    DenyList,
}

impl BackendReason {
    /// One sentence.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Probed => "the kernel was probed and refuses what it must",
            Self::Chosen => "asked for by the options",
            Self::Absent => "openat2 is absent or filtered here",
            Self::Misbehaves => "openat2 answers here but does not refuse what it must",
            Self::Lost => "openat2 was taken away after the root was opened",
            Self::DenyList => "a deny-list needs to see every directory on the way",
        }
    }
}

/// How mounts are distinguished.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub enum MountIdentity {
    /// By the kernel's mount id.
    MountId,
    /// By device number only: a bind mount of the same filesystem is not seen by the walk.
    Device,
}

/// What a root enforces, as found when it was opened and since.
#[must_use = "weaker enforcement is reported here and nowhere else"]
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Enforcement {
    /// Who walks paths now.
    pub backend: Backend,
    /// Why.
    pub reason: BackendReason,
    /// The policy for symbolic links.
    pub links: Links,
    /// The policy for hard links.
    pub hard_links: HardLinks,
    /// The policy for mounts.
    pub mounts: Mounts,
    /// How mounts are distinguished.
    pub mount_identity: MountIdentity,
    /// The policy for special files.
    pub specials: Specials,
    /// The filesystem the root lies on.
    pub filesystem: FilesystemKind,
    /// Whether birth times are known, so that a reused inode is noticed.
    pub birth_times: bool,
    /// Whether the root directory still has a name anywhere.
    pub attached: bool,
}

impl Enforcement {
    /// What is weaker here than on a recent Linux with a local filesystem, one sentence each.
    #[must_use]
    pub fn weaknesses(&self) -> Vec<&'static str> {
        let mut found = Vec::new();
        if self.mount_identity == MountIdentity::Device
            && self.mounts == Mounts::Refuse
            && self.backend == Backend::Walk
        {
            found.push("mounts are distinguished by device only; a bind mount may go unnoticed");
        }
        if !self.birth_times {
            found.push("no birth times: an inode number that is reused looks like the old object");
        }
        if !self.attached {
            found.push("the root directory has been removed; nothing can be created in it");
        }
        found.extend_from_slice(self.filesystem.weaknesses());
        found
    }
}
