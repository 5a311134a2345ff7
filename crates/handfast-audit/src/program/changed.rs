//! Names that the text of C files changes.
//!
//! A number that one file sets once is no constant if another file can set it too.

use std::collections::HashMap;

use crate::program::Program;
use crate::quick::Quick;

/// For each name the first file that changes it, and whether a second one does.
pub(crate) type Changed = HashMap<Box<str>, (u32, bool), Quick>;

impl Program {
    /// Whether a file other than this one may change a global of C.
    pub(crate) fn is_changed_elsewhere(&self, file: u32, name: &str) -> bool {
        let changed = self.changed.get_or_init(|| self.all_changed());
        changed
            .get(name)
            .is_some_and(|(first, is_more)| *is_more || *first != file)
    }

    fn all_changed(&self) -> Changed {
        let mut all = Changed::default();
        let files = self.files.iter().enumerate();
        for (file, source) in files.filter(|(_, source)| source.lang.family() == "c") {
            let file = u32::try_from(file).unwrap_or(u32::MAX);
            for (name, is_changed) in uses(&source.text) {
                if !is_changed {
                    continue;
                }
                match all.get_mut(name) {
                    Some((first, is_more)) => *is_more |= *first != file,
                    None => {
                        all.insert(Box::from(name), (file, false));
                    }
                }
            }
        }
        all
    }
}

/// The words of a text, and whether each is set, counted or handed out by its address.
fn uses(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && !is_word(bytes[at]) {
            at += 1;
        }
        let start = at;
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        let word = text.get(start..at).filter(|word| !word.is_empty())?;
        let after = bytes[at..].trim_ascii_start();
        let before = bytes[..start].trim_ascii_end();
        Some((word, is_set(after) || is_touched(before, after)))
    })
}

/// `name = …`, not `name == …`.
pub(crate) fn is_set(after: &[u8]) -> bool {
    after.starts_with(b"=") && !after.starts_with(b"==")
}

/// Changed by an operator, or through its address.
pub(crate) fn is_touched(before: &[u8], after: &[u8]) -> bool {
    const OPERATORS: [&[u8]; 12] = [
        b"++", b"--", b"+=", b"-=", b"*=", b"/=", b"%=", b"|=", b"&=", b"^=", b"<<=", b">>=",
    ];
    before.ends_with(b"&") && !before.ends_with(b"&&")
        || before.ends_with(b"++")
        || before.ends_with(b"--")
        || OPERATORS.iter().any(|operator| after.starts_with(operator))
}
