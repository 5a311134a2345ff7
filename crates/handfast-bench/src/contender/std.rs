//! The standard library by absolute path: it confines nothing.
#![expect(
    clippy::disallowed_methods,
    reason = "what people write who confine nothing"
)]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::{Contender, Offered, Prepared, Sync, does, draft_of};
use crate::Failure;
use crate::buffer::Buffer;
use crate::column::Column;
use crate::rows::SMALL;
use crate::site::Site;
use crate::tally::{Ask, entry, read, whole};

/// Joins paths to the site's own.
pub(super) struct Std {
    top: PathBuf,
}

impl Std {
    pub(super) fn made(site: &Site) -> Prepared {
        Ok(Box::new(Self { top: site.path("") }))
    }

    fn all(&self, paths: &[String]) -> Vec<PathBuf> {
        paths.iter().map(|path| self.top.join(path)).collect()
    }
}

impl Contender for Std {
    fn column(&self) -> Column {
        Column::Std
    }

    fn open_read(&self, paths: &[String]) -> Offered {
        let paths = self.all(paths);
        let mut buffer = Buffer::new();
        does(Column::Std, move |index| {
            let mut file = File::open(&paths[index % paths.len()])?;
            let got = file.read(&mut buffer)?;
            Ok(read(&buffer, got, got as u64))
        })
    }

    fn open_parsed(&self, path: &str) -> Offered {
        let (top, text) = (self.top.clone(), path.to_owned());
        let mut buffer = Buffer::new();
        does(Column::Std, move |_| {
            let got = File::open(top.join(&text))?.read(&mut buffer)?;
            Ok(read(&buffer, got, SMALL as u64))
        })
    }

    fn read_whole(&self, path: &str) -> Offered {
        let path = self.top.join(path);
        does(Column::Std, move |_| Ok(whole(&fs::read(&path)?)))
    }

    fn stat(&self, path: &str) -> Offered {
        let path = self.top.join(path);
        does(Column::Std, move |_| Ok(fs::metadata(&path)?.len()))
    }

    fn rename(&self, names: &[String; 2]) -> Offered {
        let names = self.all(names);
        does(Column::Std, move |index| {
            fs::rename(&names[index % 2], &names[(index + 1) % 2])?;
            Ok(1)
        })
    }

    fn create_write(&self, paths: &[String]) -> Offered {
        let (paths, data) = (self.all(paths), Buffer::filled());
        does(Column::Std, move |index| {
            let mut file = File::create_new(&paths[index % paths.len()])?;
            Ok(file.write(&data)? as u64)
        })
    }

    fn replace(&self, path: &str, sync: Sync) -> Offered {
        let (draft, path) = (self.top.join(draft_of(path)), self.top.join(path));
        let parent = path.parent().map(Path::to_owned).unwrap_or_default();
        let data = Buffer::filled();
        does(Column::Std, move |_| {
            let mut file = File::create_new(&draft)?;
            let written = file.write(&data)?;
            if sync == Sync::Full {
                file.sync_all()?;
            }
            fs::rename(&draft, &path)?;
            if sync == Sync::Full {
                File::open(&parent)?.sync_all()?;
            }
            Ok(written as u64)
        })
    }

    fn create_dir_all(&self, paths: &[String]) -> Offered {
        let paths = self.all(paths);
        does(Column::Std, move |index| {
            fs::create_dir_all(&paths[index % paths.len()])?;
            Ok(1)
        })
    }

    fn read_dir(&self, path: &str, ask: Ask) -> Offered {
        let path = self.top.join(path);
        does(Column::Std, move |_| list(&path, ask))
    }

    fn walk(&self, path: &str, ask: Ask) -> Offered {
        let path = self.top.join(path);
        does(Column::Std, move |_| walk(&path, ask))
    }

    fn remove_tree(&self, path: &str) -> Offered {
        let path = self.top.join(path);
        does(Column::Std, move |_| {
            fs::remove_dir_all(&path)?;
            Ok(1)
        })
    }

    fn copy_tree(&self, from: &str, to: &str) -> Offered {
        let (from, to) = (self.top.join(from), self.top.join(to));
        does(Column::Std, move |_| copy(&from, &to))
    }
}

pub(super) fn list(dir: &Path, ask: Ask) -> Result<u64, Failure> {
    let mut seen = 0;
    for found in fs::read_dir(dir)? {
        let found = found?;
        seen += entry(found.file_name().as_encoded_bytes());
        if ask == Ask::Metadata {
            seen += found.metadata()?.len();
        }
    }
    Ok(seen)
}

fn walk(dir: &Path, ask: Ask) -> Result<u64, Failure> {
    let mut seen = 0;
    for found in fs::read_dir(dir)? {
        let found = found?;
        seen += entry(found.file_name().as_encoded_bytes());
        if ask == Ask::Metadata {
            let metadata = found.metadata()?;
            if metadata.is_file() {
                seen += metadata.len();
            }
        }
        if found.file_type()?.is_dir() {
            seen += walk(&found.path(), ask)?;
        }
    }
    Ok(seen)
}

/// There is no such function in the standard library; this is what people write.
fn copy(from: &Path, to: &Path) -> Result<u64, Failure> {
    fs::create_dir(to)?;
    for found in fs::read_dir(from)? {
        let found = found?;
        let to = to.join(found.file_name());
        if found.file_type()?.is_dir() {
            copy(&found.path(), &to)?;
        } else {
            fs::copy(found.path(), to)?;
        }
    }
    Ok(1)
}
