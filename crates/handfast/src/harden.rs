//! The second wall: Landlock.
//!
//! Resolution keeps every path beneath its root. Landlock makes the kernel refuse everything else
//! besides, whatever a bug or an injected call does: a directory that is moved out of a root after
//! it was pinned cannot be used for names any more, and no other file can be opened at all.
//!
//! It is for good, and programs that are started later inherit it. So it is never done behind the
//! caller's back.
//!
//! # Does not
//! Landlock does not stop `chmod`, `utimes` and `stat` on a descriptor that is already held, nor
//! reading and writing through descriptors that are already open.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};

use crate::error::{Error, ErrorKind, Fault};
use crate::root::Root;
use crate::sys;
use crate::verb::Verb;

/// What was achieved.
#[must_use = "on kernels without Landlock nothing is restricted, and only this says so"]
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub enum Wall {
    /// All filesystem rights are restricted to the roots.
    Full,
    /// The kernel knows Landlock, but not every right; some operations are not restricted.
    Partial,
    /// The kernel has no Landlock, or it is switched off.
    None,
}

impl Wall {
    /// The name, as it is in logs and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partial => "partial",
            Self::None => "none",
        }
    }
}

/// What stays reachable once the wall is up.
#[derive(Default)]
pub struct Hardening {
    roots: Vec<OwnedFd>,
    read_only: Vec<OwnedFd>,
    scoped: bool,
    fault: Option<Fault>,
}

impl Hardening {
    /// Nothing stays reachable.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything stays allowed beneath a root, renames between roots included.
    #[must_use]
    pub fn root(self, root: &Root) -> Self {
        self.full(root)
    }

    /// Everything stays allowed beneath a directory or on a file that the caller holds: state, a
    /// log, a socket directory.
    #[must_use]
    pub fn full(mut self, fd: impl AsFd) -> Self {
        match sys::duplicate(fd) {
            Ok(fd) => self.roots.push(fd),
            Err(fault) => self.fault = Some(fault),
        }
        self
    }

    /// Reading and executing stay allowed beneath a directory or on a file that the caller holds: system
    /// libraries, configuration.
    #[must_use]
    pub fn read_only(mut self, fd: impl AsFd) -> Self {
        match sys::duplicate(fd) {
            Ok(fd) => self.read_only.push(fd),
            Err(fault) => self.fault = Some(fault),
        }
        self
    }

    /// Keeps signals and abstract Unix sockets within the wall: processes outside it get no signal,
    /// and their abstract sockets cannot be connected to. Sockets that have a path can.
    ///
    /// # Platform
    /// Linux 6.12; older kernels restrict files alone, and the answer is [`Wall::Partial`].
    #[must_use]
    pub fn scoped(mut self) -> Self {
        self.scoped = true;
        self
    }

    /// Restricts the whole process, for good.
    ///
    /// # Errors
    /// `Unsupported` once there is more than one thread, since the others would stay free;
    /// `Denied` if the kernel refuses. A kernel without Landlock is no error: the answer is
    /// [`Wall::None`].
    ///
    /// # Security
    /// Call it before any runtime, database or log thread starts, and before the first byte of
    /// untrusted input is read. Programs started later are restricted too.
    pub fn harden_process(self) -> Result<Wall, Error> {
        let threads = sys::thread_count().map_err(error)?;
        if threads > 1 {
            return Err(error(Fault::rule(
                ErrorKind::Unsupported,
                "there is more than one thread, and the others would stay free",
            )));
        }
        self.restrict()
    }

    /// Restricts the calling thread and what it starts, for good: for a worker that never goes
    /// back to a pool.
    ///
    /// # Errors
    /// `Denied` if the kernel refuses.
    pub fn harden_thread(self) -> Result<Wall, Error> {
        self.restrict()
    }

    fn restrict(self) -> Result<Wall, Error> {
        use landlock::{
            ABI, Access, AccessFs, BitFlags, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr,
            RulesetError, RulesetStatus, Scope,
        };
        if let Some(fault) = self.fault {
            return Err(error(fault));
        }
        // The newest set this library was tested with; older kernels enforce what they know.
        let abi = ABI::V7;
        let all = AccessFs::from_all(abi);
        let read: BitFlags<AccessFs> = AccessFs::from_read(abi);
        let of_files: BitFlags<AccessFs> = AccessFs::from_file(abi);
        let restrict = || -> Result<RulesetStatus, RulesetError> {
            let mut ruleset = Ruleset::default().handle_access(all)?;
            if self.scoped {
                ruleset = ruleset.scope(Scope::from_all(abi))?;
            }
            let mut ruleset = ruleset.create()?;
            for (fds, rights) in [(&self.roots, all), (&self.read_only, read)] {
                for fd in fds {
                    // Rights that only directories have cannot be granted on a file.
                    let is_dir = sys::status(fd).is_ok_and(|status| status.is_dir());
                    let rights = if is_dir { rights } else { rights & of_files };
                    ruleset = ruleset.add_rule(PathBeneath::new(fd, rights))?;
                }
            }
            ruleset.restrict_self().map(|status| status.ruleset)
        };
        match restrict() {
            Ok(RulesetStatus::FullyEnforced) => Ok(Wall::Full),
            Ok(RulesetStatus::PartiallyEnforced) => Ok(Wall::Partial),
            Ok(RulesetStatus::NotEnforced) => Ok(Wall::None),
            Err(cause) => Err(error(Fault::rule(
                ErrorKind::Denied,
                "the kernel did not take the restriction",
            ))
            .with_source(cause)),
        }
    }
}

/// What this kernel offers, without restricting anything: a ruleset is made and thrown away.
pub fn offered() -> Wall {
    use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
    let made = |abi| {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(abi))
            .and_then(Ruleset::create)
            .is_ok()
    };
    if made(ABI::V5) {
        Wall::Full
    } else if made(ABI::V1) {
        Wall::Partial
    } else {
        Wall::None
    }
}

fn error(fault: Fault) -> Error {
    Error::new(Verb::Harden, "<process>", fault)
}

impl fmt::Debug for Hardening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hardening")
            .field("roots", &self.roots.len())
            .field("read_only", &self.read_only.len())
            .finish_non_exhaustive()
    }
}
