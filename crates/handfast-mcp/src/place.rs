//! From the text of a path to a place in the session.
//!
//! Only text is looked at here: what `~` means, and whether the path lies in an allowed directory.
//! Whether anything is there, and what links say, is the session's.

use crate::trouble::Trouble;
use crate::view::ClientView;
use handfast::{ErrorKind, RelPath};
use handfast_session::VirtualPath;

/// Where a call wants to act.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Location {
    /// The absolute path that the caller meant, for messages.
    pub(crate) shown: String,
    /// The path in the session.
    pub(crate) path: VirtualPath,
}

impl Location {
    /// Reads the path of a call: once, here.
    pub(crate) fn parse(
        text: &str,
        view: &ClientView,
        home: Option<&str>,
    ) -> Result<Self, Trouble> {
        let expanded = expand(text, home);
        if is_windows(&expanded) {
            return Err(Trouble::new(
                ErrorKind::Invalid,
                format!("Access denied - Windows-style path received on a POSIX host: {text}"),
            ));
        }
        if expanded.starts_with('/') {
            return Self::locate(expanded.as_bytes(), view);
        }
        // Relative to the first directory in which it stays inside.
        let mut first = None;
        for base in &view.allowed {
            let joined = [
                b"/",
                base.spelled.as_rel().as_bytes(),
                b"/",
                expanded.as_bytes(),
            ];
            match Self::locate(&joined.concat(), view) {
                Err(trouble) if trouble.kind == ErrorKind::Escape => {
                    first.get_or_insert(trouble);
                }
                done => return done,
            }
        }
        let nowhere = || outside(&format!("/{expanded}"), view);
        Err(first.unwrap_or_else(nowhere))
    }

    fn locate(absolute: &[u8], view: &ClientView) -> Result<Self, Trouble> {
        #[cfg(test)]
        tests::PARSED.set(tests::PARSED.get() + 1);
        let asked = VirtualPath::parse(absolute).map_err(|error| {
            let text = String::from_utf8_lossy(absolute);
            match error.kind() {
                ErrorKind::TooLong => Trouble::new(
                    ErrorKind::TooLong,
                    format!("ENAMETOOLONG: name too long, realpath '{text}'"),
                ),
                _ => outside(&text, view),
            }
        })?;
        Self::of(&asked, view)
    }

    /// The place of a path that was read already: of a URI, for one.
    pub(crate) fn of(asked: &VirtualPath, view: &ClientView) -> Result<Self, Trouble> {
        // The reference drops a slash at the end.
        let asked = VirtualPath::from(asked.as_rel().clone().with_must_be_dir(false));
        let shown = format!("/{}", String::from_utf8_lossy(asked.as_rel().as_bytes()));
        match view.locate(&asked) {
            Some(path) => Ok(Self { shown, path }),
            None => Err(outside(&shown, view)),
        }
    }

    /// The path as the files take it.
    pub(crate) fn rel(&self) -> &RelPath {
        self.path.as_rel()
    }
}

fn outside(asked: &str, view: &ClientView) -> Trouble {
    if let Some(why) = &view.why_empty {
        return Trouble::new(ErrorKind::Escape, format!("Access denied - {why}: {asked}"));
    }
    let dirs = view.texts().join(", ");
    let text = format!("Access denied - path outside allowed directories: {asked} not in {dirs}");
    Trouble::new(ErrorKind::Escape, text)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Allowed;

    thread_local! {
        /// How often a text was parsed.
        pub(super) static PARSED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    }

    #[test]
    fn a_path_is_parsed_once() {
        for text in ["/srv/ws/a", "a/b", "/srv/two/../two/x", "~/x", "/outside"] {
            PARSED.set(0);
            drop(path(text));
            assert_eq!(PARSED.get(), 1, "{text}");
        }
    }

    fn view() -> ClientView {
        let allowed = |path: &str| Allowed {
            spelled: VirtualPath::parse(path).unwrap(),
            place: VirtualPath::parse(path).unwrap(),
        };
        ClientView {
            allowed: vec![allowed("/srv/ws"), allowed("/srv/two")],
            narrowed: false,
            why_empty: None,
        }
    }

    fn path(text: &str) -> Result<String, String> {
        Location::parse(text, &view(), Some("/srv/ws/home"))
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
