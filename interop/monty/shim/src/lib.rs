//! The names of Monty's own filesystem crate, with a Handfast session behind them, so that the tests of
//! that crate can be run against Handfast. Not a library for anybody.
//!
//! Mounts are collected first; the session is made at the first call. An overlay follows no links here,
//! as upstream's does not: that is an option of a mount (`links = refuse`).

mod error;
mod mount;

use std::sync::Arc;

use handfast::Links;
use handfast_monty::{MontyFiles, MountLimits, Outcome};
use handfast_session::{Mode, MountSpec, Session, SessionSpec, VirtualPath};
use monty_types::{MontyObject, OsFunctionCall};

pub use error::MountError;
pub use handfast_monty::DEFAULT_MEMORY_LIMIT as DEFAULT_MEMORY_USAGE_LIMIT;
pub use mount::{Mount, MountMode, MountRoot, OverlayState};

#[derive(Debug)]
pub enum MountCallOutcome {
    Handled(Result<MontyObject, MountError>),
    NotHandled(OsFunctionCall),
}

#[derive(Debug, Default)]
pub struct MountTable {
    mounts: Vec<Mount>,
    files: Option<MontyFiles>,
}

impl MountTable {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn mount(
        &mut self,
        virtual_path: &str,
        host_path: impl AsRef<std::path::Path>,
        mode: MountMode,
        write_bytes_limit: Option<u64>,
    ) -> Result<(), MountError> {
        self.push_mount(Mount::new(
            virtual_path,
            host_path,
            mode,
            write_bytes_limit,
        )?)
    }

    /// Two mounts that a session refuses to have together overlap.
    pub fn push_mount(&mut self, mount: Mount) -> Result<(), MountError> {
        for other in &self.mounts {
            let both = SessionSpec::new()
                .mount(spec_of(other).mode(Mode::ReadOnly))
                .mount(spec_of(&mount).mode(Mode::ReadOnly));
            if Session::new(&both).is_err() {
                return Err(MountError::OverlappingMounts {
                    virtual_path: mount.virtual_path().to_owned(),
                    host_path: mount.host_path().to_owned(),
                    existing_virtual_path: other.virtual_path().to_owned(),
                    existing_host_path: other.host_path().to_owned(),
                });
            }
        }
        // A session has all its mounts from the beginning: it is made again, which overlays in memory
        // do not survive.
        let lasting = |mount: &Mount| !matches!(mount.mode(), MountMode::OverlayMemory(_));
        assert!(self.files.is_none() || self.mounts.iter().all(lasting));
        self.files = None;
        self.mounts.push(mount);
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.mounts.is_empty()
    }

    pub fn len(&self) -> usize {
        self.mounts.len()
    }

    pub fn handle_os_call(&mut self, call: OsFunctionCall) -> MountCallOutcome {
        let files = self.files.get_or_insert_with(|| serve(&self.mounts));
        match files.handle(call) {
            Outcome::Answered(done) => MountCallOutcome::Handled(done.map_err(MountError::from)),
            Outcome::NotOurs(call) => MountCallOutcome::NotHandled(call),
        }
    }
}

fn serve(mounts: &[Mount]) -> MontyFiles {
    let mut spec = mounts
        .iter()
        .fold(SessionSpec::new(), |all, one| all.mount(spec_of(one)));
    if mounts.is_empty() {
        // A session has a mount at least: this one is where no test looks.
        let nowhere = VirtualPath::parse("/.nothing-is-mounted").expect("a path");
        spec = spec.mount(MountSpec::new(std::env::temp_dir(), nowhere).mode(Mode::ReadOnly));
    }
    let session = Session::new(&spec).expect("each was mounted beside the others before");
    let mut files = MontyFiles::new(Arc::new(session));
    for mount in mounts {
        let mut limits = MountLimits::new().with_memory(mount.memory_usage_limit());
        limits.write_bytes = mount.write_bytes_limit();
        files = files.with_limits(mount.virtual_path(), limits);
    }
    files
}

/// By descriptor: the directory is the one that was opened, whatever its name leads to now.
fn spec_of(mount: &Mount) -> MountSpec {
    let at = VirtualPath::parse(mount.virtual_path()).expect("a normalized path");
    let (mode, links) = match mount.mode() {
        MountMode::ReadWrite => (Mode::ReadWrite, Links::Beneath),
        MountMode::ReadOnly => (Mode::ReadOnly, Links::Beneath),
        MountMode::OverlayMemory(_) => (Mode::Memory, Links::Refuse),
    };
    MountSpec::of_root(mount.root().dir(), at)
        .mode(mode)
        .links(links)
}
