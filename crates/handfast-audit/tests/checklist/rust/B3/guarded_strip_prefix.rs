// expect: B3=yes

use std::fs;
use std::path::{Path, PathBuf};

pub struct Site {
    root: PathBuf,
}

#[derive(Debug)]
pub enum Refused {
    Outside,
    Missing,
}

impl Site {
    pub fn new(root: &Path) -> Result<Site, Refused> {
        let root = root.canonicalize().map_err(|_| Refused::Missing)?;
        Ok(Site { root })
    }

    fn locate(&self, name: &str) -> Result<PathBuf, Refused> {
        let path = self.root.join(name).canonicalize().map_err(|_| Refused::Missing)?;
        if path.strip_prefix(&self.root).is_err() {
            return Err(Refused::Outside);
        }
        Ok(path)
    }

    pub fn page(&self, name: &str) -> Result<Vec<u8>, Refused> {
        let path = self.locate(name)?;
        fs::read(path).map_err(|_| Refused::Missing)
    }
}
