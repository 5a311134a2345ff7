//! Optional rules for names: what an application wants of them beyond what the kernel takes.

use std::collections::BTreeMap;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::name::NameRef;
use super::rel::RelPath;
use crate::error::{Error, ErrorKind, Fault};
use crate::escape::escape;
use crate::verb::Verb;

/// Rules that every segment of a path must keep. The default has none.
///
/// ```
/// use handfast::{NameRules, RelPath};
///
/// let rules = NameRules::new().portable().nfc().no_leading_dash();
/// assert!(RelPath::parse("report.pdf")?.require(&rules).is_ok());
/// assert!(RelPath::parse("a/aux.txt")?.require(&rules).is_err());
/// assert!(RelPath::parse("-rf")?.require(&rules).is_err());
/// # Ok::<(), handfast::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct NameRules {
    allowed: Option<fn(char) -> bool>,
    utf8: bool,
    nfc: bool,
    no_leading_dash: bool,
    no_leading_dot: bool,
    no_hidden: bool,
    portable: bool,
}

impl NameRules {
    /// No rules.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Only these characters (the name must then be UTF-8).
    #[must_use]
    pub fn only(mut self, allowed: fn(char) -> bool) -> Self {
        self.allowed = Some(allowed);
        self
    }

    /// The name must be UTF-8.
    #[must_use]
    pub fn utf8(mut self) -> Self {
        self.utf8 = true;
        self
    }

    /// The name must be UTF-8 in Normalization Form C.
    #[must_use]
    pub fn nfc(mut self) -> Self {
        self.nfc = true;
        self
    }

    /// No name that a program could take for an option.
    #[must_use]
    pub fn no_leading_dash(mut self) -> Self {
        self.no_leading_dash = true;
        self
    }

    /// No dot files.
    #[must_use]
    pub fn no_leading_dot(mut self) -> Self {
        self.no_leading_dot = true;
        self
    }

    /// No control, bidirectional or zero-width characters.
    #[must_use]
    pub fn no_hidden_characters(mut self) -> Self {
        self.no_hidden = true;
        self
    }

    /// Only names that Windows can hold as well: no device names, no reserved characters, no
    /// trailing dot or space, no streams, no short names.
    #[must_use]
    pub fn portable(mut self) -> Self {
        self.portable = true;
        self
    }

    /// Checks one name.
    ///
    /// # Errors
    /// `Invalid` with the rule that was broken.
    pub fn check(&self, name: NameRef<'_>) -> Result<(), Error> {
        self.check_fault(name)
            .map_err(|fault| Error::new(Verb::Parse, name.to_string(), fault))
    }

    pub(crate) fn check_fault(&self, name: NameRef<'_>) -> Result<(), Fault> {
        let bytes = name.as_bytes();
        let refuse = |why| Err(Fault::rule(ErrorKind::Invalid, why));
        if self.no_leading_dash && bytes.first() == Some(&b'-') {
            return refuse("a name begins with `-`");
        }
        if self.no_leading_dot && bytes.first() == Some(&b'.') {
            return refuse("a name begins with `.`");
        }
        let wants_text = self.utf8 || self.nfc || self.no_hidden || self.allowed.is_some();
        let text = std::str::from_utf8(bytes).ok();
        if wants_text && text.is_none() {
            return refuse("a name is not UTF-8");
        }
        if let Some(text) = text {
            if self.nfc && !is_nfc(text) {
                return refuse("a name is not in Normalization Form C");
            }
            if self.no_hidden && escape(bytes).replace("\\\\", "\\") != text {
                return refuse("a name holds hidden characters");
            }
            if let Some(allowed) = self.allowed
                && !text.chars().all(allowed)
            {
                return refuse("a name holds a character that is not allowed");
            }
        }
        if self.portable {
            check_portable(bytes)?;
        }
        Ok(())
    }

    /// Finds names that differ, but not on a filesystem that folds case or normal form.
    ///
    /// Returns the first pair of paths that would collide.
    #[must_use]
    pub fn collision<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a RelPath>,
    ) -> Option<(&'a RelPath, &'a RelPath)> {
        let mut seen: BTreeMap<Vec<u8>, &RelPath> = BTreeMap::new();
        for path in paths {
            if let Some(first) = seen.insert(fold_case(path.as_bytes()), path)
                && first != path
            {
                return Some((first, path));
            }
        }
        None
    }
}

/// The form under which names collide on filesystems that fold case and normal form: decomposed
/// and lower-cased. Bytes that are not UTF-8 are kept as they are.
#[must_use]
pub fn fold_case(bytes: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text
            .nfd()
            .flat_map(char::to_lowercase)
            .flat_map(|c| {
                if c == '\u{df}' {
                    vec!['s', 's']
                } else {
                    vec![c]
                }
            })
            .nfd()
            .collect::<String>()
            .into_bytes(),
        Err(_) => bytes.to_ascii_lowercase(),
    }
}

fn check_portable(bytes: &[u8]) -> Result<(), Fault> {
    let refuse = |why| Err(Fault::rule(ErrorKind::Invalid, why));
    let reserved = |byte: &u8| {
        matches!(
            byte,
            0..=31 | b'<' | b'>' | b':' | b'"' | b'\\' | b'|' | b'?' | b'*'
        )
    };
    if bytes.iter().any(reserved) {
        return refuse("a name holds a character that Windows reserves");
    }
    if matches!(bytes.last(), Some(b'.' | b' ')) {
        return refuse("a name ends in a dot or a space");
    }
    if is_device_name(bytes) {
        return refuse("a name is one of Windows' device names");
    }
    if looks_short(bytes) {
        return refuse("a name looks like one of Windows' short names");
    }
    Ok(())
}

/// `CON`, `NUL`, `COM1`, … with any extension, in any case, superscript digits included.
fn is_device_name(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let stem = text.split('.').next().unwrap_or_default();
    let stem = stem.trim_end_matches(' ').to_uppercase();
    if matches!(
        stem.as_str(),
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" | "CLOCK$"
    ) {
        return true;
    }
    let Some(number) = stem
        .strip_prefix("COM")
        .or_else(|| stem.strip_prefix("LPT"))
    else {
        return false;
    };
    let mut digits = number.chars();
    matches!(
        (digits.next(), digits.next()),
        (Some('0'..='9' | '\u{b9}' | '\u{b2}' | '\u{b3}'), None)
    )
}

/// `PROGRA~1`: a tilde and digits before the extension, eight characters at most.
fn looks_short(bytes: &[u8]) -> bool {
    let stem = bytes.split(|byte| *byte == b'.').next().unwrap_or_default();
    let Some(tilde) = stem.iter().rposition(|byte| *byte == b'~') else {
        return false;
    };
    let digits = &stem[tilde + 1..];
    stem.len() <= 8 && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(rules: &NameRules, name: &str) -> bool {
        rules
            .check(NameRef::parse(name.as_bytes()).unwrap())
            .is_err()
    }

    // B6, B7: device names in every spelling.
    #[test]
    fn all_device_spellings_are_refused() {
        let rules = NameRules::new().portable();
        let mut spellings: Vec<String> = ["con", "PRN", "Aux", "nul", "CONIN$", "conout$"]
            .iter()
            .map(ToString::to_string)
            .collect();
        for stem in ["com", "LPT"] {
            for digit in "0123456789\u{b9}\u{b2}\u{b3}".chars() {
                spellings.push(format!("{stem}{digit}"));
            }
        }
        for spelling in spellings {
            for suffix in ["", ".txt", ".tar.gz", " .txt"] {
                let name = format!("{spelling}{suffix}");
                assert!(refused(&rules, &name), "{name}");
            }
            assert!(!refused(&rules, &format!("x{spelling}")), "x{spelling}");
        }
        for fine in ["console", "com", "com10", "lpt", "nullable", "auxiliary"] {
            assert!(!refused(&rules, fine), "{fine}");
        }
    }

    #[test]
    fn streams_short_names_and_trailing_dots_are_refused() {
        let rules = NameRules::new().portable();
        for bad in [
            "a:b", "C:", "PROGRA~1", "x~1.txt", "a.", "a ", "a\\b", "a?", "a\u{1}",
        ] {
            assert!(refused(&rules, bad), "{bad}");
        }
        assert!(!refused(&rules, "backup~"));
    }

    #[test]
    fn normal_form_and_hidden_characters() {
        let nfc = NameRules::new().nfc();
        assert!(!refused(&nfc, "caf\u{e9}"));
        assert!(refused(&nfc, "cafe\u{301}"));
        let visible = NameRules::new().no_hidden_characters();
        assert!(refused(&visible, "a\u{202e}b"));
        assert!(!refused(&visible, "a\\b"));
        assert!(
            NameRules::new()
                .utf8()
                .check(NameRef::parse(b"\xff").unwrap())
                .is_err()
        );
    }

    #[test]
    fn case_and_normal_form_collide() {
        let paths: Vec<_> = ["a/Report.PDF", "b", "a/report.pdf"]
            .iter()
            .map(|text| RelPath::parse(text).unwrap())
            .collect();
        let (first, second) = NameRules::new().collision(&paths).unwrap();
        assert_eq!((first, second), (&paths[0], &paths[2]));
        let paths: Vec<_> = ["caf\u{e9}", "cafe\u{301}"]
            .iter()
            .map(|text| RelPath::parse(text).unwrap())
            .collect();
        assert!(NameRules::new().collision(&paths).is_some());
    }

    #[test]
    fn an_allow_list_is_an_allow_list() {
        let rules = NameRules::new().only(|c| c.is_ascii_alphanumeric() || c == '.');
        assert!(!refused(&rules, "a1.txt"));
        assert!(refused(&rules, "a b"));
        assert!(refused(&rules, "\u{430}"));
    }
}
