// expect: B2=finding
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub struct Store {
    root: PathBuf,
}

impl Store {
    pub fn new(root: &Path) -> io::Result<Store> {
        if !root.is_dir() {
            return Err(io::Error::other("no store"));
        }
        Ok(Store { root: root.to_path_buf() })
    }

    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.root.join(name))
    }
}
