//! The log's own directory, pinned.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use handfast::{
    Durability, ErrorKind as PathError, FileKind, Mounts, OpenOptions, RelPath, Root, RootOptions,
    WriteOptions,
};

use rustix::fs::{Mode, OFlags};

use crate::error::{Error, ErrorKind};

/// Longer than any segment.
const READ_LIMIT: usize = 4 << 30;

/// A directory of a log, and how its files are reached.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    root: Root,
}

impl Store {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let options = RootOptions::new().mounts(Mounts::Allow);
        let root = Root::open_ambient_with(path, options).map_err(|error| match error.kind() {
            PathError::NotFound | PathError::NotADirectory => Error::new(
                ErrorKind::NotALog,
                format!("there is no log here: {}", error.detail()),
            ),
            _ => error.into(),
        })?;
        Ok(Self { root })
    }

    pub(crate) fn identity(&self) -> handfast::Identity {
        self.root.identity()
    }

    /// The content of a file, or nothing if there is none.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.read_at_most(name, READ_LIMIT)
    }

    /// As [`Store::read`], of a file that cannot be longer: the person who gave us a copy of a log may
    /// have made it as long as they please.
    pub(crate) fn read_at_most(&self, name: &str, most: usize) -> Result<Option<Vec<u8>>, Error> {
        match self.root.read_to_limit(&RelPath::parse(name)?, most as u64) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error)
                if matches!(error.kind(), PathError::NotFound | PathError::NotADirectory) =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Puts a file in place at once; missing directories are made.
    pub(crate) fn write(
        &self,
        name: &str,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), Error> {
        let path = RelPath::parse(name)?;
        let options = WriteOptions::new().mode(0o644).durability(durability);
        match self.root.write_with(&path, bytes, options) {
            Err(error) if error.kind() == PathError::NotFound => {
                if let Some((dir, _)) = name.rsplit_once('/') {
                    self.make_dir(dir)?;
                }
                self.root.write_with(&path, bytes, options)?;
                Ok(())
            }
            other => Ok(other.map(drop)?),
        }
    }

    /// As [`Store::write`], and refuses if there is one.
    pub(crate) fn write_new(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let options = WriteOptions::new().mode(0o644).durability(Durability::Full);
        self.root
            .write_new_with(&RelPath::parse(name)?, bytes, options)?;
        Ok(())
    }

    pub(crate) fn make_dir(&self, name: &str) -> Result<(), Error> {
        self.root.create_dir_all(&RelPath::parse(name)?)?;
        Ok(())
    }

    /// Opens a file to read and write it in place.
    pub(crate) fn open_file(&self, name: &str, create: bool) -> Result<File, Error> {
        let options = OpenOptions::new().read(true).write(true).create(create);
        let file = self.root.open_with(&RelPath::parse(name)?, options)?;
        Ok(file.into_std())
    }

    /// Opens a file to read it, or nothing if there is none.
    pub(crate) fn open_read(&self, name: &str) -> Result<Option<File>, Error> {
        match self.root.open(&RelPath::parse(name)?) {
            Ok(file) => Ok(Some(file.into_std())),
            Err(error)
                if matches!(error.kind(), PathError::NotFound | PathError::NotADirectory) =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// How long a file is; 0 if there is none.
    pub(crate) fn length(&self, name: &str) -> Result<u64, Error> {
        match self.open_read(name)? {
            Some(file) => Ok(file
                .metadata()
                .map_err(|error| Error::os("looking at a file", error))?
                .len()),
            None => Ok(0),
        }
    }

    /// Bytes that a file takes on the disk; 0 if there is none.
    pub(crate) fn on_disk(&self, name: &str) -> Result<u64, Error> {
        use std::os::unix::fs::MetadataExt;
        match self.open_read(name)? {
            Some(file) => Ok(512
                * file
                    .metadata()
                    .map_err(|error| Error::os("looking at a file", error))?
                    .blocks()),
            None => Ok(0),
        }
    }

    /// Names and kinds in a directory, sorted; nothing if there is no such directory.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<(String, FileKind)>, Error> {
        let path = match name {
            "" => RelPath::root(),
            name => RelPath::parse(name)?,
        };
        let mut entries = match self.root.read_dir(&path) {
            Ok(entries) => entries,
            Err(error)
                if matches!(error.kind(), PathError::NotFound | PathError::NotADirectory) =>
            {
                return Ok(Vec::new());
            }
            Err(error) => return Err(error.into()),
        };
        let mut found = Vec::new();
        loop {
            let entry = match entries.next_entry() {
                Ok(Some(entry)) => entry,
                Ok(None) => break,
                // Removed since it was opened, so there was nothing in it.
                Err(error) if error.kind() == PathError::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error.into()),
            };
            // Names that are not text are nobody's here.
            if let Ok(name) = str::from_utf8(entry.name().as_bytes()) {
                found.push((name.to_owned(), entry.kind()));
            }
        }
        found.sort();
        Ok(found)
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), Error> {
        match self.root.remove_file(&RelPath::parse(name)?) {
            Err(error) if error.kind() != PathError::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    pub(crate) fn remove_empty_dir(&self, name: &str) -> Result<(), Error> {
        Ok(self.root.remove_dir(&RelPath::parse(name)?)?)
    }

    /// Waits until a file is on the disk.
    pub(crate) fn sync_file(&self, name: &str) -> Result<(), Error> {
        let Some(file) = self.open_read(name)? else {
            return Err(Error::invalid("a file to sync is not there"));
        };
        rustix::fs::fsync(file).map_err(|error| Error::os("syncing a file", error))
    }

    /// Waits until the names in a directory are on the disk.
    pub(crate) fn sync_dir(&self, name: &str) -> Result<(), Error> {
        let path = match name {
            "" => RelPath::root(),
            name => RelPath::parse(name)?,
        };
        sync_directory(&self.root, &path)
    }

    /// Waits until everything on this filesystem is on the disk.
    pub(crate) fn sync_all(&self) -> Result<(), Error> {
        let dir = readable(&self.root, &RelPath::root())?;
        rustix::fs::syncfs(dir).map_err(|error| Error::os("syncing the filesystem", error))
    }
}

/// Waits until the names in a directory are on the disk.
pub(crate) fn sync_directory(root: &Root, path: &RelPath) -> Result<(), Error> {
    let dir = readable(root, path)?;
    rustix::fs::fsync(dir).map_err(|error| Error::os("syncing a directory", error))
}

/// A directory that was pinned, opened so that it can be synced.
fn readable(root: &Root, path: &RelPath) -> Result<OwnedFd, Error> {
    let dir = root.open_dir(path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(dir.as_fd(), ".", flags, Mode::empty())
        .map_err(|error| Error::os("opening a directory", error))
}
