//! Profiles: what well-known programs need besides, as data.
//!
//! A profile is a text of lines: `read PATH`, `write PATH` and `env NAME`; `~` is the home directory,
//! and a line that begins with `#` is a comment. A path that is not there is left out.

use std::path::{Path, PathBuf};

use crate::refusal::Refusal;

/// The profiles that are built in, by name.
const BUILT_IN: [(&str, &str); 6] = [
    ("claude", include_str!("../profiles/claude.profile")),
    ("codex", include_str!("../profiles/codex.profile")),
    ("gemini", include_str!("../profiles/gemini.profile")),
    ("java", include_str!("../profiles/java.profile")),
    ("node", include_str!("../profiles/node.profile")),
    ("python", include_str!("../profiles/python.profile")),
];

/// What a program needs besides.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Profile {
    /// Files and directories to read.
    pub read: Vec<PathBuf>,
    /// Directories to write to, past the session.
    pub write: Vec<PathBuf>,
    /// Variables to pass on.
    pub env: Vec<String>,
}

impl Profile {
    /// Finds a profile: a file `NAME.profile` in a directory of the user's own, or one that is
    /// built in.
    ///
    /// # Errors
    /// There is none of that name, or it holds a line that is not understood.
    #[allow(
        clippy::disallowed_methods,
        reason = "the operator's own settings, by an ambient path"
    )]
    pub fn find(name: &str, own: Option<&Path>, home: &Path) -> Result<Self, Refusal> {
        let shown = handfast::escape(name.as_bytes());
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(Refusal::request(format!(
                "`{shown}` is no name of a profile"
            )));
        }
        let file = own.map(|dir| dir.join(format!("{name}.profile")));
        let text = match file.as_deref().map(std::fs::read_to_string) {
            Some(Ok(text)) => Some(text),
            Some(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Refusal::request(format!(
                    "the profile `{shown}` cannot be read: {error}"
                )));
            }
            _ => None,
        };
        let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
        match (text, built_in) {
            (Some(text), _) => Self::parse(&text, home),
            (None, Some((_, text))) => Self::parse(text, home),
            (None, None) => Err(Refusal::request(format!(
                "there is no profile `{shown}`; there is `{}`",
                BUILT_IN.map(|(name, _)| name).join("`, `")
            ))),
        }
    }

    fn parse(text: &str, home: &Path) -> Result<Self, Refusal> {
        let mut profile = Self::default();
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bad = || {
                Refusal::request(format!(
                    "line {number} of the profile is not `read PATH`, `write PATH` or `env NAME`"
                ))
            };
            let (what, value) = line.split_once(' ').ok_or_else(bad)?;
            let value = value.trim();
            let path = match value.strip_prefix("~/") {
                Some(rest) => home.join(rest),
                None => PathBuf::from(value),
            };
            match what {
                "env" if !value.contains(['=', ' ']) => profile.env.push(value.to_owned()),
                "read" if path.is_absolute() => profile.read.push(path),
                "write" if path.is_absolute() => profile.write.push(path),
                _ => return Err(bad()),
            }
        }
        profile.read.retain(|path| path.symlink_metadata().is_ok());
        profile.write.retain(|path| path.symlink_metadata().is_ok());
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_is_understood_and_grants_nothing_to_write() {
        for (name, text) in BUILT_IN {
            let profile = Profile::find(name, None, Path::new("/")).unwrap();
            assert!(!profile.env.is_empty(), "{name}");
            let writes = text.lines().any(|line| line.trim().starts_with("write"));
            assert!(!writes, "{name}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused_by_its_line() {
        let home = Path::new("/");
        let profile = Profile::parse("# c\n\nread ~/usr\nread /nowhere\nenv A_B\n", home).unwrap();
        assert_eq!(profile.read, [PathBuf::from("/usr")]);
        assert_eq!(profile.env, ["A_B"]);
        for bad in [
            "read",
            "reed /usr",
            "read usr",
            "env A=B",
            "read /usr\nenv a b",
        ] {
            let refused = Profile::parse(bad, home).unwrap_err();
            assert!(refused.why.starts_with("line "), "{bad}: {refused}");
        }
        for name in ["", "../x", "a/b", "nothing"] {
            assert!(Profile::find(name, None, home).is_err(), "{name}");
        }
    }
}
