//! Paths as `file` URIs, and back.

use handfast_session::VirtualPath;

/// A longer URI is none of a file: the longest path, with every byte written as three. What a client subscribes to is
/// kept as it was written.
const LONGEST: usize = 3 * 4096 + 64;

/// A path as a URI.
pub(crate) fn file_uri(path: &VirtualPath) -> String {
    let mut uri = "file:///".to_owned();
    for byte in path.as_rel().as_bytes() {
        let plain = byte.is_ascii_graphic() && !b"\"#%<>?\\^`{}".contains(byte);
        match plain {
            true => uri.push(char::from(*byte)),
            false => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The path of a `file` URI, folded; `None` for anything else.
pub(crate) fn file_path(uri: &str) -> Option<VirtualPath> {
    if uri.len() > LONGEST {
        return None;
    }
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let mut path = Vec::with_capacity(rest.len());
    let mut bytes = rest.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            path.push(byte);
            continue;
        }
        let hex = [bytes.next()?, bytes.next()?];
        // The standard library would take a sign.
        if !hex.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let hex = std::str::from_utf8(&hex).ok()?;
        let byte = u8::from_str_radix(hex, 16).ok()?;
        // A slash or a NUL that is hidden would change what the path means.
        if matches!(byte, 0 | b'/') {
            return None;
        }
        path.push(byte);
    }
    let path = VirtualPath::parse(path).ok()?;
    let path = path.as_rel().clone().with_must_be_dir(false);
    Some(VirtualPath::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_comes_back_from_its_uri() {
        let path = VirtualPath::parse("/a b/ä#?.txt").unwrap();
        assert_eq!(file_uri(&path), "file:///a%20b/%C3%A4%23%3F.txt");
        assert_eq!(file_path(&file_uri(&path)), Some(path));
    }

    #[test]
    fn only_file_uris_are_paths() {
        let path = |text: &str| Some(VirtualPath::parse(text).unwrap());
        assert_eq!(file_path("file:///a%20b/./c/.."), path("/a b"));
        assert_eq!(file_path("file://localhost/a"), path("/a"));
        for bad in [
            "",
            "/a",
            "http://a/b",
            "file://host/a",
            "file:///%2fetc",
            "file:///%0",
            "file:///%zz",
            "file:///%+1",
            &format!("file:///{}", "a/../".repeat(LONGEST)),
        ] {
            assert_eq!(file_path(bad), None, "{bad}");
        }
    }
}
