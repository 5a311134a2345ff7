//! What is known at one point of a function: names, fields, facts, held locks.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::facts::{Facts, bit};
use crate::ir::{Span, Sym};
use crate::term::{Terms, Vid};

/// A lock or another shared resource that is held.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Held {
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

/// The state.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) env: Env,
    pub(crate) heap: Arc<BTreeMap<(Vid, Sym), Vid>>,
    pub(crate) facts: Arc<BTreeMap<Vid, Facts>>,
    /// Which ways out of a known call are still possible.
    pub(crate) ways: BTreeMap<u32, Vec<usize>>,
    pub(crate) held: Vec<Held>,
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
        self.facts.get(&vid)
    }

    pub(crate) fn edit(&mut self, vid: Vid) -> &mut Facts {
        Arc::make_mut(&mut self.facts).entry(vid).or_default()
    }

    pub(crate) fn add(&mut self, vid: Vid, bits: u64, at: Span) {
        self.edit(vid).add(bits, at);
    }

    /// A suspension, a lock, an unknown call: what was seen of the filesystem is old.
    pub(crate) fn age(&mut self) {
        self.epoch += 1;
        if self.facts.values().any(|facts| facts.any(bit::PERISHABLE)) {
            for facts in Arc::make_mut(&mut self.facts).values_mut() {
                facts.bits &= !bit::PERISHABLE;
                facts.anchors.retain(|(key, _)| key & bit::PERISHABLE == 0);
            }
        }
    }

    /// Forgets all that was learned from the filesystem: it never outlives a constructor.
    pub(crate) fn forget_filesystem(&mut self) {
        self.epoch += 1;
        for facts in Arc::make_mut(&mut self.facts).values_mut() {
            facts.bits &= !bit::FILESYSTEM;
            facts.anchors.retain(|(key, _)| key & bit::FILESYSTEM == 0);
        }
    }

    pub(crate) fn get_field(&self, base: Vid, name: &str) -> Option<Vid> {
        self.heap.get(&(base, Sym::from(name))).copied()
    }

    pub(crate) fn set_field(&mut self, base: Vid, name: Sym, value: Vid) {
        Arc::make_mut(&mut self.heap).insert((base, name), value);
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
        if !Arc::ptr_eq(&self.env.0, &other.env.0) {
            let env = Arc::make_mut(&mut self.env.0);
            for (name, two) in other.env.iter() {
                let value = match env.get(name) {
                    Some(one) if one == two => continue,
                    Some(one) => terms.phi(*one, *two),
                    None => *two,
                };
                env.insert(name.clone(), value);
            }
        }
        if !Arc::ptr_eq(&self.heap, &other.heap) {
            let mut heap = (*self.heap).clone();
            for (key, two) in other.heap.iter() {
                let value = match heap.get(key) {
                    Some(one) => terms.phi(*one, *two),
                    None => *two,
                };
                heap.insert(key.clone(), value);
            }
            self.heap = Arc::new(heap);
        }
        if !Arc::ptr_eq(&self.facts, &other.facts) {
            let mut facts = BTreeMap::new();
            for (vid, one) in self.facts.iter() {
                match other.facts.get(vid) {
                    Some(two) => {
                        facts.insert(*vid, one.both(two));
                    }
                    None if *vid >= mark => {
                        facts.insert(*vid, one.clone());
                    }
                    None => {}
                }
            }
            for (vid, two) in other.facts.iter() {
                if *vid >= mark && !self.facts.contains_key(vid) {
                    facts.insert(*vid, two.clone());
                }
            }
            self.facts = Arc::new(facts);
        }
        let mut ways = BTreeMap::new();
        for (call, one) in &self.ways {
            if let Some(two) = other.ways.get(call) {
                let mut all = one.clone();
                all.extend(two.iter().copied());
                all.sort_unstable();
                all.dedup();
                ways.insert(*call, all);
            } else if *call >= mark {
                ways.insert(*call, one.clone());
            }
        }
        self.ways = ways;
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
