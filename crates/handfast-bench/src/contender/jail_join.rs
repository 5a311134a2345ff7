//! path_jail's join: the string is checked against the disk, then the standard library is given
//! the path that came out. Each path is joined at each use, and in a tree each directory entered.
#![expect(
    clippy::disallowed_methods,
    reason = "its documentation hands checked paths to the standard library"
)]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use path_jail::Jail;

use super::{Contender, Offered, Prepared, Sync, does, draft_of, parent_of, std::list};
use crate::Failure;
use crate::buffer::Buffer;
use crate::column::Column;
use crate::site::Site;
use crate::tally::{Ask, entry, read, whole};

/// One jail for everything.
pub(super) struct JailJoin {
    jail: Arc<Jail>,
}

impl JailJoin {
    pub(super) fn made(site: &Site) -> Prepared {
        let jail = Arc::new(Jail::new(site.path(""))?);
        Ok(Box::new(Self { jail }))
    }

    fn jail(&self) -> Arc<Jail> {
        Arc::clone(&self.jail)
    }
}

impl Contender for JailJoin {
    fn column(&self) -> Column {
        Column::JailJoin
    }

    fn open_read(&self, paths: &[String]) -> Offered {
        let (jail, paths) = (self.jail(), paths.to_vec());
        let mut buffer = Buffer::new();
        does(Column::JailJoin, move |index| {
            let path = jail.join(&paths[index % paths.len()])?;
            let got = File::open(path)?.read(&mut buffer)?;
            Ok(read(&buffer, got, got as u64))
        })
    }

    fn read_whole(&self, path: &str) -> Offered {
        let (jail, path) = (self.jail(), path.to_owned());
        does(Column::JailJoin, move |_| {
            Ok(whole(&fs::read(jail.join(&path)?)?))
        })
    }

    fn stat(&self, path: &str) -> Offered {
        let (jail, path) = (self.jail(), path.to_owned());
        does(Column::JailJoin, move |_| {
            Ok(fs::metadata(jail.join(&path)?)?.len())
        })
    }

    fn rename(&self, names: &[String; 2]) -> Offered {
        let (jail, names) = (self.jail(), names.clone());
        does(Column::JailJoin, move |index| {
            let (from, to) = (&names[index % 2], &names[(index + 1) % 2]);
            fs::rename(jail.join(from)?, jail.join(to)?)?;
            Ok(1)
        })
    }

    fn create_write(&self, paths: &[String]) -> Offered {
        let (jail, paths, data) = (self.jail(), paths.to_vec(), Buffer::filled());
        does(Column::JailJoin, move |index| {
            let path = jail.join(&paths[index % paths.len()])?;
            Ok(File::create_new(path)?.write(&data)? as u64)
        })
    }

    fn replace(&self, path: &str, sync: Sync) -> Offered {
        let (jail, path, data) = (self.jail(), path.to_owned(), Buffer::filled());
        let (draft, parent) = (draft_of(&path), parent_of(&path));
        does(Column::JailJoin, move |_| {
            let (draft, path) = (jail.join(&draft)?, jail.join(&path)?);
            let mut file = File::create_new(&draft)?;
            let written = file.write(&data)?;
            if sync == Sync::Full {
                file.sync_all()?;
            }
            fs::rename(&draft, &path)?;
            if sync == Sync::Full {
                File::open(jail.join(&parent)?)?.sync_all()?;
            }
            Ok(written as u64)
        })
    }

    fn create_dir_all(&self, paths: &[String]) -> Offered {
        let (jail, paths) = (self.jail(), paths.to_vec());
        does(Column::JailJoin, move |index| {
            fs::create_dir_all(jail.join(&paths[index % paths.len()])?)?;
            Ok(1)
        })
    }

    fn read_dir(&self, path: &str, ask: Ask) -> Offered {
        let (jail, path) = (self.jail(), path.to_owned());
        does(Column::JailJoin, move |_| list(&jail.join(&path)?, ask))
    }

    fn walk(&self, path: &str, ask: Ask) -> Offered {
        let (jail, path) = (self.jail(), path.to_owned());
        does(Column::JailJoin, move |_| walk(&jail, path.as_ref(), ask))
    }

    fn remove_tree(&self, path: &str) -> Offered {
        let (jail, path) = (self.jail(), path.to_owned());
        does(Column::JailJoin, move |_| {
            fs::remove_dir_all(jail.join(&path)?)?;
            Ok(1)
        })
    }

    fn copy_tree(&self, from: &str, to: &str) -> Offered {
        let (jail, from, to) = (self.jail(), from.to_owned(), to.to_owned());
        does(Column::JailJoin, move |_| {
            copy(&jail, from.as_ref(), to.as_ref())
        })
    }
}

fn walk(jail: &Jail, dir: &Path, ask: Ask) -> Result<u64, Failure> {
    let mut seen = 0;
    for found in fs::read_dir(jail.join(dir)?)? {
        let found = found?;
        let name = found.file_name();
        seen += entry(name.as_encoded_bytes());
        if ask == Ask::Metadata {
            let metadata = found.metadata()?;
            if metadata.is_file() {
                seen += metadata.len();
            }
        }
        if found.file_type()?.is_dir() {
            seen += walk(jail, &dir.join(name), ask)?;
        }
    }
    Ok(seen)
}

fn copy(jail: &Jail, from: &Path, to: &Path) -> Result<u64, Failure> {
    fs::create_dir(jail.join(to)?)?;
    for found in fs::read_dir(jail.join(from)?)? {
        let found = found?;
        let (from, to) = (from.join(found.file_name()), to.join(found.file_name()));
        if found.file_type()?.is_dir() {
            copy(jail, &from, &to)?;
        } else {
            fs::copy(jail.join(from)?, jail.join(to)?)?;
        }
    }
    Ok(1)
}
