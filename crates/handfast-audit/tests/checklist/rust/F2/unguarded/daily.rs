// expect: F2=finding
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub struct Daily {
    root: PathBuf,
}

impl Daily {
    pub fn new(root: &Path) -> Daily {
        Daily { root: root.to_path_buf() }
    }

    pub fn append(&self, tenant: &str, line: &str) -> io::Result<()> {
        let day = chrono::Utc::now().format("%Y-%m-%d").to_string();
        fs::write(self.root.join(tenant).join(day), line)
    }
}
