//! Which files are looked at, decided by name and first line; callers that read files ask here.

use crate::lang::Lang;

/// Languages that people expect and that are not read, by extension.
const UNSUPPORTED: [(&str, &str); 15] = [
    ("php", "PHP"),
    ("rb", "Ruby"),
    ("kt", "Kotlin"),
    ("kts", "Kotlin"),
    ("cs", "C#"),
    ("swift", "Swift"),
    ("scala", "Scala"),
    ("pl", "Perl"),
    ("pm", "Perl"),
    ("lua", "Lua"),
    ("sh", "Shell"),
    ("bash", "Shell"),
    ("ex", "Elixir"),
    ("dart", "Dart"),
    ("zig", "Zig"),
];

/// Whether a file of a directory may be source text: by its name, or because it has none of the
/// extensions that say otherwise and may begin with `#!`.
#[must_use]
pub fn may_be_source(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    Lang::of_path(path).is_some() || !name.contains('.') && name.chars().any(char::is_lowercase)
}

/// Whether a text is read: by its name, or by the interpreter that it names.
#[must_use]
pub fn is_source(path: &str, text: &[u8]) -> bool {
    Lang::detect(path, text).is_some()
}

/// Whether a file near a named one helps to understand it: of the same language.
#[must_use]
pub fn is_neighbour(named: Lang, path: &str) -> bool {
    Lang::of_path(path).is_some_and(|other| other.family() == named.family())
}

/// Why a text is not read.
#[must_use]
pub fn refusal(path: &str) -> String {
    let extension = path
        .rsplit('/')
        .next()
        .and_then(|name| name.rsplit_once('.'));
    let known = extension.and_then(|(_, extension)| {
        let wanted = extension.to_ascii_lowercase();
        UNSUPPORTED.iter().find(|(known, _)| *known == wanted)
    });
    match known {
        Some((_, name)) => format!("{name} is not supported"),
        None => "its language is not known; rename it, or give it with --stdin-filename".to_owned(),
    }
}
