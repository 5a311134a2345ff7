//! What is proven of a value, with the place that proved it.
//!
//! A fact holds only if it holds on every way to the point where it is asked. String facts live as
//! long as the value; filesystem facts come in pairs, one that something was looked at in this run
//! and one that dies with the next suspension, lock or unknown call (`FRESH_…`).

use crate::ir::Span;

/// Single facts.
pub(crate) mod bit {
    pub(crate) const TYPED: u64 = 1;
    pub(crate) const NONEMPTY: u64 = 1 << 1;
    /// The whole string is not `..`.
    pub(crate) const NOT_DOTDOT: u64 = 1 << 2;
    pub(crate) const NOT_DOT: u64 = 1 << 3;
    /// No segment is `.` or `..`.
    pub(crate) const SEGS_CLEAN: u64 = 1 << 4;
    /// `..` occurs nowhere.
    pub(crate) const NO_DOTDOT: u64 = 1 << 5;
    /// One segment by construction; it may still be `..`.
    pub(crate) const SEGMENT: u64 = 1 << 6;
    /// One of a known set, a number, a UUID: the attacker does not choose the text.
    pub(crate) const CHOSEN: u64 = 1 << 7;
    pub(crate) const NFC: u64 = 1 << 8;
    pub(crate) const NOT_ABSOLUTE: u64 = 1 << 9;
    /// Every segment passed an allow-list, a length bound, a test for a leading dash.
    pub(crate) const SEGS_ALLOWED: u64 = 1 << 10;
    pub(crate) const SEGS_BOUNDED: u64 = 1 << 11;
    pub(crate) const SEGS_NO_DASH: u64 = 1 << 12;
    /// The bound counts characters, not bytes.
    pub(crate) const LEN_CHARS: u64 = 1 << 13;
    /// Inside the root: component-wise, both sides canonical.
    pub(crate) const IN_CANONICAL: u64 = 1 << 14;
    /// Inside the root: component-wise, both sides lexically clean.
    pub(crate) const IN_LEXICAL: u64 = 1 << 15;
    /// A prefix without separator.
    pub(crate) const WEAK_PREFIX: u64 = 1 << 16;
    /// A resolved side against an unresolved one.
    pub(crate) const WEAK_MIXED: u64 = 1 << 17;
    /// A prefix test on text that was never normalised.
    pub(crate) const WEAK_RAW: u64 = 1 << 18;
    /// A pattern that is not anchored, or admits what it should not.
    pub(crate) const WEAK_PATTERN: u64 = 1 << 19;
    /// Dangerous parts were removed instead of refused.
    pub(crate) const WEAK_REMOVAL: u64 = 1 << 20;
    /// A list of bad things.
    pub(crate) const BLOCKLIST: u64 = 1 << 21;
    /// `exists`, `access`, `stat`: follows links, and looks at a name.
    pub(crate) const LOOKED: u64 = 1 << 22;
    pub(crate) const LSTAT: u64 = 1 << 23;
    pub(crate) const NOT_LINK: u64 = 1 << 24;
    pub(crate) const IS_DIR: u64 = 1 << 25;
    pub(crate) const IS_REG: u64 = 1 << 26;
    pub(crate) const NLINK_ONE: u64 = 1 << 27;
    /// Every component below the root was looked at without following.
    pub(crate) const WALKED: u64 = 1 << 28;
    pub(crate) const WALK_NOT_LINK: u64 = 1 << 29;
    pub(crate) const WALK_IS_DIR: u64 = 1 << 30;
    pub(crate) const FRESH_LSTAT: u64 = 1 << 31;
    pub(crate) const FRESH_WALK: u64 = 1 << 32;
    /// A function nobody can see, with the name of a check, had it.
    pub(crate) const UNSEEN_CHECK: u64 = 1 << 33;
    /// `..` was tested before the text was split.
    pub(crate) const WEAK_BEFORE_SPLIT: u64 = 1 << 34;
    /// The relative form does not start with `..`.
    pub(crate) const REL_NOT_UP: u64 = 1 << 35;
    /// The existence test came before the link test.
    pub(crate) const WEAK_EXISTS_FIRST: u64 = 1 << 36;
    /// Type conversion that accepts anything.
    pub(crate) const WEAK_COERCED: u64 = 1 << 37;
    /// The trailing newline slips through.
    pub(crate) const WEAK_NEWLINE: u64 = 1 << 38;
    /// `.`/`..` folded away under a leading slash: lexically inside by construction.
    pub(crate) const ROOTED: u64 = 1 << 39;
    /// `../` occurs nowhere; the text may still end with `..`.
    pub(crate) const NO_UP: u64 = 1 << 40;
    /// Inside by a relative form that may be absolute where there are drives.
    pub(crate) const OTHER_DRIVE: u64 = 1 << 42;
    /// The text is in its plain form: `..` can only stand at its beginning.
    pub(crate) const PLAIN_FORM: u64 = 1 << 43;
    /// Resolved and inside at that moment, as a string that is used by name afterwards.
    pub(crate) const RESOLVED_NAME: u64 = 1 << 41;

    /// What dies at suspension points and unknown calls.
    pub(crate) const PERISHABLE: u64 = FRESH_LSTAT | FRESH_WALK;
    /// What was learned from the filesystem.
    pub(crate) const FILESYSTEM: u64 = PERISHABLE
        | LOOKED
        | LSTAT
        | NOT_LINK
        | IS_DIR
        | IS_REG
        | NLINK_ONE
        | WALKED
        | WALK_NOT_LINK
        | WALK_IS_DIR;
    /// What says that something checked the text at all.
    pub(crate) const CONTAINMENT: u64 = IN_CANONICAL | IN_LEXICAL;
}

/// Characters that stand for their kind, one bit each.
pub(crate) const PROBES: [char; 19] = [
    '/', '\\', '.', '-', '+', '\0', '\n', '\t', ' ', 'a', 'Z', '7', '_', '\u{1}', '|', 'é', '~',
    ':', '%',
];

pub(crate) const ANY: u32 = (1 << PROBES.len()) - 1;

/// The bits of some characters.
pub(crate) const fn chars(text: &str) -> u32 {
    let bytes = text.as_bytes();
    let mut mask = 0;
    let mut at = 0;
    while at < bytes.len() {
        let mut probe = 0;
        while probe < PROBES.len() {
            if PROBES[probe] as u32 == bytes[at] as u32 {
                mask |= 1 << probe;
            }
            probe += 1;
        }
        at += 1;
    }
    mask
}

/// The probes for which something holds.
pub(crate) fn mask(test: impl Fn(char) -> bool) -> u32 {
    let mut mask = 0;
    for (index, probe) in PROBES.iter().enumerate() {
        if test(*probe) {
            mask |= 1 << index;
        }
    }
    mask
}

/// The probes that stand for the characters of a text: those that are probes, and for the others
/// the one of their kind.
pub(crate) fn stands_for(text: &str) -> u32 {
    let mut all = mask(|c| text.contains(c));
    for c in text.chars().filter(|c| !PROBES.contains(c)) {
        all |= match c {
            c if c.is_ascii_lowercase() => chars("a"),
            c if c.is_ascii_uppercase() => chars("Z"),
            c if c.is_ascii_digit() => chars("7"),
            c if c.is_ascii_control() => chars("\u{1}"),
            c if c.is_ascii() => chars("~"),
            _ => 1 << 15,
        };
    }
    all
}

/// Letters, digits and the like are harmless; these never belong into an allow-list.
pub(crate) const FOREIGN: u32 = chars("\0\n\t\u{1}|") | (1 << 15);

/// What is proven of one value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Facts {
    pub(crate) bits: u64,
    /// Which characters may occur.
    pub(crate) chars: u32,
    /// Which characters may come first.
    pub(crate) first: u32,
    /// An upper bound of the length, `u32::MAX` for none.
    pub(crate) max_len: u32,
    /// Where each fact was established; the key is a bit, or one of the two below.
    pub(crate) anchors: Vec<(u64, Span)>,
}

/// Anchor keys for what is not a bit.
pub(crate) const AT_CHARS: u64 = 1 << 60;
pub(crate) const AT_FIRST: u64 = 1 << 61;
pub(crate) const AT_LEN: u64 = 1 << 62;

impl Default for Facts {
    fn default() -> Self {
        Self {
            bits: 0,
            chars: ANY,
            first: ANY,
            max_len: u32::MAX,
            anchors: Vec::new(),
        }
    }
}

impl Facts {
    pub(crate) fn has(&self, bits: u64) -> bool {
        self.bits & bits == bits
    }

    pub(crate) fn any(&self, bits: u64) -> bool {
        self.bits & bits != 0
    }

    pub(crate) fn add(&mut self, bits: u64, at: Span) {
        let new = bits & !self.bits;
        self.bits |= bits;
        for index in 0..64 {
            let one = 1_u64 << index;
            if new & one != 0 {
                self.anchor(one, at);
            } else if bits & one & bit::FILESYSTEM != 0 {
                // The last look counts.
                self.anchors.retain(|(key, _)| *key != one);
                self.anchor(one, at);
            }
        }
    }

    fn anchor(&mut self, key: u64, at: Span) {
        if !self.anchors.iter().any(|(known, _)| *known == key) {
            self.anchors.push((key, at));
        }
    }

    pub(crate) fn narrow_chars(&mut self, allowed: u32, at: Span) {
        if self.chars & allowed != self.chars {
            self.chars &= allowed;
            self.anchors.retain(|(key, _)| *key != AT_CHARS);
            self.anchor(AT_CHARS, at);
        }
        if self.first & allowed != self.first {
            self.first &= allowed;
            self.anchor(AT_FIRST, at);
        }
    }

    pub(crate) fn narrow_first(&mut self, allowed: u32, at: Span) {
        if self.first & allowed != self.first {
            self.first &= allowed;
            self.anchor(AT_FIRST, at);
        }
    }

    pub(crate) fn bound(&mut self, max_len: u32, at: Span) {
        if max_len < self.max_len {
            self.max_len = max_len;
            self.anchors.retain(|(key, _)| *key != AT_LEN);
            self.anchor(AT_LEN, at);
        }
    }

    pub(crate) fn at(&self, key: u64) -> Option<Span> {
        self.anchors
            .iter()
            .find(|(known, _)| known & key != 0)
            .map(|(_, at)| *at)
    }

    /// What holds on both of two ways.
    pub(crate) fn both(&self, other: &Self) -> Self {
        let mut bits = self.bits & other.bits;
        let mut anchors = self.anchors.clone();
        anchors.retain(|(key, _)| *key >= AT_CHARS || bits & key != 0);
        // Inside on both ways, resolved on one of them.
        if self.any(bit::CONTAINMENT) && other.any(bit::CONTAINMENT) && bits & bit::CONTAINMENT == 0
        {
            bits |= bit::IN_LEXICAL;
            let at = self.at(bit::CONTAINMENT).or(other.at(bit::CONTAINMENT));
            anchors.extend(at.map(|at| (bit::IN_LEXICAL, at)));
        }
        // A way on which nobody chooses the text is as good as any other.
        for (one, two) in [(self, other), (other, self)] {
            let settled = bit::CONTAINMENT | bit::ROOTED | bit::SEGS_CLEAN | bit::NO_DOTDOT;
            if one.any(bit::CHOSEN) && two.any(settled) {
                bits |= two.bits & settled;
                for (key, at) in &two.anchors {
                    if key & settled != 0 && !anchors.iter().any(|(known, _)| known == key) {
                        anchors.push((*key, *at));
                    }
                }
            }
        }
        for (key, at) in &other.anchors {
            if *key >= AT_CHARS && !anchors.iter().any(|(known, _)| known == key) {
                anchors.push((*key, *at));
            }
        }
        Self {
            bits,
            chars: self.chars | other.chars,
            first: self.first | other.first,
            max_len: self.max_len.max(other.max_len),
            anchors,
        }
    }

    /// What holds if both are known of the same value.
    pub(crate) fn and(&mut self, other: &Self) {
        self.bits |= other.bits;
        self.chars &= other.chars;
        self.first &= other.first;
        self.max_len = self.max_len.min(other.max_len);
        for (key, at) in &other.anchors {
            self.anchor(*key, *at);
        }
    }

    /// A positive list: nothing foreign, nothing that separates.
    pub(crate) fn is_allow_listed(&self) -> bool {
        self.has(bit::CHOSEN) || self.chars & (FOREIGN | chars("/\\")) == 0
    }

    /// Holds no separator.
    pub(crate) fn is_one_segment(&self) -> bool {
        self.any(bit::CHOSEN | bit::SEGMENT) || self.chars & chars("/") == 0
    }

    /// No segment can be `.` or `..`, or at least not `..`.
    pub(crate) fn has_no_dots(&self) -> bool {
        if self.any(bit::CHOSEN | bit::SEGS_CLEAN | bit::NO_DOTDOT | bit::ROOTED) {
            return true;
        }
        if self.chars & chars(".") == 0 {
            return true;
        }
        self.is_one_segment() && (self.has(bit::NOT_DOTDOT) || self.first & chars(".") == 0)
    }

    /// At most 255 bytes.
    pub(crate) fn is_bounded(&self) -> bool {
        if self.any(bit::CHOSEN | bit::SEGS_BOUNDED) {
            return true;
        }
        let ascii = self.chars & (1 << 15) == 0;
        self.max_len <= 255 && (ascii || !self.has(bit::LEN_CHARS) || self.max_len <= 63)
    }

    /// No leading dash or plus, no control characters.
    pub(crate) fn is_safe_argument(&self) -> bool {
        if self.has(bit::CHOSEN) {
            return true;
        }
        let first = self.has(bit::SEGS_NO_DASH) || self.first & chars("-+") == 0;
        let clean = self.has(bit::SEGS_ALLOWED) || self.chars & chars("\0\n\t") == 0;
        first && clean
    }

    /// The text was checked in some way that counts.
    pub(crate) fn is_validated(&self) -> bool {
        self.any(
            bit::CHOSEN
                | bit::SEGS_CLEAN
                | bit::SEGS_ALLOWED
                | bit::CONTAINMENT
                | bit::NO_DOTDOT
                | bit::NOT_DOTDOT,
        ) || self.is_allow_listed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allow_list_is_positive() {
        let mut facts = Facts::default();
        facts.narrow_chars(!chars("/\\\0\n\t"), Span::default());
        assert!(!facts.is_allow_listed(), "a list of bad characters is none");
        facts.narrow_chars(
            mask(|c| c.is_ascii_alphanumeric() || c == '.'),
            Span::default(),
        );
        assert!(facts.is_allow_listed());
        assert!(!facts.has_no_dots(), "dots are allowed");
        facts.narrow_first(!chars("."), Span::default());
        assert!(facts.has_no_dots());
    }

    #[test]
    fn what_holds_on_one_way_only_does_not_hold() {
        let mut one = Facts::default();
        one.add(bit::NONEMPTY | bit::TYPED, Span::default());
        let mut two = Facts::default();
        two.add(bit::TYPED, Span::default());
        assert_eq!(one.both(&two).bits, bit::TYPED);
    }

    #[test]
    fn characters_are_no_bytes_unless_they_are_ascii() {
        let mut facts = Facts::default();
        facts.add(bit::LEN_CHARS, Span::default());
        facts.bound(128, Span::default());
        assert!(!facts.is_bounded());
        facts.narrow_chars(mask(|c| c.is_ascii()), Span::default());
        assert!(facts.is_bounded());
    }
}
