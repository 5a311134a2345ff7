//! How a flow stands: nothing stops it, a guard that does not hold, or containment that does.
//!
//! The grade of everything a report says about a flow follows from this. What a contained flow
//! still lacks is hardening: the checklist lowers it by one level for a compensating control that
//! can be checked, and containment is one.

use crate::anchors::settles;
use crate::facts::{Facts, bit};
use crate::interp::SinkKind;
use crate::ir::Span;
use crate::scope::Flow;

/// How far external text is held back on its way to an operation.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum GuardState {
    /// It cannot leave the root, at least not by its text.
    Contained,
    /// Something looks at it, and lets too much through.
    Weak,
    /// Nothing looks at it.
    Open,
}

/// What a guard on the way is worth.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Worth {
    Sound,
    Weak,
    Beside,
}

impl Worth {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Weak => "weak",
            Self::Beside => "beside the point",
        }
    }
}

/// Facts that come from a guard, what the guard is worth and what is said about it.
const GUARDS: [(u64, Worth, &str); 20] = [
    (
        bit::RESOLVED_NAME,
        Worth::Weak,
        "the path was resolved before, and is used by name: a link may lead elsewhere by then",
    ),
    (
        bit::IN_CANONICAL,
        Worth::Sound,
        "the resolved path is inside the root",
    ),
    (
        bit::IN_LEXICAL,
        Worth::Sound,
        "the path is inside the root by its text",
    ),
    (
        bit::ROOTED,
        Worth::Sound,
        "`..` is folded away below a slash",
    ),
    (
        bit::CHOSEN,
        Worth::Sound,
        "the text is a number, or one of a known set",
    ),
    (
        bit::SEGS_ALLOWED,
        Worth::Sound,
        "every segment passes an allow-list",
    ),
    (bit::SEGS_CLEAN, Worth::Sound, "no segment is `..`"),
    (bit::NO_DOTDOT, Worth::Sound, "`..` occurs nowhere"),
    (bit::NO_UP, Worth::Sound, "`../` occurs nowhere"),
    (bit::NOT_DOTDOT, Worth::Sound, "the text is not `..`"),
    (bit::SEGMENT, Worth::Sound, "only the last name is taken"),
    (
        crate::facts::AT_CHARS,
        Worth::Sound,
        "only some characters are let through",
    ),
    (
        bit::WEAK_PREFIX,
        Worth::Weak,
        "the prefix test has no separator: a sibling with the same beginning passes",
    ),
    (
        bit::WEAK_MIXED,
        Worth::Weak,
        "a resolved form is compared with an unresolved one",
    ),
    (
        bit::WEAK_RAW,
        Worth::Weak,
        "the prefix of a path that was never normalised says nothing",
    ),
    (
        bit::WEAK_PATTERN,
        Worth::Weak,
        "the pattern is not anchored, or lets separators through",
    ),
    (
        bit::WEAK_REMOVAL,
        Worth::Weak,
        "bad parts are removed once instead of refused",
    ),
    (
        bit::WEAK_BEFORE_SPLIT,
        Worth::Weak,
        "only the beginning is tested for `..`",
    ),
    (bit::BLOCKLIST, Worth::Weak, "a list of bad parts"),
    (
        bit::LOOKED | bit::LSTAT,
        Worth::Beside,
        "a look at the file system",
    ),
];

/// Facts that only a guard leaves behind which does not hold.
pub(crate) const WEAK: u64 = bit::WEAK_PREFIX
    | bit::WEAK_MIXED
    | bit::WEAK_RAW
    | bit::WEAK_PATTERN
    | bit::WEAK_REMOVAL
    | bit::WEAK_BEFORE_SPLIT
    | bit::BLOCKLIST
    | bit::RESOLVED_NAME;

/// Ways up are refused; where that is not enough, the text may be absolute.
const PARTIAL: u64 = bit::NO_DOTDOT | bit::SEGS_CLEAN | bit::NO_UP;

impl Flow {
    /// How the flow stands as a whole: as its worst text does.
    pub(crate) fn standing(&self) -> GuardState {
        let anchored = self
            .anchor
            .as_deref()
            .is_some_and(|anchor| settles(anchor, "B3"));
        if anchored || self.leaves.iter().all(|leaf| self.holds(&leaf.facts)) {
            return GuardState::Contained;
        }
        let open = self
            .leaves
            .iter()
            .filter(|leaf| !self.holds(&leaf.facts))
            .any(|leaf| !leaf.facts.any(WEAK | PARTIAL));
        if open || self.climbs {
            GuardState::Open
        } else {
            GuardState::Weak
        }
    }

    /// Text with these facts stays below the root.
    pub(crate) fn holds(&self, facts: &Facts) -> bool {
        if facts.any(bit::CONTAINMENT | bit::CHOSEN) {
            return true;
        }
        if self.climbs {
            return false;
        }
        if facts.has_no_dots() {
            return facts.is_one_segment() || self.keeps_root(facts);
        }
        // What is left over is a directory: no file of another place can be named by it.
        let final_only = facts.has(bit::NO_UP) && self.keeps_root(facts)
            || facts.is_one_segment() && self.ends_with_text && !self.is_repeated;
        final_only && !self.takes_directories()
    }

    /// Works on whole directories, so that `..` alone does harm.
    fn takes_directories(&self) -> bool {
        match self.sink.kind {
            SinkKind::Delete | SinkKind::Create => self.sink.recursive,
            SinkKind::MoveFrom => true,
            SinkKind::Read => {
                let name = self.sink.name.to_ascii_lowercase();
                ["dir", "walk", "glob", "list"]
                    .iter()
                    .any(|word| name.contains(word))
            }
            _ => false,
        }
    }

    /// The guards that the text came past, in the order of the program.
    pub(crate) fn guards(&self) -> Vec<(Span, Worth, &'static str)> {
        let mut out: Vec<(Span, Worth, &'static str)> = Vec::new();
        for leaf in &self.leaves {
            for (key, at) in &leaf.facts.anchors {
                let known = GUARDS.iter().find(|(bits, ..)| bits & key != 0);
                let Some((_, worth, words)) = known else {
                    continue;
                };
                if at.line > 0
                    && !out
                        .iter()
                        .any(|(there, _, known)| there == at && known == words)
                {
                    out.push((*at, *worth, words));
                }
            }
        }
        // Where one test says several things, the one that holds is told.
        out.sort_by_key(|(at, worth, _)| (at.file, at.start, at.line, *worth as u8));
        out.dedup_by(|later, first| later.0 == first.0 && later.2 != GUARDS[0].2);
        out
    }

    /// The guard that does not hold, if there is one.
    pub(crate) fn weak_guard(&self) -> Option<(Span, &'static str)> {
        let guards = self.guards();
        let weak = guards.iter().find(|(_, worth, _)| *worth == Worth::Weak);
        if let Some((at, _, words)) = weak {
            return Some((*at, words));
        }
        let partial = self.leaves.iter().flat_map(|leaf| &leaf.facts.anchors);
        let mut partial = partial.filter(|(key, at)| key & PARTIAL != 0 && at.line > 0);
        partial.next().map(|(_, at)| {
            let words = "`..` is refused, but a name that begins with a slash is not";
            (*at, words)
        })
    }
}
