//! The body of a request: as long as it says, or in chunks.

use std::io::{self, Read};

use httparse::Status;

use super::head::{Head, MAX_HEAD};

/// What came of reading a body.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Body {
    Whole(Vec<u8>),
    /// Longer than the limit; the rest is still coming.
    TooLong,
    /// No body of this form.
    Bad,
}

/// Reads the body that a head announces; what follows it stays in the buffer.
pub(super) fn read(
    stream: &mut impl Read,
    buffer: &mut Vec<u8>,
    head: &Head,
    limit: usize,
) -> io::Result<Body> {
    if head.is_chunked {
        return chunked(stream, buffer, limit);
    }
    if head.length > limit {
        return Ok(Body::TooLong);
    }
    fill_to(stream, buffer, head.length)?;
    let rest = buffer.split_off(head.length);
    Ok(Body::Whole(std::mem::replace(buffer, rest)))
}

fn chunked(stream: &mut impl Read, buffer: &mut Vec<u8>, limit: usize) -> io::Result<Body> {
    let mut body = Vec::new();
    loop {
        let (start, size) = match httparse::parse_chunk_size(buffer) {
            Ok(Status::Complete(chunk)) => chunk,
            Ok(Status::Partial) if buffer.len() < 256 => {
                fill_to(stream, buffer, buffer.len() + 1)?;
                continue;
            }
            _ => return Ok(Body::Bad),
        };
        buffer.drain(..start);
        if size == 0 {
            return match skip_trailers(stream, buffer)? {
                true => Ok(Body::Whole(body)),
                false => Ok(Body::Bad),
            };
        }
        let size = match usize::try_from(size) {
            Ok(size) if size <= limit - body.len() => size,
            _ => return Ok(Body::TooLong),
        };
        fill_to(stream, buffer, size + 2)?;
        if &buffer[size..size + 2] != b"\r\n" {
            return Ok(Body::Bad);
        }
        body.extend(buffer.drain(..size));
        buffer.drain(..2);
    }
}

/// Lines after the last chunk, up to an empty one; whether there was one.
fn skip_trailers(stream: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<bool> {
    let mut skipped = 0;
    while skipped < MAX_HEAD {
        match buffer.windows(2).position(|two| two == b"\r\n") {
            Some(end) => {
                buffer.drain(..end + 2);
                skipped += end + 2;
                if end == 0 {
                    return Ok(true);
                }
            }
            None if buffer.len() > MAX_HEAD => return Ok(false),
            None => fill_to(stream, buffer, buffer.len() + 1)?,
        }
    }
    Ok(false)
}

/// Reads until the buffer holds at least so much.
fn fill_to(stream: &mut impl Read, buffer: &mut Vec<u8>, length: usize) -> io::Result<()> {
    let mut chunk = [0; 16 * 1024];
    while buffer.len() < length {
        match stream.read(&mut chunk)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            got => buffer.extend_from_slice(&chunk[..got]),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_chunked(text: &str) -> (Option<Body>, Vec<u8>) {
        let head = Head {
            is_chunked: true,
            ..Head::default()
        };
        let mut buffer = Vec::new();
        let read = read(&mut text.as_bytes(), &mut buffer, &head, 10);
        (read.ok(), buffer)
    }

    #[test]
    fn chunks_are_put_together_and_what_follows_is_kept() {
        let (body, rest) = read_chunked("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nA: b\r\n\r\nPOST");
        assert_eq!(body, Some(Body::Whole(b"abcde".to_vec())));
        assert_eq!(rest, b"POST");
        for (text, expected) in [
            ("b\r\n", Some(Body::TooLong)),
            ("6\r\nabcdef\r\n5\r\n", Some(Body::TooLong)),
            ("ffffffffffffffff\r\n", Some(Body::TooLong)),
            ("3\r\nabcd\r\n", Some(Body::Bad)),
            ("x\r\n", Some(Body::Bad)),
            ("-1\r\n", Some(Body::Bad)),
            ("3\r\nab", None),
        ] {
            assert_eq!(read_chunked(text).0, expected, "{text:?}");
        }
    }
}
