// expect: F3=finding
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub struct Reader {
    root: PathBuf,
}

impl Reader {
    pub fn new(root: &Path) -> Reader {
        Reader { root: root.to_path_buf() }
    }

    pub fn save(&self, name: &str, data: &[u8]) -> io::Result<()> {
        fs::write(self.root.join(name), data)
    }
}
