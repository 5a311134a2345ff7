// expect: F1=finding
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub struct Store {
    root: PathBuf,
}

impl Store {
    pub fn new(root: &Path) -> Store {
        Store { root: root.to_path_buf() }
    }

    pub fn save(&self, name: &str, data: &[u8]) -> io::Result<()> {
        fs::write(self.root.join(name), data)
    }
}
