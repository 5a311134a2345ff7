//! Values as bytes in a log: numbers little-endian, bytes with their length before them.

use handfast::ErrorKind;

use crate::error::Error;

/// Puts values together.
#[derive(Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn number(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn text(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => {
                self.byte(1);
                write(self, value);
            }
            None => self.byte(0),
        }
    }
}

/// Takes values apart. A log whose tags are right and whose content is not was written by a newer
/// version.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(unknown)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn number(&mut self) -> Result<u64, Error> {
        let bytes = self.take(8)?.try_into().map_err(|_| unknown())?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub(crate) fn text(&mut self) -> Result<&'a [u8], Error> {
        let len = usize::try_from(self.number()?).map_err(|_| unknown())?;
        self.take(len)
    }

    pub(crate) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match self.byte()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(unknown()),
        }
    }
}

pub(crate) fn unknown() -> Error {
    Error::refused(
        ErrorKind::Unsupported,
        "the session's journal holds what this version does not know",
    )
}
