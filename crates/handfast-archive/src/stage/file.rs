//! The content of one file of a staging tree.

use std::fs::{FileTimes, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, SystemTime};

use handfast::files::{At, Attributes, FileHandle};
use handfast::{Error, Identity, OpenOptions, RelPath, Timestamp};

use super::scratch::Scratch;

/// A file that is being written.
pub(crate) struct Content {
    handle: Handle,
    mode: Option<u32>,
    modified: Option<Timestamp>,
}

enum Handle {
    /// In a root, attributes are set through the descriptor that the content was written through.
    Descriptor(handfast::File),
    Other(Box<dyn FileHandle>, u64),
}

impl Content {
    pub(super) fn create(scratch: &Scratch<'_>, at: At<'_>, mode: u32) -> Result<Self, Error> {
        let how = OpenOptions::new()
            .read(false)
            .write(true)
            .create_new(true)
            .mode(mode);
        let handle = match scratch.root() {
            Some(root) => {
                let dir = root.dir_of_node(at.dir)?;
                Handle::Descriptor(dir.open_with(&RelPath::from(at.name), how)?)
            }
            None => Handle::Other(scratch.files().create_at(at, how)?, 0),
        };
        Ok(Self {
            handle,
            mode: None,
            modified: None,
        })
    }

    /// What the file gets when its content is whole.
    pub(super) fn finished_with(mut self, mode: Option<u32>, modified: Option<Timestamp>) -> Self {
        (self.mode, self.modified) = (mode, modified);
        self
    }

    pub(super) fn identity(&self) -> &Identity {
        match &self.handle {
            Handle::Descriptor(file) => &file.metadata().identity,
            Handle::Other(file, _) => &file.opened_metadata().identity,
        }
    }

    /// The permission bits that it was made with.
    pub(super) fn mode(&self) -> u32 {
        let metadata = match &self.handle {
            Handle::Descriptor(file) => file.metadata(),
            Handle::Other(file, _) => file.opened_metadata(),
        };
        metadata.mode & 0o777
    }

    /// Adds to the content.
    pub(crate) fn write(&mut self, mut data: &[u8]) -> Result<(), Error> {
        match &mut self.handle {
            Handle::Descriptor(file) => file.write_all(data).map_err(Error::from),
            Handle::Other(file, offset) => {
                while !data.is_empty() {
                    let written = file.write_at(data, *offset)?;
                    if written == 0 {
                        let why = "nothing more can be written";
                        return Err(Error::refused(handfast::ErrorKind::Io, why));
                    }
                    *offset += written as u64;
                    data = &data[written..];
                }
                Ok(())
            }
        }
    }

    /// Sets what is left to set. Where there is no descriptor for that, the caller gets the attributes and
    /// which file they are for.
    pub(super) fn end(self) -> Result<Option<(Identity, Attributes)>, Error> {
        match self.handle {
            Handle::Descriptor(file) => {
                let file = file.into_std();
                if let Some(modified) = self.modified.and_then(system_time) {
                    file.set_times(FileTimes::new().set_modified(modified))
                        .map_err(Error::from)?;
                }
                if let Some(mode) = self.mode {
                    file.set_permissions(Permissions::from_mode(mode))
                        .map_err(Error::from)?;
                }
                Ok(None)
            }
            Handle::Other(file, _) => {
                let mut attributes = Attributes::new().times(None, self.modified);
                attributes.mode = self.mode;
                let identity = file.opened_metadata().identity;
                Ok((attributes != Attributes::new()).then_some((identity, attributes)))
            }
        }
    }
}

fn system_time(time: Timestamp) -> Option<SystemTime> {
    let seconds = Duration::from_secs(time.seconds.unsigned_abs());
    let whole = match time.seconds < 0 {
        true => SystemTime::UNIX_EPOCH.checked_sub(seconds),
        false => SystemTime::UNIX_EPOCH.checked_add(seconds),
    };
    whole?.checked_add(Duration::from_nanos(time.nanoseconds.into()))
}
