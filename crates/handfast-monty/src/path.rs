//! Monty's rules for the text of a path. They are about what a program may say; that nothing leaves
//! a mount is the session's work.

use std::io;

use handfast::{RelPath, RelPathRef};
use handfast_session::VirtualPath;
use monty_types::normalize_virtual_path;

use crate::error::CallError;

/// Bytes in all.
const TOTAL: usize = 4096;
/// Bytes of one name.
const NAME: usize = 255;
/// Pieces between slashes, the empty one in front of the first included.
const PIECES: usize = 64;
/// Characters of an over-long path that are shown at each end.
const SHOWN: usize = 20;

/// The text of a call becomes a path, once: from here on there is no text to take apart. Nothing where
/// Monty's rules leave no absolute path.
pub(crate) fn parse(asked: &str) -> Option<RelPath> {
    let path = VirtualPath::parse(&*normalize_virtual_path(asked)).ok()?;
    Some(path.as_rel().clone())
}

/// A path as a program reads it.
pub(crate) fn shown<'a>(path: impl Into<RelPathRef<'a>>) -> String {
    // Every name came from a program's text, or was looked at before it was joined.
    format!("/{}", path.into().to_str().unwrap_or_default())
}

/// Refuses a path that is too long or too deep, as it was sent: what folding would take away counts.
pub(crate) fn check_length(path: &str) -> Result<(), CallError> {
    if is_short(path) {
        return Ok(());
    }
    Err(CallError::failed(
        io::ErrorKind::InvalidFilename,
        "File name too long",
        shortened(path),
    ))
}

/// Whether a path keeps all limits. Never looks at more than the limits allow.
pub(crate) fn is_short(path: &str) -> bool {
    path.len() <= TOTAL
        && path.split('/').take(PIECES + 1).count() <= PIECES
        && path.split('/').all(|name| name.len() <= NAME)
}

/// Refuses a pattern whose parts are too many or too long. A slash in a part counts as one between
/// parts. No more of it is copied than it takes to be too long.
pub(crate) fn check_pattern(parts: &[String]) -> Result<(), CallError> {
    let mut joined = String::new();
    let pieces = parts.iter().flat_map(|part| part.split('/'));
    for (number, piece) in pieces.take(PIECES + 1).enumerate() {
        if number > 0 {
            joined.push('/');
        }
        joined.extend(piece.chars().take(NAME + 1));
    }
    check_length(&joined)
}

fn shortened(path: &str) -> String {
    let chars = path.chars().take(2 * SHOWN + 1).count();
    if chars <= 2 * SHOWN {
        return path.to_owned();
    }
    let first: String = path.chars().take(SHOWN).collect();
    let mut last: Vec<char> = path.chars().rev().take(SHOWN).collect();
    last.reverse();
    format!("{first}…{}", last.into_iter().collect::<String>())
}

/// Whether a name means a drive, a share or a separator on some host.
pub(crate) fn is_foreign(name: &str) -> bool {
    let bytes = name.as_bytes();
    name.contains('\\') || matches!(bytes, [drive, b':', ..] if drive.is_ascii_alphabetic())
}

/// The path of an entry of a directory.
pub(crate) fn child(dir: &str, name: &str) -> String {
    if dir.ends_with('/') {
        format!("{dir}{name}")
    } else {
        format!("{dir}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_three_names_and_no_more() {
        let path = |names: usize| "/a".repeat(names);
        assert!(is_short(&path(63)));
        assert!(!is_short(&path(64)));
        assert!(!is_short(&format!("{}{}", "/a/..".repeat(40), "/b")));
        assert!(is_short(&format!("/{}", "n".repeat(255))));
        assert!(!is_short(&format!("/{}", "n".repeat(256))));
    }

    #[test]
    fn long_paths_are_shown_in_part() {
        let CallError::Failed { path, .. } =
            check_length(&format!("/{}", "é".repeat(200))).expect_err("too long")
        else {
            panic!("another error");
        };
        assert_eq!(path.chars().count(), 41);
        assert!(path.contains('…'));
    }

    #[test]
    fn drives_and_shares() {
        for bad in ["C:", "c:x", "a\\b", "\\\\host"] {
            assert!(is_foreign(bad), "{bad}");
        }
        for good in ["C", ":C", "1:", "ab:c"] {
            assert!(!is_foreign(good), "{good}");
        }
    }
}
