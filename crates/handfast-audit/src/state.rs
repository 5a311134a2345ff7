//! What is known at one point of a function: names, fields, facts, held locks.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::facts::{Facts, bit};
use crate::ir::{Span, Sym};
use crate::known::{KeptValues, KnownValues};
use crate::term::{Terms, Vid};

/// A lock or another shared resource that is held.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct HeldLock {
    pub(crate) at: Span,
    /// The value by which it is released.
    pub(crate) value: Vid,
    /// It is surely released however the scope is left.
    pub(crate) scoped: bool,
}

/// Names and their values; copies are cheap until one is changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Env(Arc<BTreeMap<Sym, Vid>>);

impl From<BTreeMap<Sym, Vid>> for Env {
    fn from(names: BTreeMap<Sym, Vid>) -> Self {
        Self(Arc::new(names))
    }
}

impl std::ops::Deref for Env {
    type Target = BTreeMap<Sym, Vid>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl std::ops::DerefMut for Env {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

/// Which ways out of a call are left.
pub(crate) type Ways = BTreeMap<u32, Vec<usize>>;

/// Fields of objects.
pub(crate) type Heap = Arc<BTreeMap<Vid, Arc<BTreeMap<Sym, Vid>>>>;

/// The state.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) env: Env,
    pub(crate) heap: Heap,
    /// Shared with the states this one came from, map and facts alike, until one is changed.
    pub(crate) facts: Arc<KnownValues>,
    /// Which ways out of a known call are still possible.
    pub(crate) ways: Arc<Ways>,
    pub(crate) held: Vec<HeldLock>,
    /// Counts what ends the life of perishable facts.
    pub(crate) epoch: u32,
    /// The filesystem question that just failed on this way.
    pub(crate) failing: Option<Vid>,
    /// The failure was recognised as "not there".
    pub(crate) missing: bool,
    pub(crate) dead: bool,
}

impl State {
    pub(crate) fn own(&self, vid: Vid) -> Option<&Facts> {
        self.facts.get(vid).map(|facts| &**facts)
    }

    pub(crate) fn edit(&mut self, vid: Vid) -> &mut Facts {
        Arc::make_mut(&mut self.facts).edit(vid)
    }

    pub(crate) fn add(&mut self, vid: Vid, bits: u64, at: Span) {
        self.edit(vid).add(bits, at);
    }

    /// A suspension, a lock, an unknown call: what was seen of the filesystem is old.
    pub(crate) fn age(&mut self) {
        self.epoch += 1;
        self.facts.forget(bit::PERISHABLE);
    }

    /// Forgets all that was learned from the filesystem: it never outlives a constructor.
    pub(crate) fn forget_filesystem(&mut self) {
        self.epoch += 1;
        self.facts.forget(bit::FILESYSTEM);
    }

    pub(crate) fn get_field(&self, base: Vid, name: &str) -> Option<Vid> {
        self.heap.get(&base)?.get(name).copied()
    }

    /// All fields of an object.
    pub(crate) fn fields(&self, base: Vid) -> impl Iterator<Item = (&Sym, &Vid)> {
        self.heap.get(&base).into_iter().flat_map(|of| of.iter())
    }

    pub(crate) fn set_field(&mut self, base: Vid, name: Sym, value: Vid) {
        let fields = Arc::make_mut(&mut self.heap).entry(base).or_default();
        Arc::make_mut(fields).insert(name, value);
    }

    /// Two ways meet. Values younger than `mark` exist on one way only and keep their facts.
    pub(crate) fn join(&mut self, other: Self, terms: &mut Terms, mark: Vid) {
        if other.dead {
            return;
        }
        if self.dead {
            *self = other;
            return;
        }
        let mut kept = KeptValues {
            facts: [&self.facts, &other.facts],
            made: Vec::new(),
        };
        join_names(&mut self.env.0, &other.env.0, terms, &mut kept);
        if !Arc::ptr_eq(&self.heap, &other.heap) {
            for (base, two) in other.heap.iter() {
                match self.heap.get(base) {
                    Some(one) if Arc::ptr_eq(one, two) => {}
                    _ => {
                        let heap = Arc::make_mut(&mut self.heap);
                        match heap.get_mut(base) {
                            Some(one) => join_names(one, two, terms, &mut kept),
                            None => {
                                heap.insert(*base, Arc::clone(two));
                            }
                        }
                    }
                }
            }
        }
        let made = kept.made;
        if !Arc::ptr_eq(&self.facts, &other.facts) {
            self.facts = Arc::new(self.facts.meet(&other.facts, mark));
        }
        if !made.is_empty() {
            let facts = Arc::make_mut(&mut self.facts);
            for (vid, known) in made {
                facts.insert(vid, known);
            }
        }
        if !Arc::ptr_eq(&self.ways, &other.ways) {
            self.ways = Arc::new(join_ways(&self.ways, &other.ways, mark));
        }
        // Held on either way is held: a leak is a leak.
        for held in other.held {
            if !self.held.contains(&held) {
                self.held.push(held);
            }
        }
        self.epoch = self.epoch.max(other.epoch);
        if self.failing != other.failing {
            self.failing = None;
        }
        self.missing = self.missing && other.missing;
    }
}

/// Names with their values on both of two ways. Both maps are walked side by side.
fn join_names(
    ours: &mut Arc<BTreeMap<Sym, Vid>>,
    theirs: &Arc<BTreeMap<Sym, Vid>>,
    terms: &mut Terms,
    kept: &mut KeptValues<'_>,
) {
    if Arc::ptr_eq(ours, theirs) {
        return;
    }
    let mut changed: Vec<(Sym, Vid)> = Vec::new();
    let mut ones = ours.iter().peekable();
    for (name, two) in theirs.iter() {
        let mut found = None;
        while let Some((known, one)) = ones.peek() {
            let order = if Arc::ptr_eq(known, name) {
                Ordering::Equal
            } else {
                known.as_ref().cmp(name.as_ref())
            };
            if order == Ordering::Greater {
                break;
            }
            let one = **one;
            ones.next();
            if order == Ordering::Equal {
                found = Some(one);
                break;
            }
        }
        match found {
            Some(one) if one == *two => {}
            Some(one) => {
                let one = kept.value(one, 0, terms);
                let two = kept.value(*two, 1, terms);
                changed.push((name.clone(), terms.phi(one, two)));
            }
            None => changed.push((name.clone(), *two)),
        }
    }
    if !changed.is_empty() {
        Arc::make_mut(ours).extend(changed);
    }
}

fn join_ways(ours: &Ways, theirs: &Ways, mark: Vid) -> Ways {
    let mut ways = Ways::new();
    for (call, one) in ours {
        if let Some(two) = theirs.get(call) {
            let mut all = one.clone();
            all.extend(two.iter().copied());
            all.sort_unstable();
            all.dedup();
            ways.insert(*call, all);
        } else if *call >= mark {
            ways.insert(*call, one.clone());
        }
    }
    ways
}
