//! A message is its length in four bytes, little-endian, and JSON.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::MAX_REPLY;

/// Writes a message.
///
/// # Errors
/// What the socket says; `InvalidData` for a message that is too long.
pub fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&frame(message)?)?;
    to.flush()
}

/// A message with its length.
///
/// # Errors
/// `InvalidData` for a message that is too long.
pub fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = bytes.len() - 4;
    if length > MAX_REPLY {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "too long a message",
        ));
    }
    let length = u32::try_from(length).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Reads a message of at most so many bytes; nothing at the end.
///
/// # Errors
/// What the socket says; `InvalidData` for what is no message.
pub fn receive<T: DeserializeOwned>(from: &mut impl Read, most: usize) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = checked_length(length, most)?;
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

/// The length of a message.
///
/// # Errors
/// `InvalidData` if it is more than that.
pub fn checked_length(bytes: [u8; 4], most: usize) -> io::Result<usize> {
    let length = u32::from_le_bytes(bytes) as usize;
    match length <= most {
        true => Ok(length),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "too long a message",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{MAX_REQUEST, Request};

    #[test]
    fn only_known_requests_are_taken() {
        let good = Request::Commit {
            plan: "a".to_owned(),
            message: String::new(),
        };
        let bytes = frame(&good).unwrap();
        let read: Option<Request> = receive(&mut bytes.as_slice(), MAX_REQUEST).unwrap();
        assert_eq!(read, Some(good));
        for bad in [
            r#"{"Commit":{"plan":"a","message":"","paths":["/x"]}}"#,
            r#"{"Write":{"path":"/x"}}"#,
            r#"{"Commit":{"plan":"a"}}"#,
            r#""Commit""#,
            "",
        ] {
            let mut bytes = u32::try_from(bad.len()).unwrap().to_le_bytes().to_vec();
            bytes.extend_from_slice(bad.as_bytes());
            let read = receive::<Request>(&mut bytes.as_slice(), MAX_REQUEST);
            assert!(read.is_err(), "{bad}");
        }
        let long = [0xff_u8; 8];
        assert!(receive::<Request>(&mut long.as_slice(), MAX_REQUEST).is_err());
        assert!(
            receive::<Request>(&mut [].as_slice(), MAX_REQUEST)
                .unwrap()
                .is_none()
        );
    }
}
