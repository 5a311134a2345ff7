// expect: C4=finding
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const BOX: &str = "/srv/box";

#[derive(Debug)]
pub enum Refused {
    Name,
    Kind,
    Denied,
}

fn check(name: &str) -> Result<PathBuf, Refused> {
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_lowercase()) {
        return Err(Refused::Name);
    }
    let path = Path::new(BOX).join(name);
    if let Ok(info) = fs::symlink_metadata(&path) {
        if info.file_type().is_symlink() {
            return Err(Refused::Kind);
        }
    }
    Ok(path)
}

pub fn save(name: &str, data: &[u8]) -> Result<(), Refused> {
    let path = check(name)?;
    fs::write(path, data).map_err(|_| Refused::Denied)
}
