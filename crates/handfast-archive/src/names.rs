//! A member's name becomes a path here, and only here.

use handfast::{NameRules, RelPath};
use unicode_normalization::UnicodeNormalization as _;

use crate::limits::Limits;
use crate::member::MemberKind;
use crate::options::Names;
use crate::refusal::{Refusal, Rule};

/// The path that a name means. `.` and repeated `/` are folded, as all readers do; whatever could climb is
/// refused. The top itself is a path for a directory only.
pub(crate) fn path_of(name: &[u8], kind: MemberKind, limits: &Limits) -> Result<RelPath, Refusal> {
    let refused = |rule, detail: &'static str| Err(Refusal::new(rule, detail));
    if name.is_empty() {
        return refused(Rule::EmptyName, "the name is empty");
    }
    if name.contains(&0) {
        return refused(Rule::Nul, "the name holds a NUL byte");
    }
    if name[0] == b'/' {
        return refused(Rule::Absolute, "the name is absolute");
    }
    if name.len() > limits.path {
        return refused(Rule::TooLong, "the name is too long");
    }
    if starts_with_drive(name) {
        return refused(Rule::Absolute, "the name begins with a drive letter");
    }
    let mut depth = 0;
    for segment in name.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => continue,
            b".." => return refused(Rule::Climbs, "the name has `..` in it"),
            _ => depth += 1,
        }
        if segment.len() > limits.segment {
            return refused(Rule::TooLong, "a segment of the name is too long");
        }
        // `recover` believes what it finds under such names; an archive could forge it.
        if segment.starts_with(b".handfast-") {
            return refused(
                Rule::Reserved,
                "names that begin with `.handfast-` are kept for unfinished work",
            );
        }
    }
    if depth > limits.depth {
        return refused(Rule::TooDeep, "the name is too deep");
    }
    if kind != MemberKind::Dir {
        if depth == 0 {
            return refused(Rule::EmptyName, "the name means the top itself");
        }
        if name.ends_with(b"/") || name.ends_with(b"/.") {
            return refused(
                Rule::SlashOnFile,
                "the name of something else ends as a directory's",
            );
        }
    }
    let path_limits = handfast::Limits::new()
        .with_total(limits.path)
        .with_segment(limits.segment)
        .with_depth(limits.depth);
    match RelPath::clean_with(name, &path_limits) {
        Ok(path) => Ok(path.with_must_be_dir(false)),
        // Whatever else the library does not take for a path.
        Err(error) => Err(Refusal::new(Rule::Climbs, error.detail())),
    }
}

/// Some readers take `C:` off the beginning of a name, also on Linux.
fn starts_with_drive(name: &[u8]) -> bool {
    let mut segments = name.split(|byte| *byte == b'/');
    let first = segments.find(|segment| !matches!(*segment, b"" | b"."));
    matches!(first, Some([letter, b':', ..]) if letter.is_ascii_alphabetic())
}

/// Whether a path is fit for other systems.
pub(crate) fn check_portable(path: &RelPath) -> Result<(), Refusal> {
    let rules = NameRules::new()
        .utf8()
        .nfc()
        .no_hidden_characters()
        .portable();
    path.require(&rules)
        .map_err(|error| Refusal::new(Rule::Portable, error.detail()))
}

/// The form under which two names are one: where case and normalisation are ignored, or as they are.
pub(crate) fn key_of(path: &[u8], names: Names) -> Vec<u8> {
    if names == Names::Any {
        return path.to_vec();
    }
    if path.is_ascii() {
        return path.to_ascii_lowercase();
    }
    match std::str::from_utf8(path) {
        // What folding makes of compatible characters may be compatible again.
        Ok(text) => {
            let wide: String = text.nfkc().collect();
            let folded = handfast::fold_case(wide.as_bytes());
            String::from_utf8_lossy(&folded)
                .nfkc()
                .collect::<String>()
                .into_bytes()
        }
        Err(_) => handfast::fold_case(path),
    }
}

#[cfg(test)]
mod tests {
    use super::key_of;
    use crate::options::Names;

    #[test]
    fn names_that_one_filesystem_takes_for_one_have_one_key() {
        for (one, other) in [
            ("README", "readme"),
            ("caf\u{e9}", "cafe\u{301}"),
            ("\u{fb01}le", "file"),
            ("\u{ff21}", "a"),
            ("stra\u{df}e", "STRASSE"),
            ("\u{212a}", "k"),
        ] {
            let keys = [one, other].map(|name| key_of(name.as_bytes(), Names::Distinct));
            assert_eq!(keys[0], keys[1], "{one} {other}");
            let keys = [one, other].map(|name| key_of(name.as_bytes(), Names::Any));
            assert_ne!(keys[0], keys[1], "{one} {other}");
        }
        assert_ne!(
            key_of(b"a\xff", Names::Distinct),
            key_of(b"a\xfe", Names::Distinct)
        );
    }
}
