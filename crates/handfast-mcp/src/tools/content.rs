//! The content of a file, up to what one answer holds.

use std::io::{Read, Seek, SeekFrom};

use handfast::files::FileHandle;
use handfast::{ErrorKind, Version};
use handfast_session::SessionFile;

use crate::call::Call;
use crate::place::Place;
use crate::trouble::Trouble;

/// What was read.
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    pub(super) version: Option<Version>,
    /// How to go on, if there is more.
    pub(super) note: Option<String>,
}

impl Content {
    /// As text; bytes that are not UTF-8 become replacement characters.
    pub(super) fn into_text(self) -> (String, Option<Version>, Option<String>) {
        let text = match String::from_utf8(self.bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        (text, self.version, self.note)
    }
}

/// A whole file with its version; `None` if it does not fit into an answer.
pub(super) fn versioned(
    call: &Call<'_>,
    place: &Place,
) -> Result<Option<(Vec<u8>, Version)>, Trouble> {
    // The version of a young file digests it: that is not begun for one that is too large anyway.
    let looked = call.looking().metadata(&place.path);
    if looked.is_ok_and(|status| status.len > call.server.read_limit()) {
        return Ok(None);
    }
    match call.session().read_versioned(&place.path) {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == ErrorKind::Limit => Ok(None),
        Err(error) => Err(unreadable(call, &error, place)),
    }
}

/// A whole file; a larger one than fits into an answer is cut, and a note says how to go on.
pub(super) fn whole(call: &Call<'_>, place: &Place) -> Result<Content, Trouble> {
    match versioned(call, place)? {
        Some((bytes, version)) => Ok(Content {
            bytes,
            version: Some(version),
            note: None,
        }),
        None => from(call, place, 0),
    }
}

/// The answer for a file that must be read whole and is too large for that.
pub(super) fn too_large(call: &Call<'_>, place: &Place) -> Trouble {
    let limit = call.server.read_limit();
    Trouble::new(
        ErrorKind::Limit,
        format!(
            "EFBIG: the file is larger than the {limit} bytes that one answer holds, read '{}'",
            place.shown
        ),
    )
}

/// A file from a byte on.
pub(super) fn from(call: &Call<'_>, place: &Place, offset: u64) -> Result<Content, Trouble> {
    let mut file = open(call, place)?;
    let len = file.metadata().len;
    let limit = call.server.read_limit();
    let failed = |error: std::io::Error| failed_io(&error, place);
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    let mut bytes = Vec::new();
    (&mut file)
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let mut note = None;
    if offset.saturating_add(bytes.len() as u64) < len {
        bytes.truncate(whole_characters(&bytes));
        let next = offset + bytes.len() as u64;
        note = Some(format!(
            "[This is not all: bytes {offset} to {next} of {len}. Call read_text_file with offset {next} to go on, or use head, tail or search_content.]"
        ));
    }
    Ok(Content {
        bytes,
        version: None,
        note,
    })
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
pub(super) fn open(call: &Call<'_>, place: &Place) -> Result<SessionFile, Trouble> {
    let opened = call.session().open(&place.path);
    opened.map_err(|error| unreadable(call, &error, place))
}

/// Which version a file is that was read in part; nothing for one that is too large to be sure.
pub(super) fn version(call: &Call<'_>, file: &SessionFile) -> Option<Version> {
    if file.metadata().len > call.server.read_limit() {
        return None;
    }
    FileHandle::version(file, false).ok()
}

pub(super) fn unreadable(
    call: &Call<'_>,
    error: &handfast_session::Error,
    place: &Place,
) -> Trouble {
    // Reading a directory fails in the read, as the reference has it; in mid-path it is a lookup.
    let verb = match error.kind() {
        ErrorKind::IsADirectory => "read",
        ErrorKind::NotADirectory => "realpath",
        _ => "open",
    };
    call.trouble(error, verb, place)
}

pub(super) fn failed_io(error: &std::io::Error, place: &Place) -> Trouble {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    Trouble::new(
        ErrorKind::Io,
        format!("EIO: {text}, read '{}'", place.shown),
    )
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
