//! From the text of a path to a place in the session.
//!
//! Only text is looked at here: what `~` and `..` mean, and whether the result lies in an allowed
//! directory. Whether anything is there, and what links say, is the session's.

use crate::trouble::Trouble;
use crate::view::View;
use handfast::ErrorKind;

/// Where a call wants to act.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Place {
    /// The absolute path that the caller meant, for messages.
    pub(crate) shown: String,
    /// The path in the session.
    pub(crate) path: Vec<u8>,
}

impl Place {
    /// Reads the path of a call.
    pub(crate) fn parse(text: &str, view: &View, home: Option<&str>) -> Result<Self, Trouble> {
        let expanded = expand(text, home);
        if is_windows(&expanded) {
            return Err(Trouble::new(
                ErrorKind::Invalid,
                format!("Access denied - Windows-style path received on a POSIX host: {text}"),
            ));
        }
        let absolute = if expanded.starts_with('/') {
            fold(&expanded)
        } else {
            // Relative to the first directory in which it stays inside.
            let bases = view.texts();
            let joined = |base: &String| fold(&format!("{base}/{expanded}"));
            let inside = bases.iter().map(joined).find(|path| is_inside(path, view));
            match (inside, bases.first()) {
                (Some(path), _) => path,
                (None, Some(base)) => joined(base),
                (None, None) => fold(&format!("/{expanded}")),
            }
        };
        match view.locate(absolute.as_bytes()) {
            Some(path) if !absolute.contains('\0') => Ok(Self {
                shown: absolute,
                path,
            }),
            _ => Err(Trouble::new(
                ErrorKind::Escape,
                format!(
                    "Access denied - path outside allowed directories: {absolute} not in {}",
                    view.texts().join(", ")
                ),
            )),
        }
    }

    /// An entry of this directory.
    pub(crate) fn join(&self, name: &[u8]) -> Self {
        Self {
            shown: format!(
                "{}/{}",
                self.shown.trim_end_matches('/'),
                crate::text::names::shown(name)
            ),
            path: crate::view::join(&self.path, name),
        }
    }
}

fn is_inside(path: &str, view: &View) -> bool {
    view.locate(path.as_bytes()).is_some()
}

fn expand(text: &str, home: Option<&str>) -> String {
    match (home, text.strip_prefix('~')) {
        (Some(home), Some(rest)) if rest.is_empty() || rest.starts_with('/') => {
            format!("{}{rest}", home.trim_end_matches('/'))
        }
        _ => text.to_owned(),
    }
}

/// `C:\x`, `C:/x`, `C:`: never a file of that name below the first directory.
fn is_windows(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.next() == Some(':')
        && matches!(chars.next(), None | Some('\\' | '/'))
}

/// Folds `.`, `..` and `//` in the text.
pub(crate) fn fold(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Allowed;

    fn view() -> View {
        let allowed = |path: &str| Allowed {
            spelled: path.into(),
            place: path.into(),
        };
        View {
            allowed: vec![allowed("/srv/ws"), allowed("/srv/two")],
            narrowed: false,
        }
    }

    fn path(text: &str) -> Result<String, String> {
        Place::parse(text, &view(), Some("/srv/ws/home"))
            .map(|place| place.shown)
            .map_err(|trouble| trouble.text)
    }

    #[test]
    fn what_paths_mean() {
        for (text, meant) in [
            ("/srv/ws/a", "/srv/ws/a"),
            ("a", "/srv/ws/a"),
            ("", "/srv/ws"),
            (".", "/srv/ws"),
            ("/srv/ws/", "/srv/ws"),
            ("/srv/ws/x/../a//b/", "/srv/ws/a/b"),
            ("../two/b", "/srv/two/b"),
            ("~", "/srv/ws/home"),
            ("~/x", "/srv/ws/home/x"),
            ("~x", "/srv/ws/~x"),
        ] {
            assert_eq!(path(text).as_deref(), Ok(meant), "{text}");
        }
    }

    #[test]
    fn what_lies_outside_is_named_as_it_was_asked() {
        let outside = "Access denied - path outside allowed directories: ";
        for (text, named) in [
            ("/srv/ws2/a", "/srv/ws2/a"),
            ("/srv", "/srv"),
            ("/srv/ws/../../etc", "/etc"),
            ("../../../x", "/x"),
            ("/srv/ws/a\0b", "/srv/ws/a\0b"),
        ] {
            let expected = format!("{outside}{named} not in /srv/ws, /srv/two");
            assert_eq!(path(text), Err(expected), "{text}");
        }
        assert_eq!(
            path("C:\\x"),
            Err("Access denied - Windows-style path received on a POSIX host: C:\\x".to_owned())
        );
    }
}
