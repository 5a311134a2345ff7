// expect: B1=yes B3=yes
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub struct Store {
    root: PathBuf,
}

impl Store {
    pub fn new(root: &Path) -> io::Result<Store> {
        let root = fs::canonicalize(root)?;
        Ok(Store { root })
    }

    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let path = fs::canonicalize(self.root.join(name))?;
        if !path.starts_with(&self.root) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        fs::read(path)
    }
}
