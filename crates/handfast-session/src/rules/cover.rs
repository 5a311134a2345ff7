//! Patterns that say what is granted, in the language of those that say what is protected.

use handfast::RelPath;

use super::{Access, Protect, Rules, Shape};
use crate::error::Error;

/// Patterns as in gitignore, without `!`, as a grant: what they match, and all below a directory
/// that they match, is covered. Case counts everywhere: a grant is never wider than it is spelled.
#[derive(Debug)]
pub struct Patterns {
    rules: Rules,
    /// `*` and `**` mean the top directory too.
    everything: bool,
}

impl Patterns {
    /// Reads patterns.
    ///
    /// # Errors
    /// `Invalid` for a pattern that could never match.
    pub fn compile<T: AsRef<str>>(patterns: &[T]) -> Result<Self, Error> {
        let protect = Protect {
            deny: patterns
                .iter()
                .map(|text| text.as_ref().to_owned())
                .collect(),
            ..Protect::new()
        };
        Ok(Self {
            rules: Rules::compile(&protect)?,
            everything: protect.deny.iter().any(|text| text == "*" || text == "**"),
        })
    }

    /// Whether a path is covered. A pattern that ends in `/` covers what lies below such a
    /// directory; the name itself only where it must be a directory.
    #[must_use]
    pub fn covers(&self, path: &RelPath) -> bool {
        if self.everything || path.is_root() {
            return self.everything;
        }
        let shape = if path.must_be_dir() {
            Shape::MaybeDir
        } else {
            Shape::File
        };
        let verdict = self.rules.judge(path);
        self.rules.forbids(&verdict, Access::Read, shape).is_some()
    }

    /// Whether anything below a path could be covered: it is a directory on the way.
    #[must_use]
    pub fn leads_to_covered(&self, path: &RelPath) -> bool {
        self.covers(path) || !self.rules.judge(path).below().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn what_is_matched_is_covered_and_nothing_else() {
        let patterns = Patterns::compile(&["/src/**", "*.md", "docs/"]).unwrap();
        for covered in [
            "src/a",
            "src/a/b",
            "README.md",
            "x/y.md",
            "docs/a",
            "z/docs/a",
        ] {
            assert!(patterns.covers(&path(covered)), "{covered}");
        }
        for other in ["src", "srcx/a", "x/src/a", "SRC/a", "README.MD", "docs"] {
            assert!(!patterns.covers(&path(other)), "{other}");
        }
        assert!(!patterns.covers(&RelPath::root()));
        let everything = Patterns::compile(&["**"]).unwrap();
        assert!(everything.covers(&RelPath::root()) && everything.covers(&path("a/b")));
        assert!(Patterns::compile(&["!a"]).is_err());
    }

    #[test]
    fn directories_on_the_way_are_known() {
        let patterns = Patterns::compile(&["/src/deep/*.rs"]).unwrap();
        for on_the_way in ["src", "src/deep", "src/deep/a.rs"] {
            assert!(patterns.leads_to_covered(&path(on_the_way)), "{on_the_way}");
        }
        assert!(patterns.leads_to_covered(&RelPath::root()));
        for other in ["lib", "src/other", "src/deep/a.txt"] {
            assert!(!patterns.leads_to_covered(&path(other)), "{other}");
        }
    }
}
