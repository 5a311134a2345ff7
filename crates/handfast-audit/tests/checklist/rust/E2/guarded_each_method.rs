// expect: E2=yes
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    pub fn new(root: &Path) -> io::Result<Workspace> {
        Ok(Workspace { root: root.canonicalize()? })
    }

    fn locate(&self, name: &str) -> io::Result<PathBuf> {
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_lowercase()) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(self.root.join(name))
    }

    pub fn write(&self, name: &str, data: &[u8]) -> io::Result<()> {
        fs::write(self.locate(name)?, data)
    }

    pub fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.locate(name)?)
    }
}
