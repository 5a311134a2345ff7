//! pathrs: a root handle, resolved by the kernel where it can. It gives handles and leaves the
//! rest to the caller.

use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use pathrs::Root;
use pathrs::flags::{OpenFlags, RenameFlags};

use super::{Contender, Offered, Prepared, Sync, does, draft_of, lacks, parent_of};
use crate::buffer::Buffer;
use crate::column::Column;
use crate::site::Site;
use crate::tally::{Ask, read, whole};

const NO_LISTING: &str = "it has no listing: it gives a descriptor, which the caller lists";

/// One root handle for everything.
pub(super) struct Pathrs {
    root: Arc<Root>,
}

impl Pathrs {
    pub(super) fn made(site: &Site) -> Prepared {
        let root = Arc::new(Root::open(site.path(""))?);
        Ok(Box::new(Self { root }))
    }

    fn root(&self) -> Arc<Root> {
        Arc::clone(&self.root)
    }
}

impl Contender for Pathrs {
    fn column(&self) -> Column {
        Column::Pathrs
    }

    fn open_read(&self, paths: &[String]) -> Offered {
        let (root, paths) = (self.root(), paths.to_vec());
        let mut buffer = Buffer::new();
        does(Column::Pathrs, move |index| {
            let path = &paths[index % paths.len()];
            let mut file = root.open_subpath(path, OpenFlags::O_RDONLY)?;
            let got = file.read(&mut buffer)?;
            Ok(read(&buffer, got, got as u64))
        })
    }

    fn read_whole(&self, path: &str) -> Offered {
        let (root, path) = (self.root(), path.to_owned());
        does(Column::Pathrs, move |_| {
            let mut data = Vec::new();
            let mut file = root.open_subpath(&path, OpenFlags::O_RDONLY)?;
            file.read_to_end(&mut data)?;
            Ok(whole(&data))
        })
    }

    fn stat(&self, path: &str) -> Offered {
        let (root, path) = (self.root(), path.to_owned());
        does(Column::Pathrs, move |_| {
            let handle = OwnedFd::from(root.resolve(&path)?);
            Ok(File::from(handle).metadata()?.len())
        })
    }

    fn rename(&self, names: &[String; 2]) -> Offered {
        let (root, names) = (self.root(), names.clone());
        does(Column::Pathrs, move |index| {
            let (from, to) = (&names[index % 2], &names[(index + 1) % 2]);
            root.rename(from, to, RenameFlags::empty())?;
            Ok(1)
        })
    }

    fn create_write(&self, paths: &[String]) -> Offered {
        let (root, paths, data) = (self.root(), paths.to_vec(), Buffer::filled());
        let flags = OpenFlags::O_WRONLY | OpenFlags::O_EXCL;
        let mode = Permissions::from_mode(0o666);
        does(Column::Pathrs, move |index| {
            let mut file = root.create_file(&paths[index % paths.len()], flags, &mode)?;
            Ok(file.write(&data)? as u64)
        })
    }

    fn replace(&self, path: &str, sync: Sync) -> Offered {
        let (root, path, data) = (self.root(), path.to_owned(), Buffer::filled());
        let (draft, parent) = (draft_of(&path), parent_of(&path));
        let flags = OpenFlags::O_WRONLY | OpenFlags::O_EXCL;
        let mode = Permissions::from_mode(0o666);
        does(Column::Pathrs, move |_| {
            let mut file = root.create_file(&draft, flags, &mode)?;
            let written = file.write(&data)?;
            if sync == Sync::Full {
                file.sync_all()?;
            }
            root.rename(&draft, &path, RenameFlags::empty())?;
            if sync == Sync::Full {
                let flags = OpenFlags::O_RDONLY | OpenFlags::O_DIRECTORY;
                root.open_subpath(&parent, flags)?.sync_all()?;
            }
            Ok(written as u64)
        })
    }

    fn create_dir_all(&self, paths: &[String]) -> Offered {
        let (root, paths) = (self.root(), paths.to_vec());
        let mode = Permissions::from_mode(0o755);
        does(Column::Pathrs, move |index| {
            root.mkdir_all(&paths[index % paths.len()], &mode)?;
            Ok(1)
        })
    }

    fn read_dir(&self, _path: &str, _ask: Ask) -> Offered {
        lacks(NO_LISTING)
    }

    fn walk(&self, _path: &str, _ask: Ask) -> Offered {
        lacks(NO_LISTING)
    }

    fn remove_tree(&self, path: &str) -> Offered {
        let (root, path) = (self.root(), path.to_owned());
        does(Column::Pathrs, move |_| {
            root.remove_all(&path)?;
            Ok(1)
        })
    }

    fn copy_tree(&self, _from: &str, _to: &str) -> Offered {
        lacks(NO_LISTING)
    }
}
