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

fn check(name: &str) -> io::Result<PathBuf> {
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_lowercase()) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let path = Path::new(BOX).join(name);
    let info = fs::symlink_metadata(&path)?;
    if !info.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(path)
}

pub fn save(name: &str, data: &[u8]) -> io::Result<()> {
    let path = check(name)?;
    fs::write(path, data)
}
