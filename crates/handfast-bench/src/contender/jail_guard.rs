//! path_jail's guard: a pinned root, one `openat2` for an open, checks on the opened handle.
//!
//! Opens ask for a regular file without other names, as the examples of its documentation do for
//! trees that others may change.

use std::io::{Read, Write};
use std::sync::Arc;

use path_jail::guard::{FdJail, OpenOptions};

use super::{Contender, Offered, Prepared, Sync, does, draft_of, lacks, parent_of};
use crate::buffer::Buffer;
use crate::column::Column;
use crate::site::Site;
use crate::tally::{Ask, read, whole};

const NO_LISTING: &str = "it has no listing: its documentation leaves iteration out of scope";
const NO_RECURSION: &str = "it removes single files and empty directories only";

/// One pinned root for everything.
pub(super) struct JailGuard {
    jail: Arc<FdJail>,
}

impl JailGuard {
    pub(super) fn made(site: &Site) -> Prepared {
        let jail = Arc::new(FdJail::new(site.path(""))?);
        Ok(Box::new(Self { jail }))
    }

    fn jail(&self) -> Arc<FdJail> {
        Arc::clone(&self.jail)
    }
}

fn reading() -> OpenOptions {
    OpenOptions::new()
        .read(true)
        .require_regular_file(true)
        .reject_hard_links(true)
}

fn creating() -> OpenOptions {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .require_regular_file(true)
        .reject_hard_links(true)
}

impl Contender for JailGuard {
    fn column(&self) -> Column {
        Column::JailGuard
    }

    fn open_read(&self, paths: &[String]) -> Offered {
        let (jail, paths) = (self.jail(), paths.to_vec());
        let mut buffer = Buffer::new();
        does(Column::JailGuard, move |index| {
            let mut file = jail.open(&paths[index % paths.len()], reading())?;
            let got = file.read(&mut buffer)?;
            Ok(read(&buffer, got, file.opened_metadata().len()))
        })
    }

    fn read_whole(&self, path: &str) -> Offered {
        let (jail, path) = (self.jail(), path.to_owned());
        does(Column::JailGuard, move |_| {
            let mut data = Vec::new();
            jail.open(&path, reading())?.read_to_end(&mut data)?;
            Ok(whole(&data))
        })
    }

    /// It has no such call; what it opens carries its metadata.
    fn stat(&self, path: &str) -> Offered {
        let (jail, path) = (self.jail(), path.to_owned());
        does(Column::JailGuard, move |_| {
            let file = jail.open(&path, OpenOptions::new().read(true))?;
            Ok(file.opened_metadata().len())
        })
    }

    fn rename(&self, names: &[String; 2]) -> Offered {
        let (jail, names) = (self.jail(), names.clone());
        does(Column::JailGuard, move |index| {
            jail.rename(&names[index % 2], &names[(index + 1) % 2])?;
            Ok(1)
        })
    }

    fn create_write(&self, paths: &[String]) -> Offered {
        let (jail, paths, data) = (self.jail(), paths.to_vec(), Buffer::filled());
        does(Column::JailGuard, move |index| {
            let mut file = jail.open(&paths[index % paths.len()], creating())?;
            Ok(file.write(&data)? as u64)
        })
    }

    fn replace(&self, path: &str, sync: Sync) -> Offered {
        let (jail, path, data) = (self.jail(), path.to_owned(), Buffer::filled());
        let (draft, parent) = (draft_of(&path), parent_of(&path));
        does(Column::JailGuard, move |_| {
            let mut file = jail.open(&draft, creating())?;
            let written = file.write(&data)?;
            if sync == Sync::Full {
                file.sync_all()?;
            }
            jail.rename(&draft, &path)?;
            if sync == Sync::Full {
                let above = jail.open(&parent, OpenOptions::new().read(true))?;
                above.sync_all()?;
            }
            Ok(written as u64)
        })
    }

    fn create_dir_all(&self, paths: &[String]) -> Offered {
        let (jail, paths) = (self.jail(), paths.to_vec());
        does(Column::JailGuard, move |index| {
            jail.create_dir_all(&paths[index % paths.len()])?;
            Ok(1)
        })
    }

    fn read_dir(&self, _path: &str, _ask: Ask) -> Offered {
        lacks(NO_LISTING)
    }

    fn walk(&self, _path: &str, _ask: Ask) -> Offered {
        lacks(NO_LISTING)
    }

    fn remove_tree(&self, _path: &str) -> Offered {
        lacks(NO_RECURSION)
    }

    fn copy_tree(&self, _from: &str, _to: &str) -> Offered {
        lacks(NO_LISTING)
    }
}
