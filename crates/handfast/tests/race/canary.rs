//! The outside, as it must stay.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The outside, as it must stay: cheap to compare after every attempt.
pub(crate) struct Canary {
    pub dir: PathBuf,
    pub seen: Vec<(String, u64, u32, i64, i64, u64, Vec<u8>)>,
}

impl Canary {
    pub(crate) fn plant(dir: &Path) -> Self {
        for name in ["data", "leaf", "f", "g", "lock"] {
            std::fs::write(dir.join(name), "outside").unwrap();
        }
        std::fs::create_dir_all(dir.join("tree/sub")).unwrap();
        std::fs::create_dir_all(dir.join("empty")).unwrap();
        std::fs::write(dir.join("tree/sub/outside-file"), "outside").unwrap();
        std::os::unix::fs::symlink("outside-target", dir.join("link")).unwrap();
        let mut canary = Self {
            dir: dir.to_owned(),
            seen: Vec::new(),
        };
        canary.seen = canary.look();
        canary
    }

    pub(crate) fn look(&self) -> Vec<(String, u64, u32, i64, i64, u64, Vec<u8>)> {
        let mut seen = Vec::new();
        let mut dirs = vec![self.dir.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).unwrap().flatten() {
                let meta = entry.metadata().unwrap();
                let content = if meta.is_file() {
                    std::fs::read(entry.path()).unwrap()
                } else {
                    Vec::new()
                };
                if meta.is_dir() {
                    dirs.push(entry.path());
                }
                // Access times change when we look; change times show every touch.
                seen.push((
                    entry.path().to_string_lossy().into_owned(),
                    meta.ino(),
                    meta.permissions().mode(),
                    meta.mtime_nsec(),
                    meta.ctime_nsec(),
                    meta.nlink(),
                    content,
                ));
            }
        }
        seen.sort();
        seen
    }

    pub(crate) fn is_untouched(&self) -> bool {
        self.look() == self.seen
    }
}
