// expect: B2=yes
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub struct Store {
    root: PathBuf,
}

impl Store {
    pub fn new(root: &Path) -> io::Result<Store> {
        let info = fs::symlink_metadata(root)?;
        if info.file_type().is_symlink() || !info.is_dir() {
            return Err(io::Error::other("the store must be a real directory"));
        }
        Ok(Store { root: fs::canonicalize(root)? })
    }

    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.root.join(name))
    }
}
