//! One name of a pattern: `*`, `?`, `[…]` and the groups `@( ?( *( +( !(`.

use std::cell::Cell;

/// Groups in groups beyond this are no pattern that somebody meant.
const DEEPEST: usize = 8;

/// The pattern of one name.
#[derive(Debug)]
pub(super) struct NamePattern {
    nodes: Vec<Node>,
    /// The name itself, if the pattern has no signs.
    literal: Option<String>,
    /// Without groups, where one star at a time is enough.
    is_flat: bool,
}

#[derive(Debug)]
enum Node {
    Char(char),
    /// `?`
    One,
    /// `*`
    Star,
    Class(Class),
    Group(Kind, Vec<Vec<Node>>),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// `@(…)`
    Once,
    /// `?(…)`
    Maybe,
    /// `*(…)`
    Any,
    /// `+(…)`
    Some,
    /// `!(…)`
    Not,
}

#[derive(Debug)]
struct Class {
    negated: bool,
    ranges: Vec<(char, char)>,
    named: Vec<fn(char) -> bool>,
}

impl Class {
    fn holds(&self, c: char) -> bool {
        let found = self
            .ranges
            .iter()
            .any(|(low, high)| (*low..=*high).contains(&c))
            || self.named.iter().any(|is| is(c));
        found != self.negated
    }
}

impl NamePattern {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let chars: Vec<char> = text.chars().collect();
        let mut parser = Parser { chars, at: 0 };
        let nodes = parser.sequence(0, false)?;
        let literal = nodes.iter().map(|node| match node {
            Node::Char(c) => Some(*c),
            _ => None,
        });
        Ok(Self {
            literal: literal.collect(),
            is_flat: !nodes.iter().any(|node| matches!(node, Node::Group(..))),
            nodes,
        })
    }

    /// Whether a whole name fits; a spent budget means no.
    pub(super) fn matches(&self, name: &str, budget: &Cell<u64>) -> bool {
        if let Some(literal) = &self.literal {
            return name == literal;
        }
        let name: Vec<char> = name.chars().collect();
        if self.is_flat {
            return fits_flat(&self.nodes, &name);
        }
        let mut starts = vec![false; name.len() + 1];
        starts[0] = true;
        reach(&self.nodes, &[], &name, starts, budget)[name.len()]
    }
}

/// Matches without groups: on a mismatch the last star takes one character more.
fn fits_flat(nodes: &[Node], name: &[char]) -> bool {
    let (mut node, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        let fits = match nodes.get(node) {
            Some(Node::Star) => {
                star = Some((node, at));
                node += 1;
                continue;
            }
            Some(Node::Char(wanted)) => name[at] == *wanted,
            Some(Node::One) => true,
            Some(Node::Class(class)) => class.holds(name[at]),
            Some(Node::Group(..)) | None => false,
        };
        match (fits, star) {
            (true, _) => {
                node += 1;
                at += 1;
            }
            (false, Some((at_star, taken))) => {
                star = Some((at_star, taken + 1));
                node = at_star + 1;
                at = taken + 1;
            }
            (false, None) => return false,
        }
    }
    nodes[node..].iter().all(|node| matches!(node, Node::Star))
}

/// Where the nodes can end if they begin at any of the starts. `after` is what follows them, for
/// groups that look ahead.
fn reach(
    nodes: &[Node],
    after: &[&[Node]],
    name: &[char],
    mut starts: Vec<bool>,
    budget: &Cell<u64>,
) -> Vec<bool> {
    for (index, node) in nodes.iter().enumerate() {
        let left = budget.get().saturating_sub(name.len() as u64 + 1);
        budget.set(left);
        if left == 0 {
            return vec![false; name.len() + 1];
        }
        starts = step(node, &nodes[index + 1..], after, name, starts, budget);
    }
    starts
}

fn step(
    node: &Node,
    rest: &[Node],
    after: &[&[Node]],
    name: &[char],
    starts: Vec<bool>,
    budget: &Cell<u64>,
) -> Vec<bool> {
    let mut ends = vec![false; name.len() + 1];
    let single = |fits: &dyn Fn(char) -> bool, ends: &mut Vec<bool>| {
        for (at, c) in name.iter().enumerate() {
            ends[at + 1] = starts[at] && fits(*c);
        }
    };
    match node {
        Node::Char(wanted) => single(&|c| c == *wanted, &mut ends),
        Node::One => single(&|_| true, &mut ends),
        Node::Class(class) => single(&|c| class.holds(c), &mut ends),
        Node::Star => {
            let mut open = false;
            for (at, end) in ends.iter_mut().enumerate() {
                open |= starts[at];
                *end = open;
            }
        }
        Node::Group(Kind::Not, alternatives) => {
            let mut follow: Vec<&[Node]> = vec![rest];
            follow.extend_from_slice(after);
            for at in (0..=name.len()).filter(|at| starts[*at]) {
                if !excluded(alternatives, &follow, name, at, budget) {
                    ends[at..].fill(true);
                    break;
                }
            }
        }
        Node::Group(kind, alternatives) => {
            let mut follow: Vec<&[Node]> = vec![rest];
            follow.extend_from_slice(after);
            let once = |from: &[bool]| {
                let mut found = vec![false; name.len() + 1];
                for nodes in alternatives {
                    let here = reach(nodes, &follow, name, from.to_vec(), budget);
                    join(&mut found, &here);
                }
                found
            };
            if matches!(kind, Kind::Maybe | Kind::Any) {
                ends.clone_from(&starts);
            }
            let mut frontier = once(&starts);
            while join(&mut ends, &frontier) && matches!(kind, Kind::Any | Kind::Some) {
                frontier = once(&ends);
            }
        }
    }
    ends
}

/// Whether an alternative of `!(…)`, with everything that follows it, takes the rest of the name.
fn excluded(
    alternatives: &[Vec<Node>],
    follow: &[&[Node]],
    name: &[char],
    at: usize,
    budget: &Cell<u64>,
) -> bool {
    alternatives.iter().any(|nodes| {
        let mut starts = vec![false; name.len() + 1];
        starts[at] = true;
        let mut here = reach(nodes, follow, name, starts, budget);
        for (index, nodes) in follow.iter().enumerate() {
            here = reach(nodes, &follow[index + 1..], name, here, budget);
        }
        here[name.len()]
    })
}

/// Adds positions; whether any was new.
fn join(all: &mut [bool], more: &[bool]) -> bool {
    let mut any = false;
    for (have, new) in all.iter_mut().zip(more) {
        any |= *new && !*have;
        *have |= *new;
    }
    any
}

struct Parser {
    chars: Vec<char>,
    at: usize,
}

impl Parser {
    /// Reads nodes until the end, or in a group until `|` or `)`.
    fn sequence(&mut self, depth: usize, in_group: bool) -> Result<Vec<Node>, String> {
        if depth > DEEPEST {
            return Err(format!(
                "the pattern's groups are nested deeper than {DEEPEST}"
            ));
        }
        let mut nodes = Vec::new();
        while let Some(c) = self.chars.get(self.at).copied() {
            if in_group && matches!(c, '|' | ')') {
                break;
            }
            if let Some(kind) = self.group_kind(c) {
                let begun = self.at;
                self.at += 2;
                match self.group(depth)? {
                    Some(alternatives) => {
                        nodes.push(Node::Group(kind, alternatives));
                        continue;
                    }
                    // Never closed: what looked like a group is text.
                    None => self.at = begun,
                }
            }
            self.at += 1;
            nodes.push(match c {
                '*' if matches!(nodes.last(), Some(Node::Star)) => continue,
                '*' => Node::Star,
                '?' => Node::One,
                '[' => match self.class() {
                    Some(class) => Node::Class(class),
                    None => Node::Char('['),
                },
                '\\' => match self.chars.get(self.at).copied() {
                    Some(escaped) => {
                        self.at += 1;
                        Node::Char(escaped)
                    }
                    None => Node::Char('\\'),
                },
                c => Node::Char(c),
            });
        }
        Ok(nodes)
    }

    fn group_kind(&self, c: char) -> Option<Kind> {
        if self.chars.get(self.at + 1) != Some(&'(') {
            return None;
        }
        match c {
            '@' => Some(Kind::Once),
            '?' => Some(Kind::Maybe),
            '*' => Some(Kind::Any),
            '+' => Some(Kind::Some),
            '!' => Some(Kind::Not),
            _ => None,
        }
    }

    fn group(&mut self, depth: usize) -> Result<Option<Vec<Vec<Node>>>, String> {
        let mut alternatives = Vec::new();
        loop {
            alternatives.push(self.sequence(depth + 1, true)?);
            let end = self.chars.get(self.at).copied();
            self.at += 1;
            match end {
                Some('|') => {}
                Some(_) => return Ok(Some(alternatives)),
                None => return Ok(None),
            }
        }
    }

    /// `[…]`, after the bracket; `None` and no progress if it is never closed.
    fn class(&mut self) -> Option<Class> {
        let begun = self.at;
        let found = self.class_body();
        if found.is_none() {
            self.at = begun;
        }
        found
    }

    fn class_body(&mut self) -> Option<Class> {
        let mut class = Class {
            negated: false,
            ranges: Vec::new(),
            named: Vec::new(),
        };
        if matches!(self.chars.get(self.at), Some('!' | '^')) {
            class.negated = true;
            self.at += 1;
        }
        let first = self.at;
        loop {
            let c = *self.chars.get(self.at)?;
            if c == ']' && self.at > first {
                self.at += 1;
                return Some(class);
            }
            if let Some((length, is)) = named_class(&self.chars[self.at..]) {
                class.named.push(is);
                self.at += length;
                continue;
            }
            let low = self.class_char()?;
            let is_range = self.chars.get(self.at) == Some(&'-')
                && !matches!(self.chars.get(self.at + 1), None | Some(']'));
            if is_range {
                self.at += 1;
                let high = self.class_char()?;
                class.ranges.push((low, high));
            } else {
                class.ranges.push((low, low));
            }
        }
    }

    fn class_char(&mut self) -> Option<char> {
        let mut c = *self.chars.get(self.at)?;
        self.at += 1;
        if c == '\\' {
            c = *self.chars.get(self.at)?;
            self.at += 1;
        }
        Some(c)
    }
}

/// Which characters a named class holds.
type Holds = fn(char) -> bool;

/// The named class that a text begins with: how long its name is, and what it holds.
fn named_class(text: &[char]) -> Option<(usize, Holds)> {
    const CLASSES: [(&str, Holds); 10] = [
        ("[:alnum:]", char::is_alphanumeric),
        ("[:alpha:]", char::is_alphabetic),
        ("[:blank:]", |c| matches!(c, ' ' | '\t')),
        ("[:cntrl:]", char::is_control),
        ("[:digit:]", |c| c.is_numeric()),
        ("[:lower:]", char::is_lowercase),
        ("[:punct:]", |c| c.is_ascii_punctuation()),
        ("[:space:]", char::is_whitespace),
        ("[:upper:]", char::is_uppercase),
        ("[:xdigit:]", |c| c.is_ascii_hexdigit()),
    ];
    CLASSES
        .iter()
        .find(|(name, _)| name.chars().eq(text.iter().take(name.len()).copied()))
        .map(|(name, is)| (name.len(), *is))
}
