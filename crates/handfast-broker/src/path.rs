//! The door: the text of a path becomes a [`VirtualPath`] here, once per request.

use handfast_session::VirtualPath;

use crate::fault::Fault;
use crate::wire::{PathField, Text};

/// Reads a path. It counts from the top of the namespace, with or without a leading slash.
///
/// # Errors
/// `InvalidParameter` for what is no path.
pub(crate) fn parse(name: &str, bytes: &[u8]) -> Result<VirtualPath, Fault> {
    let parsed = match bytes.first() {
        Some(b'/') => VirtualPath::parse(bytes),
        _ => VirtualPath::parse([b"/", bytes].concat()),
    };
    parsed.map_err(|error| Fault::parameter(name, error.detail()))
}

/// Reads a path that stands in one of two fields.
///
/// # Errors
/// `InvalidParameter` for what is no path, is missing or stands there twice.
pub(crate) fn from_fields(
    name: &str,
    text: Option<Text<'_>>,
    base64: Option<String>,
) -> Result<VirtualPath, Fault> {
    match (text, base64) {
        (Some(text), None) => parse(name, text.as_bytes()),
        (text, base64) => {
            let bytes = PathField::bytes(text.map(String::from), base64)
                .map_err(|why| Fault::parameter(name, why))?;
            parse(name, &bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leading_slash_makes_no_difference_and_dots_stay_inside() {
        for text in ["/a/b", "a/b", "/../a/./b", "a/x/../b"] {
            let path = parse("path", text.as_bytes()).unwrap();
            assert_eq!(path.to_string(), "/a/b");
        }
        for bad in [&b"a\0b"[..], &[b'x'; 300], &[b'/'; 5000]] {
            assert!(parse("path", bad).is_err());
        }
    }
}
