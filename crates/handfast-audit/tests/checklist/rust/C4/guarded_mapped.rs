// expect: C4=yes
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
    match fs::symlink_metadata(&path) {
        Ok(info) if info.is_file() => Ok(path),
        Ok(_) => Err(Refused::Kind),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path),
        Err(_) => Err(Refused::Denied),
    }
}

pub fn save(name: &str, data: &[u8]) -> Result<(), Refused> {
    let path = check(name)?;
    fs::write(path, data).map_err(|_| Refused::Denied)
}
