//! strict-path: a path type that was checked against the disk when it was joined. Each path is
//! joined at each use; in a tree every entry is, by its own directory iterator.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use strict_path::{PathBoundary, StrictPath};

use super::{Contender, Offered, Prepared, Sync, does, draft_of, parent_of};
use crate::Failure;
use crate::buffer::Buffer;
use crate::column::Column;
use crate::site::Site;
use crate::tally::{Ask, entry, read, whole};

/// One boundary for everything.
pub(super) struct Strict {
    boundary: Arc<PathBoundary>,
}

impl Strict {
    pub(super) fn made(site: &Site) -> Prepared {
        let boundary = Arc::new(PathBoundary::try_new(site.path(""))?);
        Ok(Box::new(Self { boundary }))
    }

    fn boundary(&self) -> Arc<PathBoundary> {
        Arc::clone(&self.boundary)
    }
}

impl Contender for Strict {
    fn column(&self) -> Column {
        Column::StrictPath
    }

    fn open_read(&self, paths: &[String]) -> Offered {
        let (boundary, paths) = (self.boundary(), paths.to_vec());
        let mut buffer = Buffer::new();
        does(Column::StrictPath, move |index| {
            let path = boundary.strict_join(&paths[index % paths.len()])?;
            let got = path.open_file()?.read(&mut buffer)?;
            Ok(read(&buffer, got, got as u64))
        })
    }

    fn read_whole(&self, path: &str) -> Offered {
        let (boundary, path) = (self.boundary(), path.to_owned());
        does(Column::StrictPath, move |_| {
            Ok(whole(&boundary.strict_join(&path)?.read()?))
        })
    }

    fn stat(&self, path: &str) -> Offered {
        let (boundary, path) = (self.boundary(), path.to_owned());
        does(Column::StrictPath, move |_| {
            Ok(boundary.strict_join(&path)?.metadata()?.len())
        })
    }

    fn rename(&self, names: &[String; 2]) -> Offered {
        let (boundary, names) = (self.boundary(), names.clone());
        does(Column::StrictPath, move |index| {
            let (from, to) = (&names[index % 2], &names[(index + 1) % 2]);
            boundary.strict_join(from)?.strict_rename(name_of(to))?;
            Ok(1)
        })
    }

    fn create_write(&self, paths: &[String]) -> Offered {
        let (boundary, paths, data) = (self.boundary(), paths.to_vec(), Buffer::filled());
        does(Column::StrictPath, move |index| {
            let path = boundary.strict_join(&paths[index % paths.len()])?;
            let mut file = path.open_with().write(true).create_new(true).open()?;
            Ok(file.write(&data)? as u64)
        })
    }

    fn replace(&self, path: &str, sync: Sync) -> Offered {
        let (boundary, path, data) = (self.boundary(), path.to_owned(), Buffer::filled());
        let (draft, parent) = (draft_of(&path), parent_of(&path));
        does(Column::StrictPath, move |_| {
            let draft = boundary.strict_join(&draft)?;
            let mut file = draft.open_with().write(true).create_new(true).open()?;
            let written = file.write(&data)?;
            if sync == Sync::Full {
                file.sync_all()?;
            }
            draft.strict_rename(name_of(&path))?;
            if sync == Sync::Full {
                boundary.strict_join(&parent)?.open_file()?.sync_all()?;
            }
            Ok(written as u64)
        })
    }

    fn create_dir_all(&self, paths: &[String]) -> Offered {
        let (boundary, paths) = (self.boundary(), paths.to_vec());
        does(Column::StrictPath, move |index| {
            let path = boundary.strict_join(&paths[index % paths.len()])?;
            path.create_dir_all()?;
            Ok(1)
        })
    }

    fn read_dir(&self, path: &str, ask: Ask) -> Offered {
        let (boundary, path) = (self.boundary(), path.to_owned());
        does(Column::StrictPath, move |_| {
            let mut seen = 0;
            for found in boundary.strict_join(&path)?.strict_read_dir()? {
                let found = found?;
                seen += name(&found);
                if ask == Ask::Metadata {
                    seen += found.metadata()?.len();
                }
            }
            Ok(seen)
        })
    }

    fn walk(&self, path: &str, ask: Ask) -> Offered {
        let (boundary, path) = (self.boundary(), path.to_owned());
        does(Column::StrictPath, move |_| {
            walk(&boundary.strict_join(&path)?, ask)
        })
    }

    fn remove_tree(&self, path: &str) -> Offered {
        let (boundary, path) = (self.boundary(), path.to_owned());
        does(Column::StrictPath, move |_| {
            boundary.strict_join(&path)?.remove_dir_all()?;
            Ok(1)
        })
    }

    fn copy_tree(&self, from: &str, to: &str) -> Offered {
        let (boundary, from, to) = (self.boundary(), from.to_owned(), to.to_owned());
        does(Column::StrictPath, move |_| {
            copy(&boundary.strict_join(&from)?, &boundary.strict_join(&to)?)
        })
    }
}

/// A relative destination is taken beside the source, so its last component is enough here.
fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn name(path: &StrictPath) -> u64 {
    let name = path.strictpath_file_name().unwrap_or_default();
    entry(name.as_encoded_bytes())
}

/// An entry carries no kind, so the disk is asked.
fn walk(dir: &StrictPath, ask: Ask) -> Result<u64, Failure> {
    let mut seen = 0;
    for found in dir.strict_read_dir()? {
        let found = found?;
        seen += name(&found);
        let metadata = found.metadata()?;
        if metadata.is_dir() {
            seen += walk(&found, ask)?;
        } else if ask == Ask::Metadata && metadata.is_file() {
            seen += metadata.len();
        }
    }
    Ok(seen)
}

fn copy(from: &StrictPath, to: &StrictPath) -> Result<u64, Failure> {
    to.create_dir()?;
    for found in from.strict_read_dir()? {
        let found = found?;
        let name = found.strictpath_file_name().unwrap_or_default();
        if found.metadata()?.is_dir() {
            copy(&found, &to.strict_join(name)?)?;
        } else {
            // An absolute destination is joined to the boundary by the copy itself.
            found.strict_copy(Path::new(to.interop_path()).join(name))?;
        }
    }
    Ok(1)
}
