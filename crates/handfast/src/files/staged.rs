//! Staged content that was asked for by a path.

use std::io;

use crate::error::Error;
use crate::verbs::Written;

use super::types::{Put, StagedContent};

/// Names the path that was asked for in the errors of its publishing.
pub(super) struct StagedByPath<'a> {
    inner: Box<dyn StagedContent + 'a>,
    shown: String,
}

impl<'a> StagedByPath<'a> {
    pub(super) fn new(inner: Box<dyn StagedContent + 'a>, shown: String) -> Self {
        Self { inner, shown }
    }
}

impl io::Write for StagedByPath<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.inner.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl StagedContent for StagedByPath<'_> {
    fn publish(self: Box<Self>, put: Put<'_>) -> Result<Written, Error> {
        let Self { inner, shown } = *self;
        inner
            .publish(put)
            .map_err(|error| error.on(put.verb(), shown))
    }
}
