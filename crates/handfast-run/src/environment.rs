//! Which variables a program gets.

use std::ffi::{OsStr, OsString};

/// Variables that say who, where and how, and hold no secrets.
const ALLOWED: [&str; 22] = [
    "CARGO_HOME",
    "COLORTERM",
    "EDITOR",
    "GOPATH",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LINES",
    "COLUMNS",
    "LOGNAME",
    "NO_COLOR",
    "NVM_DIR",
    "PATH",
    "PAGER",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "RUST_BACKTRACE",
    "SHELL",
    "TERM",
    "TZ",
    "USER",
    "VISUAL",
];

/// The variables that are passed on: the list above, `LC_*`, and those that were asked for.
pub(crate) fn passed(
    all: impl Iterator<Item = (OsString, OsString)>,
    asked: &[String],
) -> Vec<(OsString, OsString)> {
    let is_passed = |name: &OsStr| {
        name.to_str().is_some_and(|name| {
            ALLOWED.contains(&name)
                || name.starts_with("LC_")
                || asked.iter().any(|asked| asked == name)
        })
    };
    all.filter(|(name, _)| is_passed(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_outside_unless_asked_for() {
        let all = || {
            [
                ("PATH", "/bin"),
                ("AWS_SECRET", "x"),
                ("LC_ALL", "C"),
                ("SSH_AUTH_SOCK", "/s"),
            ]
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
        };
        let names = |asked: &[String]| {
            let mut names: Vec<_> = passed(all(), asked).into_iter().map(|one| one.0).collect();
            names.sort();
            names
        };
        assert_eq!(names(&[]), ["LC_ALL", "PATH"]);
        assert_eq!(
            names(&["AWS_SECRET".into()]),
            ["AWS_SECRET", "LC_ALL", "PATH"]
        );
    }
}
