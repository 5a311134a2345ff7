//! The content of a file, up to what one answer holds.

use handfast::files::FileHandle;
use handfast::{Error, ErrorKind, OpenOptions, Version};

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
    let limit = call.server.read_limit();
    match call.files().read_versioned(place.rel(), limit) {
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
    let file = open(call, place)?;
    let len = file.opened_metadata().len;
    let mut bytes = read_some(&*file, offset, call.server.read_limit())
        .map_err(|error| unreadable(call, &error, place))?;
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
pub(super) fn open(call: &Call<'_>, place: &Place) -> Result<Box<dyn FileHandle>, Trouble> {
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

pub(super) fn unreadable(call: &Call<'_>, error: &Error, place: &Place) -> Trouble {
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
