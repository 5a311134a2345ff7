//! The content of a file, up to what one answer holds.

use handfast::files::FileHandle;
use handfast::{Error, ErrorKind, OpenOptions, Version};

use crate::answer::Cut;
use crate::call::Call;
use crate::place::Location;
use crate::seen::Shown;
use crate::trouble::Trouble;

/// What was read.
pub(super) struct TextOfFile {
    pub(super) bytes: Vec<u8>,
    /// Where in the file it begins.
    pub(super) offset: u64,
    /// How long the file is.
    pub(super) len: u64,
    pub(super) version: Option<Version>,
    /// How to go on, if there is more.
    pub(super) cut: Option<Cut>,
}

impl TextOfFile {
    /// What is said about this part to somebody who may replace the file later.
    pub(super) fn shown(&self) -> Shown {
        Shown {
            from: self.offset,
            to: self.offset + self.bytes.len() as u64,
            len: self.len,
            version: self.version,
        }
    }

    /// Cuts what is longer than a limit, at the end of a line if there is one.
    fn cut(mut self, limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if self.bytes.len() > limit {
            self.bytes.truncate(limit);
            let lines = self.bytes.iter().rposition(|byte| *byte == b'\n');
            let end = match lines {
                Some(end) if end >= limit / 2 => end + 1,
                _ => whole_characters(&self.bytes),
            };
            self.bytes.truncate(end);
        }
        let (offset, len) = (self.offset, self.len);
        let next = offset.saturating_add(self.bytes.len() as u64);
        self.cut = (next < len).then(|| Cut {
            note: format!(
                "[This is not all: bytes {offset} to {next} of {len}. Call read_text_file with offset {next} to go on, or use head, tail or search_content.]"
            ),
            next: Some(next.to_string()),
        });
        self
    }
}

/// Bytes as text; what is not UTF-8 becomes replacement characters.
pub(super) fn text(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// A whole file with its version; `None` if it does not fit into an answer.
pub(crate) fn versioned(
    call: &Call<'_>,
    place: &Location,
) -> Result<Option<(Vec<u8>, Version)>, Trouble> {
    let limit = call.server.read_limit();
    match call.files().read_versioned(place.rel(), limit) {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == ErrorKind::Limit => Ok(None),
        Err(error) => Err(unreadable(call, &error, place)),
    }
}

/// A whole file; a larger one than fits into an answer is cut.
pub(super) fn whole(call: &Call<'_>, place: &Location) -> Result<TextOfFile, Trouble> {
    match versioned(call, place)? {
        Some((bytes, version)) => {
            let whole = TextOfFile {
                offset: 0,
                len: bytes.len() as u64,
                bytes,
                version: Some(version),
                cut: None,
            };
            Ok(whole.cut(call.server.answer_limit()))
        }
        None => from(call, place, 0),
    }
}

/// The answer for a file that must be read whole and is too large for that.
pub(crate) fn too_large(call: &Call<'_>, place: &Location) -> Trouble {
    let limit = call.server.read_limit();
    Trouble::new(
        ErrorKind::Limit,
        format!(
            "EFBIG: the file is larger than the {limit} bytes that are read at once, read '{}'",
            place.shown
        ),
    )
}

/// A file from a byte on. An offset within a character begins at the next one.
pub(super) fn from(call: &Call<'_>, place: &Location, offset: u64) -> Result<TextOfFile, Trouble> {
    let file = open(call, place)?;
    let version = version(call, &*file);
    let limit = call.server.answer_limit();
    let mut bytes = read_some(&*file, offset, limit.saturating_add(1))
        .map_err(|error| unreadable(call, &error, place))?;
    let inner = bytes.iter().take(3);
    let inner = inner.take_while(|byte| **byte & 0xc0 == 0x80).count();
    let starts_within = offset > 0 && inner < 3;
    let skipped = if starts_within { inner } else { 0 };
    bytes.drain(..skipped);
    let part = TextOfFile {
        offset: offset + skipped as u64,
        len: file.opened_metadata().len,
        bytes,
        version,
        cut: None,
    };
    Ok(part.cut(limit))
}

/// How many bytes there are without a character that is cut at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    let cut = tail.iter().rposition(|byte| *byte >= 0xc0).filter(|at| {
        std::str::from_utf8(&tail[*at..]).is_err_and(|error| error.error_len().is_none())
    });
    match cut {
        Some(at) => bytes.len() - (tail.len() - at),
        None => bytes.len(),
    }
}

/// Opens a file for reading.
pub(super) fn open(call: &Call<'_>, place: &Location) -> Result<Box<dyn FileHandle>, Trouble> {
    let opened = call.files().open(place.rel(), OpenOptions::new());
    opened.map_err(|error| unreadable(call, &error, place))
}

/// Which version a file is that was read in part; nothing for one that is too large to be sure.
pub(super) fn version(call: &Call<'_>, file: &dyn FileHandle) -> Option<Version> {
    if file.opened_metadata().len > call.server.read_limit() {
        return None;
    }
    file.version(false).ok()
}

/// What a file holds from a byte on, up to a limit.
pub(super) fn read_some(file: &dyn FileHandle, offset: u64, limit: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    while (bytes.len() as u64) < limit {
        let left = usize::try_from(limit - bytes.len() as u64).unwrap_or(usize::MAX);
        let most = left.min(buffer.len());
        let got = file.read_at(&mut buffer[..most], offset + bytes.len() as u64)?;
        if got == 0 {
            break;
        }
        bytes.extend_from_slice(&buffer[..got]);
    }
    Ok(bytes)
}

pub(super) fn unreadable(call: &Call<'_>, error: &Error, place: &Location) -> Trouble {
    // Reading a directory fails in the read, as the reference has it; in mid-path it is a lookup.
    let verb = match error.kind() {
        ErrorKind::IsADirectory => "read",
        ErrorKind::NotADirectory => "realpath",
        _ => "open",
    };
    call.trouble(error, verb, place)
}

#[cfg(test)]
mod tests {
    use super::whole_characters;

    #[test]
    fn no_character_is_cut() {
        assert_eq!(whole_characters("aé".as_bytes()), 3);
        assert_eq!(whole_characters(&"aé".as_bytes()[..2]), 1);
        assert_eq!(whole_characters(&"😀".as_bytes()[..3]), 0);
        assert_eq!(whole_characters(b"a\xff"), 2);
        assert_eq!(whole_characters(b""), 0);
    }
}
