// expect: E2=finding
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    pub fn new(root: &Path) -> Workspace {
        Workspace { root: root.to_path_buf() }
    }

    pub fn write(&self, name: &str, data: &[u8]) -> io::Result<()> {
        fs::write(self.root.join(name), data)
    }
}
