//! Content for a name under a lease, before it is published.

use handfast::files::{At, Files, Node, Put, StagedContent};
use handfast::{Error, Name, WriteOptions, Written};

use super::lease_files::LeaseFiles;

/// Content on its way to a name; the broker hears of it when it is published.
pub(super) struct Staged<'a> {
    files: &'a LeaseFiles,
    dir: Node,
    name: Name,
    data: Vec<u8>,
    options: WriteOptions,
}

impl<'a> Staged<'a> {
    pub(super) fn new(files: &'a LeaseFiles, at: At<'_>, options: WriteOptions) -> Self {
        Self {
            files,
            dir: at.dir.clone(),
            name: at.name.to_name(),
            data: Vec::new(),
            options,
        }
    }
}

impl std::io::Write for Staged<'_> {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        self.data.extend_from_slice(buffer);
        Ok(buffer.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl StagedContent for Staged<'_> {
    fn publish(self: Box<Self>, put: Put<'_>) -> Result<Written, Error> {
        let at = At::new(&self.dir, &self.name);
        self.files.put_at(at, &self.data, put, self.options)
    }
}
