//! The parser accepts what the documentation says, and nothing else.

use handfast::{Limits, RelPath};

/// What the documentation says of a strict path, written down once more.
fn is_strict(bytes: &[u8], limits: &Limits) -> bool {
    let segments: Vec<&[u8]> = bytes.split(|byte| *byte == b'/').collect();
    bytes.len() <= limits.total
        && segments.len() <= limits.depth
        && !bytes.contains(&0)
        && segments
            .iter()
            .all(|name| !matches!(*name, b"" | b"." | b"..") && name.len() <= limits.segment)
}

/// `.` and `//` folded by hand: the text, and whether it must be a directory.
fn folded(bytes: &[u8]) -> (Vec<u8>, bool) {
    let segments: Vec<&[u8]> = bytes.split(|byte| *byte == b'/').collect();
    let is_nothing = |name: &&[u8]| matches!(*name, b"" | b".");
    let kept: Vec<&[u8]> = segments
        .iter()
        .copied()
        .filter(|name| !is_nothing(name))
        .collect();
    (kept.join(&b'/'), segments.last().is_some_and(is_nothing))
}

/// Both ways in, under limits that short strings can meet.
pub fn check(bytes: &[u8]) {
    for limits in [
        Limits::new(),
        Limits::new().with_segment(3).with_total(12).with_depth(3),
    ] {
        let strict = RelPath::parse_with(bytes, &limits);
        assert_eq!(strict.is_ok(), is_strict(bytes, &limits), "{bytes:?}");
        let clean = RelPath::clean_with(bytes, &limits);
        let (text, must_be_dir) = folded(bytes);
        let is_clean = !bytes.is_empty()
            && bytes.len() <= limits.total
            && bytes[0] != b'/'
            && (text.is_empty() || is_strict(&text, &limits))
            && !bytes.contains(&0);
        assert_eq!(clean.is_ok(), is_clean, "{bytes:?}");
        for shown in [&strict, &clean].map(|path| match path {
            Ok(path) => path.to_string(),
            Err(error) => error.to_string(),
        }) {
            assert!(!shown.chars().any(char::is_control), "{shown:?}");
        }
        if let Ok(path) = &strict {
            assert_eq!(path.as_bytes(), bytes);
            assert!(!path.must_be_dir());
            assert_eq!(clean.as_ref().ok(), Some(path));
        }
        if let Ok(path) = &clean {
            assert_eq!((path.as_bytes(), path.must_be_dir()), (&*text, must_be_dir));
            assert_eq!(path.is_root(), text.is_empty());
            let joined: Vec<u8> = path
                .segments()
                .map(|name| name.as_bytes().to_vec())
                .collect::<Vec<_>>()
                .join(&b'/');
            assert_eq!(joined, text);
        }
    }
}
