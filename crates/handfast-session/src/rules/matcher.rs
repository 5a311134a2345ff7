//! All patterns at once: a tree of segments, walked with the components of a path.
//!
//! A set of nodes is active. Each component leads from the active nodes to the next; a node at
//! which a pattern ends says that this component, and all below it, is protected. What is still
//! active after a path tells what patterns could say about entries below it, without looking at
//! any: that is how renames are judged.

use std::collections::{BTreeSet, HashMap};

use super::glob::{Glob, Segment};

type NodeId = u32;

/// Texts of one length each, and where they lead.
type ByLength = Vec<(usize, HashMap<Box<[u8]>, NodeId>)>;

/// The most protective first.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub(crate) enum Protection {
    /// Neither read nor changed.
    Deny,
    /// Read, and not changed.
    ReadOnly,
}

/// A pattern ends here.
#[derive(Clone, Copy, Debug)]
struct End {
    protection: Protection,
    pattern: usize,
    dir_only: bool,
}

#[derive(Debug, Default)]
struct Node {
    ends: Vec<End>,
    literals: HashMap<Box<[u8]>, NodeId>,
    /// By length, so that a name is cut once for each length that occurs.
    prefixes: ByLength,
    suffixes: ByLength,
    /// Globs that begin with a known byte, by that byte; then by the last; then the rest.
    by_first: HashMap<u8, Vec<(Glob, NodeId)>>,
    by_last: HashMap<u8, Vec<(Glob, NodeId)>>,
    globs: Vec<(Glob, NodeId)>,
    /// `**` after this node.
    any_depth: Option<NodeId>,
    /// This node is a `**`: it stays active.
    stays: bool,
}

/// What the patterns say about one path.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct PatternMatch {
    /// The strongest protection, and the pattern it comes from.
    pub(crate) protection: Option<(Protection, usize)>,
    /// What would be said if the last component were a directory.
    pub(crate) if_dir: Option<(Protection, usize)>,
    /// What patterns could still say about entries below.
    pub(crate) below: BTreeSet<NodeId>,
}

/// The tree.
#[derive(Debug)]
pub(crate) struct Matcher {
    nodes: Vec<Node>,
    /// Active before the first component.
    start: Vec<NodeId>,
    /// Active everywhere: patterns that hold at any depth.
    everywhere: BTreeSet<NodeId>,
}

impl Matcher {
    pub(super) fn new<'a>(
        patterns: impl Iterator<Item = (usize, Protection, bool, &'a [Segment])>,
    ) -> Self {
        let mut matcher = Self {
            nodes: vec![Node::default()],
            start: Vec::new(),
            everywhere: BTreeSet::new(),
        };
        for (pattern, protection, dir_only, segments) in patterns {
            let mut at = 0;
            for segment in segments {
                at = matcher.child(at, segment);
            }
            matcher.nodes[at as usize].ends.push(End {
                protection,
                pattern,
                dir_only,
            });
        }
        matcher.start = matcher.closure(0).collect();
        matcher.everywhere = matcher
            .start
            .iter()
            .copied()
            .filter(|id| matcher.nodes[*id as usize].stays)
            .collect();
        matcher
    }

    fn child(&mut self, at: NodeId, segment: &Segment) -> NodeId {
        if let Some(known) = self.known_child(at, segment) {
            return known;
        }
        let new = NodeId::try_from(self.nodes.len()).expect("fewer patterns than that");
        self.nodes.push(Node {
            stays: *segment == Segment::AnyDepth,
            ..Node::default()
        });
        let node = &mut self.nodes[at as usize];
        match segment {
            Segment::AnyDepth => node.any_depth = Some(new),
            Segment::Literal(text) => {
                node.literals.insert(text.as_slice().into(), new);
            }
            Segment::Prefix(text) => insert_by_length(&mut node.prefixes, text, new),
            Segment::Suffix(text) => insert_by_length(&mut node.suffixes, text, new),
            Segment::Glob(glob) => {
                let list = match (glob.first(), glob.last()) {
                    (Some(first), _) => node.by_first.entry(first).or_default(),
                    (None, Some(last)) => node.by_last.entry(last).or_default(),
                    (None, None) => &mut node.globs,
                };
                list.push((glob.clone(), new));
            }
        }
        new
    }

    fn known_child(&self, at: NodeId, segment: &Segment) -> Option<NodeId> {
        let node = &self.nodes[at as usize];
        let by_length = |table: &ByLength, text: &[u8]| {
            let (_, map) = table.iter().find(|(len, _)| *len == text.len())?;
            map.get(text).copied()
        };
        match segment {
            Segment::AnyDepth => node.any_depth,
            Segment::Literal(text) => node.literals.get(text.as_slice()).copied(),
            Segment::Prefix(text) => by_length(&node.prefixes, text),
            Segment::Suffix(text) => by_length(&node.suffixes, text),
            Segment::Glob(glob) => {
                let lists = node.by_first.get(&glob.first().unwrap_or(0));
                let lasts = node.by_last.get(&glob.last().unwrap_or(0));
                let mut all = lists.into_iter().chain(lasts).flatten().chain(&node.globs);
                all.find(|(known, _)| known == glob).map(|(_, id)| *id)
            }
        }
    }

    /// A node and the `**` nodes that are active with it: `**` also stands for nothing.
    fn closure(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let mut next = Some(id);
        std::iter::from_fn(move || {
            let id = next?;
            next = self.nodes[id as usize].any_depth;
            Some(id)
        })
    }

    /// Walks the components.
    pub(crate) fn find<'p>(&self, mut names: impl Iterator<Item = &'p [u8]>) -> PatternMatch {
        let mut active = self.start.clone();
        let mut next = Vec::with_capacity(active.len() + 2);
        let mut found = PatternMatch::default();
        let mut name = names.next();
        while let Some(current) = name {
            name = names.next();
            next.clear();
            for id in &active {
                self.step(*id, current, &mut next);
            }
            for id in &next {
                for end in &self.nodes[*id as usize].ends {
                    let this = Some((end.protection, end.pattern));
                    // Whatever has something below it is a directory.
                    if !end.dir_only || name.is_some() {
                        found.protection = strongest(found.protection, this);
                    }
                    found.if_dir = strongest(found.if_dir, this);
                }
            }
            std::mem::swap(&mut active, &mut next);
            if matches!(found.protection, Some((Protection::Deny, _))) {
                break;
            }
        }
        found.if_dir = strongest(found.if_dir, found.protection);
        found.below = active.into_iter().filter(|id| self.leads_on(*id)).collect();
        found
    }

    /// Whether anything below the node is a pattern's end.
    fn leads_on(&self, id: NodeId) -> bool {
        let node = &self.nodes[id as usize];
        !(node.literals.is_empty()
            && node.prefixes.is_empty()
            && node.suffixes.is_empty()
            && node.by_first.is_empty()
            && node.by_last.is_empty()
            && node.globs.is_empty()
            && node.any_depth.is_none())
    }

    /// Whether patterns say the same about what lies below as they say anywhere.
    pub(crate) fn is_ordinary_below(&self, found: &PatternMatch) -> bool {
        found.below.is_subset(&self.everywhere)
    }

    fn step(&self, id: NodeId, name: &[u8], next: &mut Vec<NodeId>) {
        let node = &self.nodes[id as usize];
        if node.stays && !next.contains(&id) {
            next.push(id);
        }
        let mut reach = |target: NodeId| {
            for id in self.closure(target) {
                if !next.contains(&id) {
                    next.push(id);
                }
            }
        };
        if !node.literals.is_empty()
            && let Some(target) = node.literals.get(name)
        {
            reach(*target);
        }
        for (len, map) in &node.prefixes {
            if let Some(target) = name.get(..*len).and_then(|cut| map.get(cut)) {
                reach(*target);
            }
        }
        for (len, map) in &node.suffixes {
            let cut = name.len().checked_sub(*len).map(|from| &name[from..]);
            if let Some(target) = cut.and_then(|cut| map.get(cut)) {
                reach(*target);
            }
        }
        let (Some(first), Some(last)) = (name.first(), name.last()) else {
            return;
        };
        let mut try_all = |list: &[(Glob, NodeId)]| {
            for (glob, target) in list {
                if glob.fits(name) {
                    reach(*target);
                }
            }
        };
        if let Some(list) = node.by_first.get(first) {
            try_all(list);
        }
        if let Some(list) = node.by_last.get(last) {
            try_all(list);
        }
        try_all(&node.globs);
    }
}

fn insert_by_length(table: &mut ByLength, text: &[u8], id: NodeId) {
    let index = match table.iter().position(|(len, _)| *len == text.len()) {
        Some(index) => index,
        None => {
            table.push((text.len(), HashMap::new()));
            table.len() - 1
        }
    };
    table[index].1.insert(text.into(), id);
}

type Said = Option<(Protection, usize)>;

/// Deny before read-only; of the same protection the pattern that stands first.
fn strongest(one: Said, other: Said) -> Said {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
