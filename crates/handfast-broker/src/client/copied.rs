//! A copy of a file, which the broker hands out where the caller could write the file itself.

use std::fs::File;
use std::os::unix::fs::FileExt;

use handfast::files::FileHandle;
use handfast::{Error, ErrorKind, Metadata, Version};

/// The bytes are those of the copy, the facts those of the file that was copied.
pub(super) struct Copied {
    pub(super) copy: File,
    pub(super) metadata: Metadata,
    pub(super) version: Version,
}

fn read_only() -> Error {
    Error::refused(ErrorKind::Denied, "it was opened to be read")
}

impl FileHandle for Copied {
    fn opened_metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata(&self) -> Result<Metadata, Error> {
        Ok(self.metadata)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        Ok(self.copy.read_at(buffer, offset)?)
    }

    fn write_at(&self, _: &[u8], _: u64) -> Result<usize, Error> {
        Err(read_only())
    }

    fn set_len(&self, _: u64) -> Result<(), Error> {
        Err(read_only())
    }

    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }

    fn version(&self, digest: bool) -> Result<Version, Error> {
        match digest && self.version.digest().is_none() {
            false => Ok(self.version),
            true => {
                let why = "the broker tells no digest of an old file that it copies";
                Err(Error::refused(ErrorKind::Unsupported, why))
            }
        }
    }
}
