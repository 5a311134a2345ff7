//! The first and the last lines of a file, without reading all of it.

use handfast::Error;
use handfast::files::FileHandle;

/// What was read, and whether a limit stopped it.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Part {
    pub(crate) bytes: Vec<u8>,
    pub(crate) cut: bool,
}

/// The first lines from an offset, without the newline that ends the last of them. A fraction counts
/// as a line.
pub(crate) fn head(
    file: &dyn FileHandle,
    mut offset: u64,
    count: f64,
    limit: usize,
) -> Result<Part, Error> {
    let mut bytes = Vec::new();
    let mut seen = 0.0;
    let mut buffer = vec![0; 16 * 1024];
    while seen < count {
        let got = file.read_at(&mut buffer, offset)?;
        offset += got as u64;
        if got == 0 {
            // A file's last newline ends its last line.
            if bytes.last() == Some(&b'\n') {
                bytes.pop();
            }
            break;
        }
        for byte in &buffer[..got] {
            if *byte == b'\n' {
                seen += 1.0;
                if seen >= count {
                    return Ok(Part { bytes, cut: false });
                }
            }
            bytes.push(*byte);
            if bytes.len() > limit {
                bytes.truncate(limit);
                return Ok(Part { bytes, cut: true });
            }
        }
    }
    Ok(Part { bytes, cut: false })
}

/// Where a line begins, counted from 1: its offset; `None` beyond the last line.
pub(crate) fn start_of(file: &dyn FileHandle, line: u64) -> Result<Option<u64>, Error> {
    let mut buffer = vec![0; 64 * 1024];
    let (mut offset, mut left) = (0, line.saturating_sub(1));
    while left > 0 {
        let got = file.read_at(&mut buffer, offset)?;
        if got == 0 {
            return Ok(None);
        }
        let mut ends = (1_u64..).zip(&buffer[..got]);
        let mut ends = ends.by_ref().filter(|(_, byte)| **byte == b'\n');
        match ends.nth(usize::try_from(left - 1).unwrap_or(usize::MAX)) {
            Some((end, _)) => {
                offset += end;
                left = 0;
            }
            None => {
                let here = buffer[..got].iter().filter(|byte| **byte == b'\n');
                left -= here.count() as u64;
                offset += got as u64;
            }
        }
    }
    Ok((file.read_at(&mut buffer[..1], offset)? > 0).then_some(offset))
}

/// The last pieces between newlines: after a final newline the last piece is empty.
pub(crate) fn tail(file: &dyn FileHandle, count: f64, limit: usize) -> Result<Part, Error> {
    const CHUNK: usize = 16 * 1024;
    let count = count.trunc();
    let mut bytes = Part {
        bytes: Vec::new(),
        cut: false,
    };
    if count < 1.0 {
        return Ok(bytes);
    }
    let mut position = file.metadata()?.len;
    let mut chunks: Vec<Vec<u8>> = Vec::new();
    let mut seen = 0.0;
    let mut held = 0;
    'reading: while position > 0 {
        let size = usize::try_from(position).map_or(CHUNK, |left| left.min(CHUNK));
        position -= size as u64;
        let mut chunk = vec![0; size];
        let mut filled = 0;
        while filled < size {
            match file.read_at(&mut chunk[filled..], position + filled as u64)? {
                0 => break,
                got => filled += got,
            }
        }
        chunk.truncate(filled);
        for at in (0..chunk.len()).rev() {
            let over = held + (chunk.len() - at) > limit;
            if chunk[at] == b'\n' {
                seen += 1.0;
            }
            if over || seen >= count {
                bytes.cut = over && seen < count;
                chunks.push(chunk.split_off(at + 1));
                break 'reading;
            }
        }
        held += chunk.len();
        chunks.push(chunk);
    }
    for chunk in chunks.iter().rev() {
        bytes.bytes.extend_from_slice(chunk);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast::{Metadata, RelPath, Root, Version};

    /// A file that is in memory.
    struct InMemory(Vec<u8>, Metadata);

    fn file(text: impl AsRef<[u8]>) -> InMemory {
        let some = Root::open_ambient("/").unwrap();
        let mut facts = some.metadata(&RelPath::root()).unwrap();
        facts.len = text.as_ref().len() as u64;
        InMemory(text.as_ref().to_vec(), facts)
    }

    impl FileHandle for InMemory {
        fn opened_metadata(&self) -> &Metadata {
            &self.1
        }

        fn metadata(&self) -> Result<Metadata, Error> {
            Ok(self.1)
        }

        fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
            let rest = &self.0[usize::try_from(offset).unwrap().min(self.0.len())..];
            // Never all at once.
            let got = rest.len().min(buffer.len()).min(4_000);
            buffer[..got].copy_from_slice(&rest[..got]);
            Ok(got)
        }

        fn write_at(&self, _: &[u8], _: u64) -> Result<usize, Error> {
            unreachable!("it is only read")
        }

        fn set_len(&self, _: u64) -> Result<(), Error> {
            unreachable!("it is only read")
        }

        fn sync(&self) -> Result<(), Error> {
            unreachable!("it is only read")
        }

        fn version(&self, _: bool) -> Result<Version, Error> {
            unreachable!("it is only read")
        }
    }

    const FIVE: &str = "one\ntwo\nthree\nfour\nfive\n";

    fn first(text: &str, count: f64) -> String {
        String::from_utf8(head(&file(text), 0, count, 1 << 20).unwrap().bytes).unwrap()
    }

    fn last(text: &str, count: f64) -> String {
        let part = tail(&file(text), count, 1 << 20).unwrap();
        String::from_utf8(part.bytes).unwrap()
    }

    #[test]
    fn first_lines() {
        assert_eq!(first(FIVE, 2.0), "one\ntwo");
        assert_eq!(first(FIVE, 2.5), "one\ntwo\nthree");
        assert_eq!(first(FIVE, 100.0), "one\ntwo\nthree\nfour\nfive");
        assert_eq!(first("a\n\n", 100.0), "a\n");
        assert_eq!(first(FIVE, -1.0), "");
        assert_eq!(first("", 3.0), "");
        assert_eq!(first("no end", 1.0), "no end");
    }

    #[test]
    fn lines_begin_where_they_begin() {
        let start = |text: &str, line| start_of(&file(text), line).unwrap();
        assert_eq!(start(FIVE, 1), Some(0));
        assert_eq!(start(FIVE, 3), Some(8));
        assert_eq!(start(FIVE, 6), None);
        assert_eq!(start("", 1), None);
        let long = "x\n".repeat(100_000);
        assert_eq!(start(&long, 99_999), Some(199_996));
        let part = head(&file(FIVE), 8, 2.0, 100).unwrap();
        assert_eq!(part.bytes, b"three\nfour");
    }

    #[test]
    fn last_lines() {
        assert_eq!(last(FIVE, 1.0), "");
        assert_eq!(last(FIVE, 2.0), "five\n");
        assert_eq!(last("a\nb", 1.0), "b");
        assert_eq!(last(FIVE, 100.0), FIVE);
        assert_eq!(last(FIVE, -3.0), "");
        assert_eq!(last(FIVE, 2.9), "five\n");
        let long = "x\n".repeat(40_000);
        assert_eq!(last(&long, 30_001.0), "x\n".repeat(30_000));
    }

    #[test]
    fn limits_cut_and_say_so() {
        let part = head(&file(FIVE), 0, 4.0, 5).unwrap();
        assert_eq!((part.bytes.as_slice(), part.cut), (&b"one\nt"[..], true));
        let part = tail(&file(FIVE), 4.0, 5).unwrap();
        assert_eq!((part.bytes.as_slice(), part.cut), (&b"five\n"[..], true));
        let part = tail(&file(FIVE), 2.0, 5).unwrap();
        assert_eq!((part.bytes.as_slice(), part.cut), (&b"five\n"[..], false));
    }
}
