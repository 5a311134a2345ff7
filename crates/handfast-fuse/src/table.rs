//! The nodes that the kernel knows, as a tree.
//!
//! A node has its number, the handle of the object, and its name in the directory above. A rename
//! moves one node. A file that was removed while it is open has no name and keeps its number.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant, SystemTime};

use fuser::FileAttr;
use handfast::files::Node;
use handfast::{FileKind, Name, NameRef};

use crate::attr::attr;

/// The number of the top in the kernel's protocol.
pub(crate) const TOP: u64 = 1;

/// Numbers that are ours begin here: beyond what filesystems use for their own objects.
const OWN: u64 = 1 << 48;

/// Facts of a file that change with its content.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ContentFacts {
    len: u64,
    modified: SystemTime,
    changed: SystemTime,
}

impl From<&FileAttr> for ContentFacts {
    fn from(attr: &FileAttr) -> Self {
        Self {
            len: attr.size,
            modified: attr.mtime,
            changed: attr.ctime,
        }
    }
}

/// One object.
struct KnownObject {
    node: Node,
    /// The kernel believes this of its content, or something newer. Nothing if it knows that it has to
    /// ask.
    believed: Option<ContentFacts>,
    /// When the kernel was last told which object the name leads to.
    looked_up: Instant,
    /// The directory above and the name in it; nothing for the top, and for what was removed.
    place: Option<(u64, Name)>,
    /// More names of a file.
    others: Vec<(u64, Name)>,
    /// The names in it that the kernel knows.
    children: BTreeMap<Name, u64>,
    /// How often the kernel was told of it, and has not forgotten yet.
    lookups: u64,
    /// How many open files it has.
    opened: u64,
    /// The epoch in which its handle was looked up.
    epoch: u64,
}

impl KnownObject {
    fn new(node: Node, epoch: u64) -> Self {
        Self {
            node,
            believed: None,
            looked_up: Instant::now(),
            place: None,
            others: Vec::new(),
            children: BTreeMap::new(),
            lookups: 0,
            opened: 0,
            epoch,
        }
    }

    /// It is found under a name from now on. A file is found under its other names as well. The
    /// name that a directory had.
    fn add_place(&mut self, dir: u64, name: Name) -> Option<(u64, Name)> {
        let new = (dir, name);
        let old = self.place.replace(new.clone()).filter(|old| *old != new);
        if self.node.kind() == FileKind::Dir {
            return old;
        }
        self.others.extend(old);
        self.others.retain(|other| *other != new);
        None
    }

    /// It has lost a name.
    fn remove_place(&mut self, dir: u64, name: &Name) {
        self.others
            .retain(|(at, other)| (*at, other) != (dir, name));
        if self
            .place
            .as_ref()
            .is_some_and(|(at, old)| (*at, old) == (dir, name))
        {
            self.place = self.others.pop();
        }
    }
}

/// What is known of one number.
pub(crate) struct KnownNumber {
    pub(crate) node: Node,
    pub(crate) place: Option<(u64, Name)>,
}

/// The tree.
pub(crate) struct Table {
    known: HashMap<u64, KnownObject>,
    next: u64,
    /// Counts renames of directories: what lies below one has to be looked up again, because a
    /// handle may remember the way that it was found by.
    epoch: u64,
    /// Numbers that were dropped since somebody asked.
    gone: Vec<u64>,
}

impl Table {
    pub(crate) fn new(top: Node) -> Self {
        let mut top = KnownObject::new(top, 0);
        top.lookups = 1;
        Self {
            known: HashMap::from([(TOP, top)]),
            next: OWN,
            epoch: 0,
            gone: Vec::new(),
        }
    }

    pub(crate) fn get(&self, number: u64) -> Option<KnownNumber> {
        let known = self.known.get(&number)?;
        Some(KnownNumber {
            node: known.node.clone(),
            place: known.place.clone(),
        })
    }

    /// The handle behind a number, if it was looked up after the last rename of a directory, and still
    /// has a name: what has none is reached through open files only.
    pub(crate) fn fresh(&self, number: u64) -> Option<Node> {
        let known = self.known.get(&number)?;
        let is_fresh = number == TOP || known.epoch == self.epoch && known.place.is_some();
        is_fresh.then(|| known.node.clone())
    }

    /// The numbers that were dropped since this was asked last, and are not in use again.
    pub(crate) fn take_gone(&mut self) -> Vec<u64> {
        let mut gone = std::mem::take(&mut self.gone);
        gone.retain(|number| !self.known.contains_key(number));
        gone
    }

    /// The kernel has heard facts of an object. To be called after the answer: until then the kernel
    /// believes the older ones.
    pub(crate) fn heard(&mut self, number: u64, facts: ContentFacts) {
        if let Some(known) = self.known.get_mut(&number) {
            known.believed = Some(facts);
        }
    }

    /// What the kernel believes of the content of an object.
    pub(crate) fn believed(&self, number: u64) -> Option<ContentFacts> {
        self.known.get(&number)?.believed
    }

    /// The kernel knows that it has to ask.
    pub(crate) fn disbelieves(&mut self, number: u64) {
        if let Some(known) = self.known.get_mut(&number) {
            known.believed = None;
        }
    }

    /// Whether the kernel has looked the name of an object up just now: it has no better answer to
    /// hope for.
    pub(crate) fn was_just_looked_up(&self, number: u64) -> bool {
        const MOMENT: Duration = Duration::from_millis(100);
        let known = self.known.get(&number);
        known.is_some_and(|known| known.looked_up.elapsed() < MOMENT)
    }

    /// Whether files of an object are open.
    pub(crate) fn is_open(&self, number: u64) -> bool {
        self.known
            .get(&number)
            .is_some_and(|known| known.opened > 0)
    }

    /// The directory that an object was last found in.
    pub(crate) fn parent(&self, number: u64) -> Option<u64> {
        let (dir, _) = self.known.get(&number)?.place.as_ref()?;
        Some(*dir)
    }

    /// The names of a directory that the kernel knows.
    pub(crate) fn names_in(&self, dir: u64) -> Vec<Name> {
        let known = self.known.get(&dir);
        known.map_or_else(Vec::new, |known| known.children.keys().cloned().collect())
    }

    /// An object and everything below it, from the top down.
    pub(crate) fn below(&self, number: u64) -> Vec<u64> {
        let mut found = vec![number];
        let mut at = 0;
        while let Some(number) = found.get(at) {
            if let Some(known) = self.known.get(number) {
                found.extend(known.children.values());
            }
            at += 1;
        }
        found
    }

    /// Which number a name has.
    pub(crate) fn child(&self, dir: u64, name: NameRef<'_>) -> Option<u64> {
        let dir = self.known.get(&dir)?;
        dir.children.get(&name.to_name()).copied()
    }

    /// Takes in what a name led to, and counts the kernel's reference. The number stays while the
    /// object is the same; the base's own number is used where it is free.
    pub(crate) fn told(&mut self, dir: u64, name: NameRef<'_>, node: Node) -> u64 {
        let number = self.number_for(dir, name, &node);
        let epoch = self.epoch;
        let known = self.known.entry(number);
        let known = known.or_insert_with(|| KnownObject::new(node.clone(), epoch));
        if known.lookups == 0 {
            // The kernel has nothing older to believe.
            known.believed = Some(ContentFacts::from(&attr(number, node.metadata())));
        }
        known.node = node;
        known.lookups += 1;
        known.epoch = epoch;
        known.looked_up = Instant::now();
        if number != TOP {
            self.place(number, dir, name.to_name());
        }
        number
    }

    /// A file that is known has another name, and counts the kernel's reference.
    pub(crate) fn linked(&mut self, number: u64, dir: u64, name: NameRef<'_>, node: Node) {
        let epoch = self.epoch;
        if let Some(known) = self.known.get_mut(&number) {
            known.node = node;
            known.lookups += 1;
            known.epoch = epoch;
        }
        self.place(number, dir, name.to_name());
    }

    fn number_for(&self, dir: u64, name: NameRef<'_>, node: &Node) -> u64 {
        // A directory that was committed is another one to its layer. To a program that works in it,
        // it stays the one under that name.
        let is_dir = |node: &Node| node.kind() == FileKind::Dir;
        let is_it = |number: &u64| {
            self.known.get(number).is_some_and(|known| {
                let is_left = known.opened > 0 && is_replaced(&known.node, node);
                known.node.is_same(node) && !is_left || (is_dir(&known.node) && is_dir(node))
            })
        };
        if let Some(number) = self.child(dir, name).filter(is_it) {
            return number;
        }
        let own = node.metadata().identity.inode;
        match self.known.get(&own) {
            _ if own <= TOP => self.free_number(),
            None => own,
            // Another name of a file that is known already.
            Some(known)
                if known.node.is_same(node)
                    && node.kind() != FileKind::Dir
                    && !is_replaced(&known.node, node) =>
            {
                own
            }
            Some(_) => self.free_number(),
        }
    }

    fn free_number(&self) -> u64 {
        let mut number = self.next;
        while self.known.contains_key(&number) {
            number += 1;
        }
        number
    }

    /// Puts a node under a name. What had the name before has none any more.
    fn place(&mut self, number: u64, dir: u64, name: Name) {
        if number >= OWN && number == self.next {
            self.next += 1;
        }
        let Some(above) = self.known.get_mut(&dir) else {
            return;
        };
        let before = above.children.insert(name.clone(), number);
        if let Some(before) = before.filter(|before| *before != number) {
            self.unplace(before, dir, &name);
        }
        let Some(known) = self.known.get_mut(&number) else {
            return;
        };
        if let Some((old_dir, old_name)) = known.add_place(dir, name)
            && let Some(above) = self.known.get_mut(&old_dir)
        {
            above.children.remove(&old_name);
        }
    }

    fn unplace(&mut self, number: u64, dir: u64, name: &Name) {
        if let Some(known) = self.known.get_mut(&number) {
            known.remove_place(dir, name);
        }
        self.collect(number);
    }

    /// A name is gone.
    pub(crate) fn removed(&mut self, dir: u64, name: NameRef<'_>) {
        let name = name.to_name();
        let Some(above) = self.known.get_mut(&dir) else {
            return;
        };
        if let Some(number) = above.children.remove(&name) {
            self.unplace(number, dir, &name);
        }
    }

    /// A name was renamed, with whatever lies below it.
    pub(crate) fn renamed(&mut self, from: (u64, NameRef<'_>), to: (u64, NameRef<'_>)) {
        let (from_name, to_name) = (from.1.to_name(), to.1.to_name());
        let moved = match self.known.get_mut(&from.0) {
            Some(above) => above.children.remove(&from_name),
            None => None,
        };
        let kind = moved.and_then(|number| Some(self.known.get(&number)?.node.kind()));
        // Nothing lies below a file.
        if kind.is_none_or(|kind| kind == FileKind::Dir) {
            self.epoch += 1;
        }
        match moved {
            Some(number) => {
                if let Some(known) = self.known.get_mut(&number) {
                    known.remove_place(from.0, &from_name);
                }
                self.place(number, to.0, to_name);
            }
            None => self.removed(to.0, to.1),
        }
    }

    /// Two names changed places.
    pub(crate) fn exchanged(&mut self, one: (u64, NameRef<'_>), other: (u64, NameRef<'_>)) {
        self.epoch += 1;
        let first = self.child(one.0, one.1);
        let second = self.child(other.0, other.1);
        for (number, old, (dir, name)) in [(first, one, other), (second, other, one)] {
            let name = name.to_name();
            let Some(above) = self.known.get_mut(&dir) else {
                continue;
            };
            match number {
                Some(number) => {
                    above.children.insert(name.clone(), number);
                    if let Some(known) = self.known.get_mut(&number) {
                        known.remove_place(old.0, &old.1.to_name());
                        known.add_place(dir, name);
                    }
                }
                None => {
                    above.children.remove(&name);
                }
            }
        }
    }

    /// A handle was looked up again.
    pub(crate) fn renew(&mut self, number: u64, node: Node) {
        let epoch = self.epoch;
        if let Some(known) = self.known.get_mut(&number) {
            known.node = node;
            known.epoch = epoch;
        }
    }

    /// The kernel forgets that it was told.
    pub(crate) fn forget(&mut self, number: u64, times: u64) {
        if number == TOP {
            return;
        }
        if let Some(known) = self.known.get_mut(&number) {
            known.lookups = known.lookups.saturating_sub(times);
        }
        self.collect(number);
    }

    /// A file was opened, or closed.
    pub(crate) fn opened(&mut self, number: u64) {
        if let Some(known) = self.known.get_mut(&number) {
            known.opened += 1;
        }
    }

    pub(crate) fn closed(&mut self, number: u64) {
        if let Some(known) = self.known.get_mut(&number) {
            known.opened = known.opened.saturating_sub(1);
        }
        self.collect(number);
    }

    /// Drops a node that nobody knows any more, and directories above it that were only kept for
    /// it.
    fn collect(&mut self, number: u64) {
        let mut number = number;
        while number != TOP {
            let Some(known) = self.known.get(&number) else {
                return;
            };
            if known.lookups > 0 || known.opened > 0 || !known.children.is_empty() {
                return;
            }
            let Some(gone) = self.known.remove(&number) else {
                return;
            };
            self.gone.push(number);
            for (dir, name) in gone.others {
                if let Some(above) = self.known.get_mut(&dir) {
                    above.children.remove(&name);
                }
            }
            let Some((dir, name)) = gone.place else {
                return;
            };
            if let Some(above) = self.known.get_mut(&dir)
                && above.children.get(&name) == Some(&number)
            {
                above.children.remove(&name);
            }
            number = dir;
        }
    }
}

/// Whether a person has put another file under the name of one. While programs have the old one open,
/// it needs a number of its own: the kernel has one cache and one length for a number.
pub(crate) fn is_replaced(old: &Node, new: &Node) -> bool {
    let are_of_base = old.is_watched_with_its_directory() && new.is_watched_with_its_directory();
    let (one, other) = (&old.metadata().identity, &new.metadata().identity);
    are_of_base && new.kind() != FileKind::Dir && !one.same_object(other)
}
