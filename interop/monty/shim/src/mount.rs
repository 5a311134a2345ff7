//! Mounts as the tests build them.

use std::path::{Path, PathBuf};

use handfast::{Root, RootOptions};
use monty_types::normalize_virtual_path;

use crate::error::MountError;

#[derive(Debug, Default)]
pub struct OverlayState;

impl OverlayState {
    pub fn new() -> Self {
        Self
    }
}

#[derive(Debug)]
pub enum MountMode {
    ReadWrite,
    ReadOnly,
    OverlayMemory(OverlayState),
}

impl MountMode {
    pub fn from_mode_str(mode: &str) -> Result<Self, String> {
        match mode {
            "read-only" => Ok(Self::ReadOnly),
            "read-write" => Ok(Self::ReadWrite),
            "overlay" => Ok(Self::OverlayMemory(OverlayState::new())),
            other => Err(format!("no such mode: {other}")),
        }
    }

    pub fn as_str(&self) -> &'static str {
        match self {
            Self::ReadWrite => "read-write",
            Self::ReadOnly => "read-only",
            Self::OverlayMemory(_) => "overlay",
        }
    }
}

#[derive(Clone, Debug)]
pub struct MountRoot {
    virtual_path: String,
    host_path: PathBuf,
    dir: Root,
}

impl MountRoot {
    pub fn open(virtual_path: &str, host_path: impl AsRef<Path>) -> Result<Self, MountError> {
        let host = host_path.as_ref();
        if !virtual_path.starts_with('/') {
            return Err(MountError::InvalidMount(format!(
                "virtual path must be absolute, got: '{virtual_path}'"
            )));
        }
        let trouble = |error: std::io::Error| {
            MountError::InvalidMount(format!(
                "cannot open host path '{}': {error}",
                host.display()
            ))
        };
        // Handfast takes no link for a root; upstream does, so the descriptor is opened here.
        use std::os::unix::fs::OpenOptionsExt;
        const O_PATH: i32 = 0o10_000_000;
        const O_DIRECTORY: i32 = 0o200_000;
        let dir = std::fs::OpenOptions::new()
            .read(true)
            .custom_flags(O_PATH | O_DIRECTORY)
            .open(host)
            .map_err(trouble)?;
        let dir = Root::from_fd(dir.into(), RootOptions::new())
            .map_err(|error| MountError::InvalidMount(error.to_string()))?;
        Ok(Self {
            virtual_path: normalize_virtual_path(virtual_path).into_owned(),
            host_path: std::fs::canonicalize(host).map_err(trouble)?,
            dir,
        })
    }

    pub fn virtual_path(&self) -> &str {
        &self.virtual_path
    }

    pub fn host_path(&self) -> &Path {
        &self.host_path
    }

    pub(crate) fn dir(&self) -> &Root {
        &self.dir
    }
}

#[derive(Debug)]
pub struct Mount {
    root: MountRoot,
    mode: MountMode,
    write_bytes_limit: Option<u64>,
    memory_usage_limit: u64,
}

impl Mount {
    pub fn new(
        virtual_path: &str,
        host_path: impl AsRef<Path>,
        mode: MountMode,
        write_bytes_limit: Option<u64>,
    ) -> Result<Self, MountError> {
        let root = MountRoot::open(virtual_path, host_path)?;
        Ok(Self::with_root(root, mode, write_bytes_limit))
    }

    pub fn with_root(root: MountRoot, mode: MountMode, write_bytes_limit: Option<u64>) -> Self {
        Self {
            root,
            mode,
            write_bytes_limit,
            memory_usage_limit: crate::DEFAULT_MEMORY_USAGE_LIMIT,
        }
    }

    pub fn with_memory_usage_limit(mut self, limit: u64) -> Self {
        self.memory_usage_limit = limit;
        self
    }

    pub fn root(&self) -> &MountRoot {
        &self.root
    }

    pub fn virtual_path(&self) -> &str {
        self.root.virtual_path()
    }

    pub fn host_path(&self) -> &Path {
        self.root.host_path()
    }

    pub fn mode(&self) -> &MountMode {
        &self.mode
    }

    pub fn write_bytes_limit(&self) -> Option<u64> {
        self.write_bytes_limit
    }

    pub fn memory_usage_limit(&self) -> u64 {
        self.memory_usage_limit
    }

    /// An overlay of Handfast holds its content in files.
    pub fn memory_usage(&self) -> u64 {
        0
    }
}
