//! cap-std: a directory handle that paths cannot leave.

use std::io::{Read, Write};
use std::sync::Arc;

use cap_std::fs::{Dir, OpenOptions};

use super::{Contender, Offered, Prepared, Sync, does, draft_of, parent_of};
use crate::Failure;
use crate::buffer::Buffer;
use crate::column::Column;
use crate::site::Site;
use crate::tally::{Ask, entry, read, whole};

/// One directory handle for everything.
pub(super) struct CapStd {
    dir: Arc<Dir>,
}

impl CapStd {
    pub(super) fn made(site: &Site) -> Prepared {
        let dir = Dir::open_ambient_dir(site.path(""), cap_std::ambient_authority())?;
        Ok(Box::new(Self { dir: Arc::new(dir) }))
    }

    fn dir(&self) -> Arc<Dir> {
        Arc::clone(&self.dir)
    }
}

impl Contender for CapStd {
    fn column(&self) -> Column {
        Column::CapStd
    }

    fn open_read(&self, paths: &[String]) -> Offered {
        let (dir, paths) = (self.dir(), paths.to_vec());
        let mut buffer = Buffer::new();
        does(Column::CapStd, move |index| {
            let got = dir.open(&paths[index % paths.len()])?.read(&mut buffer)?;
            Ok(read(&buffer, got, got as u64))
        })
    }

    fn read_whole(&self, path: &str) -> Offered {
        let (dir, path) = (self.dir(), path.to_owned());
        does(Column::CapStd, move |_| Ok(whole(&dir.read(&path)?)))
    }

    fn stat(&self, path: &str) -> Offered {
        let (dir, path) = (self.dir(), path.to_owned());
        does(Column::CapStd, move |_| Ok(dir.metadata(&path)?.len()))
    }

    fn rename(&self, names: &[String; 2]) -> Offered {
        let (dir, names) = (self.dir(), names.clone());
        does(Column::CapStd, move |index| {
            dir.rename(&names[index % 2], &dir, &names[(index + 1) % 2])?;
            Ok(1)
        })
    }

    fn create_write(&self, paths: &[String]) -> Offered {
        let (dir, paths, data) = (self.dir(), paths.to_vec(), Buffer::filled());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        does(Column::CapStd, move |index| {
            let mut file = dir.open_with(&paths[index % paths.len()], &options)?;
            Ok(file.write(&data)? as u64)
        })
    }

    fn replace(&self, path: &str, sync: Sync) -> Offered {
        let (dir, path, data) = (self.dir(), path.to_owned(), Buffer::filled());
        let (draft, parent) = (draft_of(&path), parent_of(&path));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        does(Column::CapStd, move |_| {
            let mut file = dir.open_with(&draft, &options)?;
            let written = file.write(&data)?;
            if sync == Sync::Full {
                file.sync_all()?;
            }
            dir.rename(&draft, &dir, &path)?;
            if sync == Sync::Full {
                dir.open(&parent)?.sync_all()?;
            }
            Ok(written as u64)
        })
    }

    fn create_dir_all(&self, paths: &[String]) -> Offered {
        let (dir, paths) = (self.dir(), paths.to_vec());
        does(Column::CapStd, move |index| {
            dir.create_dir_all(&paths[index % paths.len()])?;
            Ok(1)
        })
    }

    fn read_dir(&self, path: &str, ask: Ask) -> Offered {
        let (dir, path) = (self.dir(), path.to_owned());
        does(Column::CapStd, move |_| {
            let mut seen = 0;
            for found in dir.read_dir(&path)? {
                let found = found?;
                seen += entry(found.file_name().as_encoded_bytes());
                if ask == Ask::Metadata {
                    seen += found.metadata()?.len();
                }
            }
            Ok(seen)
        })
    }

    fn walk(&self, path: &str, ask: Ask) -> Offered {
        let (dir, path) = (self.dir(), path.to_owned());
        does(Column::CapStd, move |_| walk(&dir.open_dir(&path)?, ask))
    }

    fn remove_tree(&self, path: &str) -> Offered {
        let (dir, path) = (self.dir(), path.to_owned());
        does(Column::CapStd, move |_| {
            dir.remove_dir_all(&path)?;
            Ok(1)
        })
    }

    fn copy_tree(&self, from: &str, to: &str) -> Offered {
        let (dir, from, to) = (self.dir(), from.to_owned(), to.to_owned());
        does(Column::CapStd, move |_| {
            dir.create_dir(&to)?;
            copy(&dir.open_dir(&from)?, &dir.open_dir(&to)?)
        })
    }
}

fn walk(dir: &Dir, ask: Ask) -> Result<u64, Failure> {
    let mut seen = 0;
    for found in dir.entries()? {
        let found = found?;
        seen += entry(found.file_name().as_encoded_bytes());
        if ask == Ask::Metadata {
            let metadata = found.metadata()?;
            if metadata.is_file() {
                seen += metadata.len();
            }
        }
        if found.file_type()?.is_dir() {
            seen += walk(&found.open_dir()?, ask)?;
        }
    }
    Ok(seen)
}

/// It copies files; the tree is walked by hand, from handle to handle.
fn copy(from: &Dir, to: &Dir) -> Result<u64, Failure> {
    for found in from.entries()? {
        let found = found?;
        let name = found.file_name();
        if found.file_type()?.is_dir() {
            to.create_dir(&name)?;
            copy(&found.open_dir()?, &to.open_dir(&name)?)?;
        } else {
            from.copy(&name, to, &name)?;
        }
    }
    Ok(1)
}
