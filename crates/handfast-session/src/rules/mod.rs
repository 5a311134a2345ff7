//! Protected patterns: what may be neither read nor changed, and what may not be changed.

mod cover;
mod glob;
mod matcher;
mod pattern;
mod presets;

use std::collections::BTreeSet;
use std::fmt;

use handfast::{NameRef, RelPath, escape};

use crate::error::Error;
pub use cover::Patterns;
pub(crate) use matcher::Protection;
use matcher::{Matcher, PatternMatch};
use pattern::Pattern;
pub use presets::PRESETS;

/// Patterns of one mount, as in gitignore without `!`. A matched directory covers all below it;
/// `deny` beats `read_only`, for reading and for changing alike.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Protect {
    /// Neither read nor changed.
    pub deny: Vec<String>,
    /// Read, and not changed.
    pub read_only: Vec<String>,
    /// Opened for its content, or changed, only if a person agrees. What `deny` or `read_only`
    /// forbids is refused and not asked.
    pub ask: Vec<String>,
}

impl Protect {
    /// No patterns.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The patterns of a preset, see [`PRESETS`].
    ///
    /// # Errors
    /// `Invalid` if there is none of that name.
    pub fn preset(name: &str) -> Result<Self, Error> {
        presets::preset(name)
    }

    /// With one more pattern that denies.
    #[must_use]
    pub fn with_deny(mut self, pattern: impl Into<String>) -> Self {
        self.deny.push(pattern.into());
        self
    }

    /// With one more pattern that forbids changes.
    #[must_use]
    pub fn with_read_only(mut self, pattern: impl Into<String>) -> Self {
        self.read_only.push(pattern.into());
        self
    }

    /// With one more pattern that a person is asked about.
    #[must_use]
    pub fn with_ask(mut self, pattern: impl Into<String>) -> Self {
        self.ask.push(pattern.into());
        self
    }

    /// Both sets together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.deny.extend(other.deny);
        self.read_only.extend(other.read_only);
        self.ask.extend(other.ask);
        self
    }
}

/// What an operation wants of a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// To see or read it.
    Read,
    /// To create, change, move or remove it.
    Change,
}

/// Whether a path is known to name a directory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shape {
    /// The operation works on directories only, or could make one: `name/` patterns count.
    MaybeDir,
    /// The operation reads files only.
    File,
}

/// The name of the list of what is neither read nor changed.
pub(crate) const DENY: &str = "deny";
/// The name of the list of what is not changed.
pub(crate) const READ_ONLY: &str = "read_only";
/// The name of the list of what a person is asked about.
pub(crate) const ASK: &str = "ask";

/// The pattern that decided, for messages.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    /// `deny`, `read_only` or `ask`.
    pub list: &'static str,
    /// The pattern as it was written.
    pub pattern: String,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.list, escape(self.pattern.as_bytes()))
    }
}

/// Patterns, compiled.
#[derive(Debug)]
pub(crate) struct Rules {
    patterns: Vec<(Protection, String)>,
    exact: Matcher,
    /// For directories that fold case; `None` without patterns.
    folded: Option<Matcher>,
}

/// What the rules say about a path, whatever is done to it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct PathDecision {
    found: PatternMatch,
}

impl Rules {
    pub(crate) fn compile(protect: &Protect) -> Result<Self, Error> {
        let deny = protect.deny.iter().map(|text| (Protection::Deny, text));
        let read_only = protect
            .read_only
            .iter()
            .map(|text| (Protection::ReadOnly, text));
        let parsed: Vec<(Protection, Pattern)> = deny
            .chain(read_only)
            .map(|(protection, text)| Ok((protection, Pattern::parse(text)?)))
            .collect::<Result<_, Error>>()?;
        let exact = Matcher::new(parsed.iter().enumerate().map(
            |(index, (protection, pattern))| {
                (index, *protection, pattern.dir_only, &*pattern.segments)
            },
        ));
        let folded: Vec<Vec<_>> = parsed
            .iter()
            .map(|(_, pattern)| pattern.segments.iter().map(glob::Segment::folded).collect())
            .collect();
        let folded = (!parsed.is_empty()).then(|| {
            Matcher::new(parsed.iter().zip(&folded).enumerate().map(
                |(index, ((protection, pattern), segments))| {
                    (index, *protection, pattern.dir_only, &**segments)
                },
            ))
        });
        Ok(Self {
            patterns: parsed
                .into_iter()
                .map(|(protection, pattern)| (protection, pattern.text))
                .collect(),
            exact,
            folded,
        })
    }

    /// The patterns that a person is asked about, apart from the others: what they say never makes
    /// a refusal out of an answer, or the other way round.
    pub(crate) fn compile_ask(protect: &Protect) -> Result<Self, Error> {
        Self::compile(&Protect {
            deny: protect.ask.clone(),
            ..Protect::new()
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// What the patterns say, with names taken as they are spelled.
    pub(crate) fn judge(&self, path: &RelPath) -> PathDecision {
        PathDecision {
            found: self.exact.find(path.segments().map(|name| name.as_bytes())),
        }
    }

    /// What the patterns say where case does not matter.
    pub(crate) fn judge_folded(&self, path: &RelPath) -> PathDecision {
        let Some(folded) = &self.folded else {
            return PathDecision {
                found: PatternMatch::default(),
            };
        };
        let bytes = path.as_bytes();
        if bytes.is_ascii() {
            let lower = bytes.to_ascii_lowercase();
            let names = lower
                .split(|byte| *byte == b'/')
                .filter(|name| !name.is_empty());
            return PathDecision {
                found: folded.find(names),
            };
        }
        let names: Vec<Vec<u8>> = path
            .segments()
            .map(|name| handfast::fold_case(name.as_bytes()))
            .collect();
        PathDecision {
            found: folded.find(names.iter().map(Vec::as_slice)),
        }
    }

    /// The rule that forbids an access, if one does. `folds` says whether case does not matter
    /// there; it is asked only if that makes a difference.
    pub(crate) fn decide(
        &self,
        path: &RelPath,
        access: Access,
        shape: Shape,
        folds: impl FnOnce() -> bool,
    ) -> Option<Rule> {
        if self.is_empty() {
            return None;
        }
        let folded = self.forbids(&self.judge_folded(path), access, shape);
        // For ASCII, what is found with case is found without: the usual answer comes from one
        // look. Folding other text may also hide a match.
        if folded.is_none() && path.as_bytes().is_ascii() {
            return None;
        }
        let exact = self.forbids(&self.judge(path), access, shape);
        match (exact, folded) {
            (None, Some(rule)) if folds() => Some(rule),
            (exact, _) => exact,
        }
    }

    /// Whether nothing below the path is under a rule because of where the path lies. `folds` as
    /// in [`Rules::decide`].
    pub(crate) fn is_ordinary_below(&self, path: &RelPath, folds: impl FnOnce() -> bool) -> bool {
        let Some(folded) = &self.folded else {
            return true;
        };
        self.exact.is_ordinary_below(&self.judge(path).found)
            && (folded.is_ordinary_below(&self.judge_folded(path).found) || !folds())
    }

    /// Whether only a directory may take a name: `.git`, where patterns protect what lies in it. A
    /// file of that name leads git to a directory that they do not reach.
    pub(crate) fn keeps_for_a_directory(&self, path: &RelPath) -> bool {
        let is_git = |name: NameRef<'_>| name.as_bytes().eq_ignore_ascii_case(b".git");
        path.segments().next_back().is_some_and(is_git)
            && self
                .folded
                .as_ref()
                .is_some_and(|folded| !folded.is_ordinary_below(&self.judge_folded(path).found))
    }

    /// The rule that forbids an access, if one does.
    pub(crate) fn forbids(
        &self,
        verdict: &PathDecision,
        access: Access,
        shape: Shape,
    ) -> Option<Rule> {
        let said = match shape {
            Shape::MaybeDir => verdict.found.if_dir,
            Shape::File => verdict.found.protection,
        };
        match said {
            Some((Protection::Deny, index)) => Some(self.rule(index)),
            Some((Protection::ReadOnly, index)) if access == Access::Change => {
                Some(self.rule(index))
            }
            _ => None,
        }
    }

    fn rule(&self, index: usize) -> Rule {
        let (protection, text) = &self.patterns[index];
        Rule {
            list: match protection {
                Protection::Deny => DENY,
                Protection::ReadOnly => READ_ONLY,
            },
            pattern: text.clone(),
        }
    }
}

impl PathDecision {
    /// What could be said about entries below.
    pub(crate) fn below(&self) -> &BTreeSet<u32> {
        &self.found.below
    }
}

#[cfg(test)]
mod tests;
