// expect: E2=finding

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub struct TenantDir {
    dir: PathBuf,
}

impl TenantDir {
    pub fn new(root: &Path, tenant: &str) -> io::Result<TenantDir> {
        if tenant.is_empty() || tenant.contains('/') || tenant == "." || tenant == ".." {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let dir = root.join(tenant);
        if fs::symlink_metadata(&dir)?.file_type().is_symlink() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(TenantDir { dir })
    }

    pub fn reset(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.dir)
    }
}
