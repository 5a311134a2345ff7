//! What a test of text proves: a match, a prefix, a part.

use crate::facts::{FOREIGN, PROBES, bit, chars};
use crate::interp::Interp;
use crate::interp::query::Norm;
use crate::ir::Span;
use crate::lang::Lang;
use crate::regex::{Accepted, Dialect, accepted, sought};
use crate::state::State;
use crate::term::{CollKind, MatchMode, Term, Vid};

impl Interp<'_> {
    pub(super) fn assume_match(
        &mut self,
        subject: Vid,
        regex: Vid,
        mode: MatchMode,
        truth: bool,
        state: &mut State,
        at: Span,
    ) {
        let subject = self.deref(subject, state);
        let regex = match self.terms.get(regex) {
            Term::Global { of, .. } => *of,
            _ => regex,
        };
        let (pattern, flags) = match self.terms.get(regex) {
            Term::Regex(pattern, flags) => (pattern.clone(), flags.clone()),
            Term::Str(pattern) => (pattern.clone(), "".into()),
            _ => {
                if truth {
                    state.add(subject, bit::UNSEEN_CHECK, at);
                }
                return;
            }
        };
        let dialect = if self.lang() == Lang::Python {
            Dialect::Python
        } else {
            Dialect::Other
        };
        let Some(found) = accepted(&pattern, &flags, mode, dialect) else {
            state.add(subject, bit::UNSEEN_CHECK, at);
            return;
        };
        if !truth {
            // `/\/$/`: how a text ends says whether it is a directory, not where it leads.
            let is_ending = pattern.ends_with('$')
                && !pattern.starts_with(['^', '('])
                && !pattern.contains("..")
                && !pattern.contains("\\.\\.");
            if mode == MatchMode::Search && is_ending {
                return;
            }
            // Something bad was searched for and not found.
            state.add(subject, bit::BLOCKLIST, at);
            if let (MatchMode::Search, Some(bad)) = (mode, sought(&pattern)) {
                state.edit(subject).narrow_chars(!bad, at);
                return;
            }
            // `(^|/)..(/|$)`: no segment is that.
            if mode == MatchMode::Search && refuses_segments(&pattern) {
                state.add(subject, bit::SEGS_CLEAN, at);
                return;
            }
            if pattern.contains("\\.\\.") && mode == MatchMode::Search && !pattern.contains('^') {
                let plain = pattern.replace("\\.", ".");
                if plain == ".."
                    || plain
                        .split('|')
                        .any(|part| part.trim_matches(['(', ')']) == "..")
                {
                    state.add(subject, bit::NO_DOTDOT, at);
                }
            }
            return;
        }
        if !found.anchored {
            state.add(subject, bit::WEAK_PATTERN, at);
            return;
        }
        self.learn(subject, &found, at, state);
        let facts = state.edit(subject);
        if found.newline {
            facts.add(bit::WEAK_NEWLINE, at);
        }
        let too_wide = found.chars & (FOREIGN | chars("/\\")) != 0;
        if too_wide {
            facts.add(bit::WEAK_PATTERN, at);
        }
        // Node's `.test` takes anything; elsewhere a match needs a string.
        if self.lang().family() != "javascript" {
            state.add(subject, bit::TYPED, at);
        }
    }

    /// What was asked of one of several values was asked of the one that is used.
    pub(super) fn spread(&self, vid: Vid, state: &mut State) {
        if let Term::Phi(parts) = self.terms.get(vid)
            && parts.len() <= 4
            && let Some(facts) = state.own(vid).cloned()
        {
            for part in parts {
                if matches!(
                    self.terms.get(*part),
                    Term::Part { .. }
                        | Term::Source { .. }
                        | Term::Field(..)
                        | Term::Index(..)
                        | Term::Norm { .. }
                ) {
                    state.edit(*part).and(&facts);
                }
            }
        }
    }

    /// A text is one that a pattern accepts.
    pub(super) fn learn(&self, text: Vid, found: &Accepted, at: Span, state: &mut State) {
        let facts = state.edit(text);
        facts.narrow_chars(found.chars, at);
        facts.narrow_first(found.first, at);
        facts.bound(found.max_len, at);
        if found.nonempty {
            facts.add(bit::NONEMPTY, at);
        }
        if found.not_dotdot {
            facts.add(bit::NOT_DOTDOT, at);
        }
        if found.not_dot {
            facts.add(bit::NOT_DOT, at);
        }
    }

    pub(super) fn assume_prefix(
        &mut self,
        subject: Vid,
        prefix: Vid,
        truth: bool,
        state: &mut State,
        at: Span,
    ) {
        let subject = self.deref(subject, state);
        let prefix = self.deref(prefix, state);
        if let Some(text) = self.terms.string(prefix).map(str::to_owned)
            && (matches!(text.as_str(), "/.." | "/../")
                || !(text.starts_with('/') && text.len() > 1))
        {
            if truth {
                return;
            }
            let is_plain = matches!(
                self.terms.get(subject),
                Term::Norm {
                    canonical: false,
                    ..
                }
            ) || self.facts_of(subject, state).has(bit::PLAIN_FORM);
            let facts = state.edit(subject);
            match text.as_str() {
                "/" => {
                    facts.narrow_first(!chars("/"), at);
                    facts.add(bit::NOT_ABSOLUTE, at);
                }
                "-" => facts.narrow_first(!chars("-"), at),
                "+" => facts.narrow_first(!chars("+"), at),
                "." => facts.narrow_first(!chars("."), at),
                "\\" => facts.narrow_first(!chars("\\"), at),
                "../" if is_plain => {
                    // Only `..` itself is left of the ways up.
                    facts.add(bit::REL_NOT_UP | bit::NO_UP, at);
                    self.settle_relative(subject, state, at);
                }
                ".." if is_plain => {
                    // A plain form that does not begin with a way up has none.
                    facts.add(bit::REL_NOT_UP | bit::SEGS_CLEAN | bit::NOT_DOTDOT, at);
                    self.add_down(subject, bit::SEGS_CLEAN, state, at);
                    self.settle_relative(subject, state, at);
                }
                ".." | "../" => {
                    facts.add(bit::REL_NOT_UP, at);
                    facts.add(bit::WEAK_BEFORE_SPLIT, at);
                    if text == ".." {
                        facts.add(bit::NOT_DOTDOT, at);
                    }
                    self.settle_relative(subject, state, at);
                }
                "/.." | "/../" => facts.add(bit::WEAK_BEFORE_SPLIT, at),
                _ => {}
            }
            return;
        }
        // `rel.startswith(".." + sep)`
        if let Term::Concat(parts) = self.terms.get(prefix).clone()
            && let [first, second] = parts.as_slice()
            && self.terms.string(*first) == Some("..")
            && self.is_separator(*second)
        {
            if !truth {
                state.add(subject, bit::REL_NOT_UP | bit::WEAK_BEFORE_SPLIT, at);
                self.settle_relative(subject, state, at);
            }
            return;
        }
        if !truth {
            return;
        }
        let (root, has_sep) = self.prefix_root(prefix);
        // `(target + sep).startswith(root)`: the target with its end made plain.
        let subject = match self.terms.get(subject) {
            Term::Concat(parts) => match parts.as_slice() {
                [base, sep] if self.is_separator(*sep) => *base,
                _ => subject,
            },
            _ => subject,
        };
        self.contained(subject, root, has_sep, state, at);
    }

    /// `root + sep` is the root with a separator.
    pub(super) fn prefix_root(&self, prefix: Vid) -> (Vid, bool) {
        match self.terms.get(prefix) {
            Term::Concat(parts) => match parts.as_slice() {
                [base, sep] if self.is_separator(*sep) => (*base, true),
                [base, text] if self.terms.string(*text).is_some_and(|t| t.ends_with('/')) => {
                    (*base, true)
                }
                _ => (prefix, false),
            },
            Term::Str(text) => (prefix, text.ends_with('/')),
            Term::Global { of, .. } => {
                let (_, has) = self.prefix_root(*of);
                (prefix, has)
            }
            Term::Join { parts, .. } => match parts.as_slice() {
                // `os.path.join(root, "")` ends with a separator.
                [base, end]
                    if matches!(self.terms.string(*end), Some("" | "/"))
                        || self.is_separator(*end) =>
                {
                    (*base, true)
                }
                [.., last] => {
                    let ends = self.terms.string(*last);
                    (prefix, ends.is_some_and(|text| text.ends_with('/')))
                }
                _ => (prefix, false),
            },
            Term::Phi(parts) => {
                let ends: Vec<(Vid, bool)> =
                    parts.iter().map(|part| self.prefix_root(*part)).collect();
                // `if not root.endswith(sep): root += sep`: the one or the other.
                let base = ends.iter().find(|(_, has)| *has).map(|(base, _)| *base);
                let added = base.is_some_and(|base| {
                    parts
                        .iter()
                        .all(|part| *part == base || self.prefix_root(*part) == (base, true))
                });
                match base {
                    Some(base) if added => (base, true),
                    _ => (prefix, ends.iter().all(|(_, has)| *has)),
                }
            }
            _ => (prefix, false),
        }
    }

    pub(super) fn assume_contains(
        &mut self,
        text: Vid,
        needle: Vid,
        truth: bool,
        state: &mut State,
        at: Span,
    ) {
        let text = self.deref(text, state);
        // One of a list that nobody outside makes: `known.includes(name)`.
        if truth && self.terms.string(needle).is_none() {
            let wanted = self.deref(needle, state);
            let is_list = matches!(
                self.terms.get(text),
                Term::Call { .. }
                    | Term::Mapped { .. }
                    | Term::List(_)
                    | Term::Coll { .. }
                    | Term::Config { .. }
            );
            if is_list
                && self.leaves(text, state).is_empty()
                && !self.leaves(wanted, state).is_empty()
            {
                state.add(wanted, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
            }
            return;
        }
        let needle = match self.terms.string(needle) {
            Some(needle) => needle.to_owned(),
            None if self.is_separator(needle) => "/".to_owned(),
            None => return,
        };
        if truth {
            return;
        }
        // `relative(root, p)` without a way up.
        if matches!(self.terms.get(text), Term::Relative { .. })
            && (needle == ".." || needle == "../")
        {
            state.add(text, bit::REL_NOT_UP, at);
            self.settle_relative(text, state, at);
            return;
        }
        // A collection of segments that holds no `..`.
        if let Term::Coll { kind, of, .. } = *self.terms.get(text) {
            if needle == ".." && kind != CollKind::Chars {
                state.add(of, bit::SEGS_CLEAN, at);
                self.spread(of, state);
                if matches!(self.terms.get(of), Term::Relative { .. }) {
                    state.add(of, bit::REL_NOT_UP, at);
                    self.settle_relative(of, state, at);
                }
            }
            return;
        }
        let facts = state.edit(text);
        facts.add(bit::BLOCKLIST, at);
        let mut letters = needle.chars();
        if let (Some(only), None) = (letters.next(), letters.next()) {
            if let Some(index) = PROBES.iter().position(|probe| *probe == only) {
                facts.narrow_chars(!(1 << index), at);
            }
        } else if needle == ".." {
            facts.add(bit::NO_DOTDOT, at);
        } else if needle == "../" {
            // `a/..` passes: a directory.
            facts.add(bit::NO_UP, at);
        } else if needle == "/../" {
            // What begins with a slash and holds none of these may only end with `/..`.
            facts.add(bit::NO_UP, at);
        }
    }
}

/// A pattern that finds `..` as a whole segment, wherever it stands.
fn refuses_segments(pattern: &str) -> bool {
    let plain: String = pattern
        .replace("(?:", "(")
        .replace("\\/", "/")
        .replace("\\\\", "\\");
    let starts = [
        "(^|[\\/])",
        "(^|[/\\])",
        "(^|/)",
        "(/|^)",
        "(/|\\|^)",
        "(^|/|\\)",
    ];
    let ends = [
        "([\\/]|$)",
        "([/\\]|$)",
        "(/|$)",
        "($|/)",
        "($|[\\/])",
        "($|[/\\])",
        "(/|\\|$)",
    ];
    let dots = [
        "\\.\\.", "\\.{2}", "[.]{2}", "[.][.]", "\\.\\.?", "\\.{1,2}",
    ];
    starts.iter().any(|start| {
        plain.strip_prefix(start).is_some_and(|rest| {
            dots.iter().any(|dot| {
                rest.strip_prefix(dot)
                    .is_some_and(|rest| ends.contains(&rest))
            })
        })
    })
}

/// What a containment test proves of a path in this form, against a root in that form.
///
/// A table and not a `match`: optimised builds of some compilers (seen with 1.95) took the raw form for the
/// lexical one there. A fixture (`rust/A4/wrong_lexical_starts_with.rs`) shows it in release builds.
pub(super) fn proves(of: Norm, root: Norm, has_sep: bool, clean: bool) -> u64 {
    use bit::{IN_CANONICAL, IN_LEXICAL, WEAK_MIXED, WEAK_PREFIX, WEAK_RAW};
    const BY_FORM: [[u64; 3]; 3] = [
        [WEAK_RAW, WEAK_RAW, WEAK_MIXED],
        [IN_LEXICAL, IN_LEXICAL, WEAK_MIXED],
        [WEAK_MIXED, WEAK_MIXED, IN_CANONICAL],
    ];
    if !has_sep {
        return WEAK_PREFIX;
    }
    let bits = BY_FORM[of as usize][root as usize];
    if bits == WEAK_MIXED && of != Norm::Raw {
        // A resolved or plain path that begins like this has no way up left in it; a root that is a
        // link makes the test fail, not pass.
        return WEAK_MIXED | IN_LEXICAL;
    }
    if bits == WEAK_RAW && clean {
        return IN_LEXICAL;
    }
    bits
}
