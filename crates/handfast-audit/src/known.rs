//! What is known of values, in two layers: one that many states share, and what is new on top.
//!
//! States are copied at every branch and met again soon after. A copy costs what is new, and two
//! states that share their lower layer are met by looking at the upper ones alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::facts::Facts;
use crate::term::{Terms, Vid};

/// Above this the upper layer becomes part of a new lower one.
const MAX_TOP: usize = 48;

type Layer = BTreeMap<Vid, Arc<Facts>>;

/// The lower layer, with what some value of it has.
#[derive(Debug, Default)]
struct Base {
    facts: Layer,
    bits: u64,
}

impl Base {
    fn new(facts: Layer) -> Arc<Self> {
        let bits = facts.values().fold(0, |all, facts| all | bits_of(facts));
        Arc::new(Self { facts, bits })
    }
}

/// Facts of values.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownValues {
    base: Arc<Base>,
    /// New or changed; `None` for what is gone.
    top: BTreeMap<Vid, Option<Arc<Facts>>>,
}

/// All that is said of a value, facts and places alike.
fn bits_of(facts: &Facts) -> u64 {
    let places = facts.anchors.iter().map(|(key, _)| *key);
    places.fold(facts.bits, |all, key| all | key)
}

impl KnownValues {
    pub(crate) fn get(&self, vid: Vid) -> Option<&Arc<Facts>> {
        match self.top.get(&vid) {
            Some(facts) => facts.as_ref(),
            None => self.base.facts.get(&vid),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    pub(crate) fn insert(&mut self, vid: Vid, facts: Arc<Facts>) {
        self.top.insert(vid, Some(facts));
    }

    pub(crate) fn remove(&mut self, vid: Vid) {
        if self.get(vid).is_some() {
            self.top.insert(vid, None);
        }
    }

    /// The facts of a value, to be changed.
    pub(crate) fn edit(&mut self, vid: Vid) -> &mut Facts {
        let base = &self.base.facts;
        let entry = self
            .top
            .entry(vid)
            .or_insert_with(|| base.get(&vid).cloned());
        Arc::make_mut(entry.get_or_insert_default())
    }

    /// All values with their facts, in no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Vid, &Arc<Facts>)> {
        let new = self
            .top
            .iter()
            .filter_map(|(vid, facts)| Some((*vid, facts.as_ref()?)));
        let old = self.base.facts.iter();
        let old = old.filter(|(vid, _)| !self.top.contains_key(vid));
        new.chain(old.map(|(vid, facts)| (*vid, facts)))
    }

    /// Those that may differ from a state with the same lower layer; all of them otherwise.
    pub(crate) fn changed_since<'k>(
        &'k self,
        other: &Self,
    ) -> Box<dyn Iterator<Item = (Vid, &'k Arc<Facts>)> + 'k> {
        if Arc::ptr_eq(&self.base, &other.base) {
            let new = self.top.iter();
            return Box::new(new.filter_map(|(vid, facts)| Some((*vid, facts.as_ref()?))));
        }
        Box::new(self.iter())
    }

    /// Whether some value has one of these.
    fn has_any(&self, bits: u64) -> bool {
        self.base.bits & bits != 0
            || self
                .top
                .values()
                .flatten()
                .any(|facts| bits_of(facts) & bits != 0)
    }

    /// Takes facts away from all values.
    pub(crate) fn forget(self: &mut Arc<Self>, bits: u64) {
        if !self.has_any(bits) {
            return;
        }
        let without = |facts: &mut Arc<Facts>| {
            if bits_of(facts) & bits != 0 {
                let facts = Arc::make_mut(facts);
                facts.bits &= !bits;
                facts.anchors.retain(|(key, _)| key & bits == 0);
            }
        };
        let known = Arc::make_mut(self);
        known.top.values_mut().flatten().for_each(without);
        if known.base.bits & bits != 0 {
            let mut facts = known.base.facts.clone();
            facts.values_mut().for_each(without);
            known.base = Base::new(facts);
        }
    }

    /// What is known of a value on both of two ways; of one younger than `mark` on either.
    pub(crate) fn meet(&self, other: &Self, mark: Vid) -> Self {
        let both = |vid: Vid| match (self.get(vid), other.get(vid)) {
            (Some(a), Some(b)) if Arc::ptr_eq(a, b) => Some(Arc::clone(a)),
            (Some(a), Some(b)) => Some(Arc::new(a.both(b))),
            (Some(only), None) | (None, Some(only)) if vid >= mark => Some(Arc::clone(only)),
            _ => None,
        };
        if Arc::ptr_eq(&self.base, &other.base) {
            let mut top = BTreeMap::new();
            for vid in self.top.keys().chain(other.top.keys()) {
                top.entry(*vid).or_insert_with(|| both(*vid));
            }
            let mut met = Self {
                base: Arc::clone(&self.base),
                top,
            };
            met.settle();
            return met;
        }
        let mut facts = Layer::new();
        let all = self.iter().chain(other.iter()).map(|(vid, _)| vid);
        for vid in all {
            if !facts.contains_key(&vid)
                && let Some(met) = both(vid)
            {
                facts.insert(vid, met);
            }
        }
        Self {
            base: Base::new(facts),
            top: BTreeMap::new(),
        }
    }

    /// Makes one layer of two, where the upper one has grown.
    pub(crate) fn settle(&mut self) {
        if self.top.len() <= MAX_TOP {
            return;
        }
        let mut facts = self.base.facts.clone();
        for (vid, new) in std::mem::take(&mut self.top) {
            match new {
                Some(new) => facts.insert(vid, new),
                None => facts.remove(&vid),
            };
        }
        self.base = Base::new(facts);
    }
}

/// Values that keep what only their own way knows of them, when another way has another value.
pub(crate) struct KeptValues<'f> {
    pub(crate) facts: [&'f KnownValues; 2],
    pub(crate) made: Vec<(Vid, Arc<Facts>)>,
}

/// What a guard leaves behind on the way where a value is used: `if (!ok(p)) p = fallback`.
const GUARDED: u64 = {
    use crate::facts::bit;
    bit::CONTAINMENT
        | bit::CHOSEN
        | bit::SEGS_CLEAN
        | bit::NO_DOTDOT
        | bit::NO_UP
        | bit::WEAK_PREFIX
        | bit::WEAK_MIXED
};

impl KeptValues<'_> {
    /// The value of one way: itself, or itself with what this way knows.
    pub(crate) fn value(&mut self, vid: Vid, way: usize, terms: &mut Terms) -> Vid {
        use crate::term::{PartKind, Term};
        let Some(facts) = self.facts[way].get(vid) else {
            return vid;
        };
        let elsewhere = self.facts[1 - way].get(vid).map_or(0, |facts| facts.bits);
        let is_phi = matches!(terms.get(vid), Term::Phi(_));
        let lost = facts.bits & GUARDED & !(if is_phi { 0 } else { elsewhere });
        let is_text = matches!(
            terms.get(vid),
            Term::Phi(_) | Term::Join { .. } | Term::Concat(_) | Term::Norm { .. }
        );
        if lost == 0 || !is_text {
            return vid;
        }
        // Apart from the same value in another type, of which this way knows nothing.
        let at = crate::ir::Span {
            start: 2,
            ..crate::ir::Span::default()
        };
        let kind = PartKind::Text;
        let made = terms.make(Term::Part { kind, of: vid, at });
        self.made.push((made, Arc::clone(facts)));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::bit;
    use crate::ir::Span;

    fn with(known: &mut KnownValues, vid: Vid, bits: u64) {
        known.edit(vid).add(bits, Span::default());
    }

    #[test]
    fn two_states_meet_as_if_they_had_one_layer() {
        let mut before = KnownValues::default();
        for vid in 0..100 {
            with(&mut before, vid, bit::TYPED | bit::NFC);
        }
        before.settle();
        let (mut one, mut two) = (before.clone(), before.clone());
        with(&mut one, 3, bit::CHOSEN);
        with(&mut two, 3, bit::NONEMPTY);
        one.remove(4);
        with(&mut one, 200, bit::CHOSEN);
        with(&mut two, 300, bit::CHOSEN);
        let met = one.meet(&two, 250);
        let bits = |vid| met.get(vid).map(|facts| facts.bits);
        assert_eq!(bits(3), Some(bit::TYPED | bit::NFC));
        assert_eq!(bits(4), None, "gone on one way");
        assert_eq!(bits(5), Some(bit::TYPED | bit::NFC));
        assert_eq!(bits(200), None, "known on one way only");
        assert_eq!(bits(300), Some(bit::CHOSEN), "younger than the branch");
        // The same with lower layers of their own.
        let mut apart = KnownValues::default();
        for (vid, facts) in one.iter() {
            apart.insert(vid, Arc::clone(facts));
        }
        apart.settle();
        let again = apart.meet(&two, 250);
        for vid in 0..400 {
            let other = again.get(vid).map(|facts| facts.bits);
            assert_eq!(bits(vid), other, "{vid}");
        }
    }

    #[test]
    fn what_is_forgotten_is_gone_from_both_layers() {
        let mut known = KnownValues::default();
        for vid in 0..100 {
            with(&mut known, vid, bit::FRESH_LSTAT | bit::TYPED);
        }
        known.settle();
        with(&mut known, 7, bit::FRESH_WALK);
        let mut known = Arc::new(known);
        known.forget(bit::PERISHABLE);
        for (_, facts) in known.iter() {
            assert_eq!(facts.bits, bit::TYPED);
        }
        assert_eq!(known.iter().count(), 100);
    }
}
