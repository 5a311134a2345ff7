//! The body of a request: as long as it says, or in chunks.

use std::io::{self, Read};

use httparse::Status;

use super::head::{Head, MAX_HEAD};
use super::large::LARGE;

/// What came of reading a body.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Body {
    Whole(Vec<u8>),
    /// Longer than the limit; the rest is still coming.
    TooLong,
    /// There is no room for a large one.
    NoRoom,
    /// No body of this form.
    Bad,
}

/// Reads the body that a head announces; what follows it stays in the buffer. One that is large is read if there is room,
/// which is asked for once.
pub(super) fn read(
    stream: &mut impl Read,
    buffer: &mut Vec<u8>,
    head: &Head,
    limit: usize,
    make_room: &mut dyn FnMut() -> bool,
) -> io::Result<Body> {
    if head.is_chunked {
        return chunked(stream, buffer, limit, make_room);
    }
    if head.length > limit {
        return Ok(Body::TooLong);
    }
    if head.length > LARGE && !make_room() {
        return Ok(Body::NoRoom);
    }
    fill_to(stream, buffer, head.length)?;
    let rest = buffer.split_off(head.length);
    Ok(Body::Whole(std::mem::replace(buffer, rest)))
}

fn chunked(
    stream: &mut impl Read,
    buffer: &mut Vec<u8>,
    limit: usize,
    make_room: &mut dyn FnMut() -> bool,
) -> io::Result<Body> {
    let mut body = Vec::new();
    let mut is_large = false;
    // What was taken from the buffer. It is let go before more is read: to do so for every chunk would cost the
    // whole buffer for each byte.
    let mut taken = 0;
    loop {
        let (start, size) = match httparse::parse_chunk_size(&buffer[taken..]) {
            Ok(Status::Complete(chunk)) => chunk,
            Ok(Status::Partial) if buffer.len() - taken < 256 => {
                buffer.drain(..std::mem::take(&mut taken));
                fill_to(stream, buffer, buffer.len() + 1)?;
                continue;
            }
            _ => return Ok(Body::Bad),
        };
        taken += start;
        if size == 0 {
            buffer.drain(..taken);
            return match skip_trailers(stream, buffer)? {
                true => Ok(Body::Whole(body)),
                false => Ok(Body::Bad),
            };
        }
        let size = match usize::try_from(size) {
            Ok(size) if size <= limit - body.len() => size,
            _ => return Ok(Body::TooLong),
        };
        if !is_large && body.len() + size > LARGE {
            is_large = true;
            if !make_room() {
                return Ok(Body::NoRoom);
            }
        }
        if buffer.len() - taken < size + 2 {
            buffer.drain(..std::mem::take(&mut taken));
            fill_to(stream, buffer, size + 2)?;
        }
        let (chunk, end) = buffer[taken..taken + size + 2].split_at(size);
        if end != b"\r\n" {
            return Ok(Body::Bad);
        }
        body.extend_from_slice(chunk);
        taken += size + 2;
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
        let read = read(&mut text.as_bytes(), &mut buffer, &head, 10, &mut || true);
        (read.ok(), buffer)
    }

    #[test]
    fn chunks_that_come_in_pieces_are_put_together() {
        /// Gives one byte at a time, or as much as there is.
        struct Pieces<'a>(&'a [u8], usize);
        impl Read for Pieces<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let most = into.len().min(self.1);
                Read::read(&mut self.0, &mut into[..most])
            }
        }
        let text = format!("{}0\r\n\r\nPOST", "1\r\nx\r\n".repeat(5_000));
        let head = Head {
            is_chunked: true,
            ..Head::default()
        };
        for most in [1, 7, usize::MAX] {
            let mut buffer = Vec::new();
            let mut stream = Pieces(text.as_bytes(), most);
            let body = read(&mut stream, &mut buffer, &head, 5_000, &mut || false).unwrap();
            assert_eq!(body, Body::Whole(vec![b'x'; 5_000]));
            std::io::Read::read_to_end(&mut stream.0, &mut buffer).unwrap();
            assert_eq!(buffer, b"POST");
        }
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

    #[test]
    fn a_large_body_is_read_only_if_there_is_room() {
        let text = "x".repeat(LARGE + 1);
        let long = Head {
            has_length: true,
            length: text.len(),
            ..Head::default()
        };
        let chunks = Head {
            is_chunked: true,
            ..Head::default()
        };
        let (one, other) = text.split_at(LARGE);
        let chunked = format!("{LARGE:x}\r\n{one}\r\n1\r\n{other}\r\n0\r\n\r\n");
        for (head, sent) in [(long, &text), (chunks, &chunked)] {
            for is_room in [true, false] {
                let mut asked = 0;
                let mut make_room = || {
                    asked += 1;
                    is_room
                };
                let mut stream = sent.as_bytes();
                let limit = 2 * LARGE;
                let body = read(&mut stream, &mut Vec::new(), &head, limit, &mut make_room);
                let expected = match is_room {
                    true => Body::Whole(text.clone().into_bytes()),
                    false => Body::NoRoom,
                };
                assert!(body.unwrap() == expected);
                assert_eq!(asked, 1);
            }
        }
    }
}
