//! What a condition proves on the way where it holds.

use std::sync::Arc;

use crate::facts::{FOREIGN, PROBES, bit, chars};
use crate::interp::query::Norm;
use crate::interp::{Event, Interp, RootCheck};
use crate::ir::{Op, Span};
use crate::lang::Lang;
use crate::regex::{Dialect, accepted};
use crate::state::State;
use crate::term::{CollKind, MatchMode, ObjectKind, PartKind, Pred, Term, Vid};

impl Interp<'_> {
    /// Adds to `state` what follows from `vid` being true (or false).
    pub(super) fn assume(&mut self, vid: Vid, truth: bool, state: &mut State, at: Span) {
        if state.dead {
            return;
        }
        match self.terms.get(vid).clone() {
            Term::Bool(value) => {
                if value != truth {
                    state.dead = true;
                }
            }
            Term::Null => {
                if truth {
                    state.dead = true;
                }
            }
            Term::Pred(pred) => self.assume_pred(&pred, truth, state, at),
            Term::Outcome(call) => {
                self.filter_ways(call, state, |interp, value| interp.can_be(value, truth));
                if let Some([only]) = state.ways.get(&call).map(Vec::as_slice) {
                    let value = self.ways[call as usize][*only].value;
                    self.assume(value, truth, state, at);
                }
            }
            Term::Phi(parts) => {
                // Only those parts that can have this truth.
                let left: Vec<Vid> = parts
                    .iter()
                    .copied()
                    .filter(|part| self.can_be(*part, truth))
                    .collect();
                if let [only] = left.as_slice() {
                    self.assume(*only, truth, state, at);
                }
            }
            // Truth of a value: it is there, it is not empty.
            Term::Call {
                ref name, ref args, ..
            } if &**name == "strstr" || &**name == "strchr" => {
                if let [text, needle] = args.as_slice() {
                    let pred = Pred::Contains(*text, *needle);
                    self.assume_pred(&pred, truth, state, at);
                }
            }
            Term::Call {
                ref name, ref args, ..
            } if &**name == "strcmp" => {
                if let [a, b, ..] = args.as_slice() {
                    let pred = Pred::Compare(Op::Eq, *a, *b);
                    self.assume_pred(&pred, !truth, state, at);
                }
            }
            Term::Stat { .. } => self.stat_status(vid, !truth, state, at),
            Term::Elem(coll) => {
                if let Term::Coll {
                    kind: CollKind::Chars,
                    ..
                } = self.terms.get(coll)
                {
                    // C: the character is not the terminator.
                    let _ = coll;
                }
            }
            Term::Index(base, _) if self.lang().family() == "c" => {
                self.first_char(base, vid, truth, state, at)
            }
            _ => {
                if truth {
                    let real = self.deref(vid, state);
                    state.add(real, bit::NONEMPTY, at);
                }
            }
        }
    }

    /// Keeps only the ways out of a call for which a test says so.
    fn filter_ways(&mut self, call: u32, state: &mut State, keep: impl Fn(&Self, Vid) -> bool) {
        let all = self.ways[call as usize].clone();
        let before: Vec<usize> = state
            .ways
            .get(&call)
            .cloned()
            .unwrap_or_else(|| (0..all.len()).collect());
        let left: Vec<usize> = before
            .iter()
            .copied()
            .filter(|index| keep(self, all[*index].value))
            .collect();
        if left.is_empty() {
            state.dead = true;
            return;
        }
        // What held on all of the ways that are left.
        let mut common = (*all[left[0]].facts).clone();
        for index in &left[1..] {
            let other = &all[*index].facts;
            common.retain(|vid, facts| match other.get(vid) {
                Some(two) => {
                    if !Arc::ptr_eq(facts, two) {
                        *facts = Arc::new(facts.both(two));
                    }
                    true
                }
                None => false,
            });
        }
        let stale = all[left[0]].epoch != state.epoch;
        for (vid, mut facts) in common {
            // Known before the call already, and nothing more.
            if state
                .facts
                .get(&vid)
                .is_some_and(|known| Arc::ptr_eq(known, &facts))
            {
                continue;
            }
            if stale {
                let facts = Arc::make_mut(&mut facts);
                facts.bits &= !bit::PERISHABLE;
                facts.anchors.retain(|(key, _)| key & bit::PERISHABLE == 0);
            }
            state.edit(vid).and(&facts);
        }
        Arc::make_mut(&mut state.ways).insert(call, left);
    }

    /// As above, with a test over terms only.
    pub(super) fn keep_ways(
        &mut self,
        call: u32,
        state: &mut State,
        keep: impl Fn(&crate::term::Terms, Vid) -> bool,
    ) {
        self.filter_ways(call, state, |interp, value| keep(&interp.terms, value));
    }

    /// Whether a value can be true or false.
    fn can_be(&self, vid: Vid, truth: bool) -> bool {
        match self.terms.get(vid) {
            Term::Bool(value) => *value == truth,
            Term::Null => !truth,
            Term::Num(n) => (*n != 0) == truth,
            Term::Variant(name, _) => matches!(&**name, "Ok" | "Some") == truth || truth,
            Term::Join { .. } | Term::Norm { .. } | Term::Fd(_) | Term::Object { .. } => truth,
            Term::Global { of, .. } => self.can_be(*of, truth),
            // Errors that are made, or defined elsewhere, are there.
            Term::Config { .. } => truth,
            Term::Call { name, .. } if matches!(&**name, "errors.New" | "fmt.Errorf") => truth,
            _ => true,
        }
    }

    fn assume_pred(&mut self, pred: &Pred, truth: bool, state: &mut State, at: Span) {
        match *pred {
            Pred::Not(inner) => self.assume(inner, !truth, state, at),
            Pred::And(a, b) | Pred::Or(a, b) => {
                let is_and = matches!(pred, Pred::And(..));
                if is_and == truth {
                    self.assume(a, truth, state, at);
                    self.assume(b, truth, state, at);
                } else {
                    let mark = self.terms.len();
                    let mut other = state.clone();
                    self.assume(a, truth, state, at);
                    self.assume(a, !truth, &mut other, at);
                    self.assume(b, truth, &mut other, at);
                    state.join(other, &mut self.terms, mark);
                }
            }
            Pred::Match {
                subject,
                regex,
                mode,
            } => self.assume_match(subject, regex, mode, truth, state, at),
            Pred::Prefix(subject, prefix) => self.assume_prefix(subject, prefix, truth, state, at),
            Pred::Suffix(..) | Pred::Unknown(_) => {}
            Pred::Contains(text, needle) => self.assume_contains(text, needle, truth, state, at),
            Pred::Compare(op, a, b) => self.assume_compare(op, a, b, truth, state, at),
            Pred::Member(a, coll) => self.assume_member(a, coll, truth, state, at),
            Pred::IsString(subject) => {
                if truth {
                    let subject = self.deref(subject, state);
                    state.add(subject, bit::TYPED, at);
                }
            }
            Pred::IsAbsolute(subject) => {
                let subject = self.deref(subject, state);
                if !truth {
                    state.add(subject, bit::NOT_ABSOLUTE, at);
                    self.settle_relative(subject, state, at);
                }
            }
            Pred::IsLocal(subject) => {
                if truth {
                    let subject = self.deref(subject, state);
                    state.add(
                        subject,
                        bit::SEGS_CLEAN | bit::NOT_ABSOLUTE | bit::NONEMPTY,
                        at,
                    );
                }
            }
            Pred::Within(subject, root) => {
                if truth {
                    self.contained(subject, root, true, state, at);
                }
            }
            Pred::StatIs(stat, kind) => {
                if let Term::Stat { of, follow, fd, .. } = *self.terms.get(stat) {
                    self.object_is(of, kind, truth, follow, fd, state, at);
                }
            }
            Pred::PathIs(path, kind) => {
                let follow = kind != ObjectKind::Link;
                self.object_is(path, kind, truth, follow, false, state, at);
            }
            Pred::Class(subject, mask) => {
                let subject = self.deref(subject, state);
                if truth {
                    state.edit(subject).narrow_chars(mask, at);
                    state.add(subject, bit::NONEMPTY, at);
                } else if matches!(self.terms.get(subject), Term::Elem(_)) {
                    state.edit(subject).narrow_chars(!mask, at);
                }
                if state.own(subject).is_some_and(|facts| facts.chars == 0) {
                    state.dead = true;
                }
            }
            Pred::Quant { any, cond, coll } => {
                // `any` is false, or `all` is true: it holds of every element.
                if any != truth {
                    let elem = self.terms.make(Term::Elem(coll));
                    let mut inner = state.clone();
                    Arc::make_mut(&mut inner.facts).remove(&elem);
                    self.assume(cond, !any, &mut inner, at);
                    if let (Some(facts), Term::Coll { kind, of, .. }) =
                        (inner.own(elem).cloned(), self.terms.get(coll).clone())
                    {
                        self.lift_facts(kind, of, &facts, at, state);
                    }
                    // A list of bad things, none of which occurs.
                    self.none_of(cond, coll, any, state, at);
                }
            }
            Pred::Variant(subject, ref name) => {
                self.assume_variant(subject, name, truth, state, at)
            }
            Pred::IsMissing(error) => {
                if let (true, None, Term::Proj(stat, 1)) =
                    (truth, state.failing, self.terms.get(error).clone())
                {
                    self.stat_status(stat, true, state, at);
                }
                if state.failing.is_some() {
                    state.missing = truth;
                }
            }
        }
    }

    /// `any(bad in name for bad in ("..", "/"))`.
    fn none_of(&mut self, cond: Vid, coll: Vid, any: bool, state: &mut State, at: Span) {
        if !any {
            return;
        }
        let items = match self.terms.get(coll) {
            Term::List(items) => items.clone(),
            Term::Coll { of, .. } => match self.terms.get(*of) {
                Term::List(items) => items.clone(),
                _ => return,
            },
            _ => return,
        };
        let elem = self.terms.make(Term::Elem(coll));
        let text = match self.terms.get(cond) {
            Term::Pred(Pred::Member(needle, text)) if *needle == elem => *text,
            Term::Pred(Pred::Contains(text, needle)) if *needle == elem => *text,
            _ => return,
        };
        for item in items {
            self.assume_contains(text, item, false, state, at);
        }
    }

    fn assume_match(
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
            // Something bad was searched for and not found.
            state.add(subject, bit::BLOCKLIST, at);
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
        let facts = state.edit(subject);
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

    fn assume_prefix(
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
            && !(text.starts_with('/') && text.len() > 1)
        {
            if truth {
                return;
            }
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
                ".." | "../" => {
                    facts.add(bit::REL_NOT_UP, at);
                    facts.add(bit::WEAK_BEFORE_SPLIT, at);
                    if text == ".." {
                        facts.add(bit::NOT_DOTDOT, at);
                    }
                    self.settle_relative(subject, state, at);
                }
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
    fn prefix_root(&self, prefix: Vid) -> (Vid, bool) {
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
                [base, empty] if self.terms.string(*empty) == Some("") => (*base, true),
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

    /// A containment test succeeded: how much is it worth?
    pub(super) fn contained(
        &mut self,
        subject: Vid,
        root: Vid,
        has_sep: bool,
        state: &mut State,
        at: Span,
    ) {
        let subject = self.deref(subject, state);
        let root = self.deref(root, state);
        let (of, target) = (self.norm_of(subject), self.norm_of(root));
        let clean = self.facts_of(subject, state).has(bit::NO_DOTDOT);
        let bits = proves(of, target, has_sep, clean);
        self.add_down(subject, bits, state, at);
    }

    /// Facts of a normal form hold of what was normalised.
    fn add_down(&mut self, vid: Vid, bits: u64, state: &mut State, at: Span) {
        let mut vid = vid;
        for _ in 0..6 {
            state.add(vid, bits, at);
            match self.terms.get(vid) {
                Term::Norm { of, .. } => vid = *of,
                Term::Part {
                    kind: PartKind::Text,
                    of,
                    ..
                } => vid = *of,
                _ => return,
            }
        }
    }

    /// `relative(root, p)` that does not lead up says that `p` is inside.
    fn settle_relative(&mut self, subject: Vid, state: &mut State, at: Span) {
        let Term::Relative { root, of, .. } = *self.terms.get(subject) else {
            return;
        };
        let facts = self.facts_of(subject, state);
        let needs_absolute = self.lang().family() == "javascript";
        let up = facts.has(bit::REL_NOT_UP);
        if up && (!needs_absolute || facts.has(bit::NOT_ABSOLUTE)) {
            self.contained(of, root, true, state, at);
        } else if up {
            // Without isAbsolute another drive slips by.
            self.add_down(of, bit::WEAK_PREFIX, state, at);
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
        let Some(needle) = self.terms.string(needle).map(str::to_owned) else {
            return;
        };
        if truth {
            return;
        }
        // A collection of segments that holds no `..`.
        if let Term::Coll { kind, of, .. } = *self.terms.get(text) {
            if needle == ".." && kind != CollKind::Chars {
                state.add(of, bit::SEGS_CLEAN, at);
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
            // `a/..` passes.
            facts.add(bit::WEAK_BEFORE_SPLIT, at);
        }
    }

    fn assume_member(&mut self, a: Vid, coll: Vid, truth: bool, state: &mut State, at: Span) {
        let a = self.deref(a, state);
        let coll = self.deref(coll, state);
        let real = match self.terms.get(coll) {
            Term::Global { of, .. } => *of,
            _ => coll,
        };
        match self.terms.get(real).clone() {
            Term::List(items) => {
                if truth {
                    let fixed = items.iter().all(|item| self.is_fixed(*item));
                    if fixed {
                        let is_char = items.iter().all(|item| {
                            self.terms
                                .string(*item)
                                .is_some_and(|t| t.chars().count() == 1)
                        });
                        if is_char && matches!(self.terms.get(a), Term::Elem(_)) {
                            let text: String = items
                                .iter()
                                .filter_map(|item| self.terms.string(*item))
                                .collect();
                            state
                                .edit(a)
                                .narrow_chars(crate::facts::stands_for(&text), at);
                        } else {
                            state.add(a, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
                        }
                    }
                } else {
                    for item in items {
                        self.not_equal(a, item, state, at);
                    }
                }
            }
            Term::Dict(_) => {
                if truth {
                    state.add(a, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
                }
            }
            Term::Str(text) => {
                // A character of a string.
                if matches!(self.terms.get(a), Term::Elem(_)) {
                    let listed = if truth {
                        crate::facts::stands_for(&text)
                    } else {
                        !crate::facts::mask(|c| text.contains(c))
                    };
                    state.edit(a).narrow_chars(listed, at);
                    if state.own(a).is_some_and(|facts| facts.chars == 0) {
                        state.dead = true;
                    }
                }
            }
            // `root in target.parents`
            Term::Coll {
                kind: CollKind::Parents,
                of,
                ..
            } => {
                if truth {
                    self.contained(of, a, true, state, at);
                }
            }
            Term::Coll { .. } => self.assume_contains(coll, a, truth, state, at),
            Term::Config { .. }
            | Term::Call { .. }
            | Term::Undefined(_)
            | Term::Field(..)
            | Term::Object { .. } => {
                if truth && !self.is_key_like(a) {
                    // A set that is decided elsewhere.
                    if matches!(
                        self.terms.get(coll),
                        Term::Global { .. } | Term::Config { .. }
                    ) {
                        state.add(a, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
                    }
                } else if !truth {
                    self.assume_contains(coll, a, false, state, at);
                }
            }
            _ => {
                if !truth {
                    self.assume_contains(coll, a, false, state, at);
                } else if let (Term::Global { .. }, false) =
                    (self.terms.get(coll), self.is_key_like(a))
                {
                    state.add(a, bit::CHOSEN | bit::TYPED | bit::NONEMPTY, at);
                }
            }
        }
    }

    fn is_key_like(&self, vid: Vid) -> bool {
        matches!(self.terms.get(vid), Term::Str(_))
    }

    fn is_fixed(&self, vid: Vid) -> bool {
        matches!(
            self.terms.get(vid),
            Term::Str(_)
                | Term::Num(_)
                | Term::Config { .. }
                | Term::Global { .. }
                | Term::Field(..)
        )
    }

    fn not_equal(&mut self, a: Vid, b: Vid, state: &mut State, at: Span) {
        let Some(text) = self.terms.string(b).map(str::to_owned) else {
            return;
        };
        let a = self.deref(a, state);
        let is_elem = matches!(self.terms.get(a), Term::Elem(_) | Term::Index(..));
        match text.as_str() {
            "" => state.add(a, bit::NONEMPTY, at),
            "." => {
                state.add(a, bit::NOT_DOT, at);
                if is_elem && self.is_char(a) {
                    state.edit(a).narrow_chars(!chars("."), at);
                }
                self.first_not(a, ".", state, at);
            }
            ".." => {
                state.add(a, bit::NOT_DOTDOT, at);
                if !self.facts_of(a, state).is_one_segment() {
                    state.add(a, bit::WEAK_BEFORE_SPLIT, at);
                }
            }
            other => {
                if other.chars().count() == 1 {
                    if is_elem && self.is_char(a) {
                        state
                            .edit(a)
                            .narrow_chars(!crate::facts::mask(|c| other.contains(c)), at);
                        if state.own(a).is_some_and(|facts| facts.chars == 0) {
                            state.dead = true;
                        }
                    }
                    self.first_not(a, other, state, at);
                }
            }
        }
    }

    fn is_char(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Elem(coll) => matches!(
                self.terms.get(*coll),
                Term::Coll {
                    kind: CollKind::Chars,
                    ..
                }
            ),
            _ => false,
        }
    }

    /// `name[0] != '-'`.
    fn first_not(&mut self, vid: Vid, text: &str, state: &mut State, at: Span) {
        if let Term::Index(base, index) = *self.terms.get(vid)
            && self.terms.number(index) == Some(0)
        {
            state
                .edit(base)
                .narrow_first(!crate::facts::mask(|c| text.contains(c)), at);
        }
    }

    /// C: `name[0]` is true, `name[strspn(name, OK)]` is false.
    fn first_char(&mut self, base: Vid, whole: Vid, truth: bool, state: &mut State, at: Span) {
        let Term::Index(_, index) = *self.terms.get(whole) else {
            return;
        };
        if self.terms.number(index) == Some(0) {
            if truth {
                state.add(base, bit::NONEMPTY, at);
            }
            return;
        }
        if let Term::Call { name, args, .. } = self.terms.get(index).clone()
            && &*name == "strspn"
            && !truth
            && let Some(allowed) = args
                .get(1)
                .and_then(|arg| self.terms.string(*arg))
                .map(str::to_owned)
        {
            state
                .edit(base)
                .narrow_chars(crate::facts::stands_for(&allowed), at);
        }
    }

    fn assume_variant(
        &mut self,
        subject: Vid,
        name: &str,
        truth: bool,
        state: &mut State,
        at: Span,
    ) {
        match self.terms.get(subject).clone() {
            Term::Outcome(call) => {
                let wanted = name.to_owned();
                self.filter_ways(call, state, |interp, value| match interp.terms.get(value) {
                    Term::Variant(known, _) => (**known == *wanted) == truth,
                    Term::Null => (wanted == "None" || wanted == "Err") == truth,
                    _ => true,
                });
            }
            Term::Variant(known, _) => {
                if (*known == *name) != truth {
                    state.dead = true;
                }
            }
            Term::Stat { .. } => {
                let failed = (name == "Err") == truth;
                if matches!(name, "Ok" | "Err") {
                    self.stat_status(subject, failed, state, at);
                }
            }
            Term::Elem(_) => {
                // Rust: `Component::Normal(_)` is a plain name.
                if (name == "Normal") == truth && name == "Normal" {
                    state.add(
                        subject,
                        bit::NOT_DOTDOT | bit::NOT_DOT | bit::NONEMPTY | bit::NOT_ABSOLUTE,
                        at,
                    );
                } else if !truth && name == "ParentDir" {
                    state.add(subject, bit::NOT_DOTDOT, at);
                } else if !truth && (name == "RootDir" || name == "Prefix") {
                    state.add(subject, bit::NOT_ABSOLUTE, at);
                }
            }
            Term::Part {
                kind: PartKind::Base,
                ..
            } => {
                if truth && name == "Some" {
                    state.add(subject, bit::NOT_DOTDOT | bit::NONEMPTY, at);
                }
            }
            Term::Pred(Pred::Within(of, root)) => {
                if truth == (name == "Ok") {
                    self.contained(of, root, true, state, at);
                }
            }
            _ => {
                if name.contains("NotFound") && state.failing.is_some() {
                    state.missing = truth;
                }
            }
        }
    }

    /// What a look at an object proves.
    #[expect(clippy::too_many_arguments, reason = "one fact, all of its sides")]
    pub(super) fn object_is(
        &mut self,
        of: Vid,
        kind: ObjectKind,
        truth: bool,
        follow: bool,
        fd: bool,
        state: &mut State,
        at: Span,
    ) {
        let of = self.deref(of, state);
        let mut bits = 0;
        match (kind, truth) {
            (ObjectKind::Link, false) if !follow => {
                bits |= bit::LSTAT | bit::NOT_LINK | bit::FRESH_LSTAT
            }
            (ObjectKind::Dir, true) if !follow || fd => {
                bits |= bit::LSTAT | bit::NOT_LINK | bit::IS_DIR | bit::FRESH_LSTAT
            }
            (ObjectKind::Reg, true) if !follow || fd => {
                bits |= bit::LSTAT | bit::NOT_LINK | bit::IS_REG | bit::FRESH_LSTAT
            }
            (ObjectKind::Exists, _) => bits |= bit::LOOKED,
            (_, _) if follow => bits |= bit::LOOKED,
            _ => {}
        }
        if kind == ObjectKind::Exists && !truth {
            let facts = self.facts_of(of, state);
            if !facts.has(bit::NOT_LINK) {
                state.add(of, bit::WEAK_EXISTS_FIRST, at);
            }
        }
        if bits != 0 {
            state.add(of, bits, at);
            if fd {
                self.fd_places.push((of, bits, at));
            }
        }
        if bits & bit::NOT_LINK != 0 && !fd {
            self.walk_step(of, bits, state, at);
            if self.root_like(of) {
                let how = if bits & bit::IS_DIR != 0 {
                    RootCheck::IsDir
                } else {
                    RootCheck::NotLink
                };
                self.events.push(Event::RootSeen { at, value: of, how });
            }
        }
    }

    /// A look inside a loop over components is a step of a walk.
    pub(super) fn walk_step(&mut self, of: Vid, bits: u64, state: &mut State, at: Span) {
        let mut origins = Vec::new();
        self.walk_origins(of, &mut origins, 0);
        for origin in origins {
            let mut walk = bit::WALKED | bit::FRESH_WALK;
            if bits & bit::NOT_LINK != 0 {
                walk |= bit::WALK_NOT_LINK;
            }
            if bits & bit::IS_DIR != 0 {
                walk |= bit::WALK_IS_DIR;
            }
            state.add(origin, walk, at);
        }
        // One name directly below the root: a look at the path is a look at that name.
        let leaves = self.leaves(of, state);
        if let [only] = leaves.as_slice()
            && only.vid != of
            && only.facts.is_one_segment()
        {
            let vid = only.vid;
            state.add(vid, bits & bit::FILESYSTEM | bit::LSTAT, at);
        }
    }

    /// The texts whose segments a path is made of.
    fn walk_origins(&self, vid: Vid, out: &mut Vec<Vid>, depth: usize) {
        if depth > 10 {
            return;
        }
        match self.terms.get(vid) {
            Term::Elem(coll) => {
                if let Term::Coll {
                    kind: CollKind::Split | CollKind::Components | CollKind::Parents,
                    of,
                    ..
                } = self.terms.get(*coll)
                {
                    let mut of = *of;
                    // A path made relative again: the walk is over the path.
                    while let Term::Part {
                        kind: PartKind::Text,
                        of: inner,
                        ..
                    }
                    | Term::Relative { of: inner, .. }
                    | Term::Norm {
                        of: inner,
                        canonical: false,
                        ..
                    } = self.terms.get(of)
                    {
                        out.push(of);
                        of = *inner;
                    }
                    out.push(of);
                }
            }
            Term::Join { parts, .. } | Term::Concat(parts) | Term::Phi(parts) => {
                for part in parts {
                    self.walk_origins(*part, out, depth + 1);
                }
            }
            Term::Norm { of, .. } => self.walk_origins(*of, out, depth + 1),
            Term::Fd(index) => {
                if let Some(open) = self.opens.get(*index as usize) {
                    self.walk_origins(open.path, out, depth + 1);
                }
            }
            _ => {}
        }
    }

    /// Made of nothing external: may be a root.
    fn root_like(&mut self, vid: Vid) -> bool {
        self.leaves(vid, &State::default()).is_empty()
            || matches!(
                self.terms.get(vid),
                Term::Param { .. } | Term::Field(..) | Term::Global { .. }
            )
    }
}

/// What a containment test proves of a path in this form, against a root in that form.
///
/// A table and not a `match`: optimised builds of some compilers (seen with 1.95) took the raw form for the
/// lexical one there. A fixture (`rust/A4/wrong_lexical_starts_with.rs`) shows it in release builds.
fn proves(of: Norm, root: Norm, has_sep: bool, clean: bool) -> u64 {
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
    if bits == WEAK_RAW && clean {
        return IN_LEXICAL;
    }
    bits
}
