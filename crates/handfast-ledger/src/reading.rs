//! Tells every event that is intact, and says where a log is damaged.
//!
//! Segments are believed first. Behind a damaged place in a segment reading goes on with the next
//! batch that is whole; what is missing between comes from the bundles of entries, whose hashes
//! are in the tiles. Only what is nowhere is lost, and the answer says so.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::error::Error;
use crate::event::Record;
use crate::merkle::{Hash, MemoryTree, Subtrees};
use crate::reader::LogReader;
use crate::segment::{self, Item, Stop};
use crate::state::State;
use crate::tiles::{Bundle, TileReader, WIDTH, bundles_present};

/// What does not fit, and what could not be read at all.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    /// The first damaged place: its event where that is known, and what it is.
    first: Option<(Option<u64>, String)>,
    places: u64,
    /// Events that are nowhere: first, and behind the last.
    lost: Vec<(u64, u64)>,
}

impl Damage {
    pub(crate) fn note(&mut self, index: Option<u64>, what: &str) {
        self.places += 1;
        self.first.get_or_insert_with(|| (index, what.to_owned()));
    }

    fn lose(&mut self, from: u64, to: u64) {
        match self.lost.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => self.lost.push((from, to)),
        }
    }

    /// What was pruned by the log's own rule is not lost.
    fn forgive_before(&mut self, kept_from: u64) {
        self.lost.retain(|(_, to)| *to > kept_from);
    }

    pub(crate) fn into_result(self) -> Result<(), Error> {
        let lost: u64 = self.lost.iter().map(|(from, to)| to - from).sum();
        let range = self.lost.first().map(|(from, to)| match to - from {
            1 => format!("event {from}"),
            _ => format!("events {from} to {}", to - 1),
        });
        let missing = match range {
            None => "every event could be read".to_owned(),
            Some(range) if self.lost.len() == 1 => format!("{range} cannot be read"),
            Some(range) => format!("{lost} events cannot be read, {range} first"),
        };
        let (index, what) = match self.first {
            Some((index, what)) => (index, what),
            None if lost > 0 => (None, "events are missing".to_owned()),
            None => return Ok(()),
        };
        let more = match self.places {
            0 | 1 => String::new(),
            2 => " and 1 more place".to_owned(),
            places => format!(" and {} more places", places - 1),
        };
        let detail = format!("the log is damaged: {what}{more}; {missing}");
        let index = index.or(self.lost.first().map(|(from, _)| *from));
        Err(match index {
            Some(index) => Error::corrupt(index, detail),
            None => Error::new(crate::ErrorKind::Corrupt, detail),
        })
    }
}

/// The entries of one bundle, as far as they fit their hashes.
struct Entries {
    index: u64,
    bundle: Option<Bundle>,
    good: Vec<bool>,
}

/// One pass through a log.
pub(crate) struct Reading<'a, V> {
    log: &'a LogReader,
    /// How many events the checkpoint is of, if it can be read.
    published: u64,
    /// The first event that has not been told.
    next: u64,
    visit: V,
    broken_off: bool,
    entries: Option<Entries>,
    /// By the log's own word, what lies before was dropped.
    kept_from: u64,
    damage: Damage,
}

impl<'a, V: FnMut(u64, &[u8]) -> Result<ControlFlow<()>, Error>> Reading<'a, V> {
    pub(crate) fn new(log: &'a LogReader, from: u64, visit: V) -> Self {
        let mut damage = Damage::default();
        if let Some(why) = log.unread_config() {
            damage.note(None, why);
        }
        let published = match log.checkpoint() {
            Ok(Some((checkpoint, _))) => checkpoint.size,
            Ok(None) => bundled(log, &mut damage),
            Err(error) => {
                damage.note(None, &format!("the checkpoint: {error}"));
                0
            }
        };
        Self {
            log,
            published,
            next: from,
            visit,
            broken_off: false,
            entries: None,
            kept_from: 0,
            damage,
        }
    }

    /// Tells everything; damage is the error, once everything else has been told.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        let segments = self.log.segments()?;
        let in_bundles = match segments.first() {
            Some(first) => *first,
            None => self.published,
        };
        self.fill(in_bundles)?;
        let state = State::read(&self.log.store);
        let skip = segments.partition_point(|first| *first <= self.next).max(1) - 1;
        for (at, first) in segments.iter().enumerate().skip(skip) {
            if self.broken_off {
                break;
            }
            let evidence = state
                .as_ref()
                .filter(|state| state.segment.0 == *first)
                .map_or(0, |state| state.offset.0);
            self.segment(*first, segments.get(at + 1).copied(), evidence)?;
        }
        if self.next < self.published && !self.broken_off {
            self.fill(self.published)?;
        }
        self.damage.forgive_before(self.kept_from);
        self.damage.into_result()
    }

    fn tell(&mut self, index: u64, leaf: &[u8]) -> Result<(), Error> {
        if index < self.next || self.broken_off {
            return Ok(());
        }
        self.next = index + 1;
        if leaf.starts_with(b"{\"v\":1,\"type\":\"retention.set\"")
            && let Ok(record) = Record::parse(leaf)
            && let Some(retention) = record.retention
        {
            self.kept_from = self.kept_from.max(retention.min_index.0);
        }
        self.broken_off = (self.visit)(index, leaf)?.is_break();
        Ok(())
    }

    /// Tells the events of one segment; `following` is where the next one begins.
    fn segment(&mut self, first: u64, following: Option<u64>, evidence: u64) -> Result<(), Error> {
        let Some(bytes) = self.log.store.read(&segment::name(first))? else {
            // Dropped by the writer since the list was read: its events are in bundles.
            return self.fill(following.unwrap_or(first).max(first));
        };
        let is_last = following.is_none();
        let (mut offset, mut expected) = match segment::read_header(&bytes) {
            Some((_, start)) => (start, first),
            // The making of the last segment may have been cut off.
            None if is_last && first > 0 && self.published <= first => return Ok(()),
            None => {
                self.damage
                    .note(Some(first), "the header of a segment is damaged");
                match segment::next_batch(&bytes, 0) {
                    Some(found) => found,
                    None => return self.fill(following.unwrap_or(self.published)),
                }
            }
        };
        self.fill(expected)?;
        loop {
            let rest = &bytes[offset..];
            let scan = segment::scan(rest, offset as u64, expected, |item, _| match item {
                Item::Event { index, leaf } => self.tell(index, leaf),
                _ => Ok(()),
            })?;
            let cut = scan.end < scan.synced.max(evidence) || scan.next < self.published;
            let short = following.is_some_and(|following| scan.next < following);
            if self.broken_off || (scan.stop == Stop::Clean && !short && !(is_last && cut)) {
                return Ok(());
            }
            if is_last && !cut {
                // A write that is under way, or that was cut off behind everything answered.
                return Ok(());
            }
            self.damage.note(Some(scan.next), "a segment is damaged");
            let behind = usize::try_from(scan.end).unwrap_or(bytes.len());
            let more = segment::next_batch(&bytes, behind + 1);
            let Some((at, index)) = more.filter(|(_, index)| *index >= scan.next) else {
                return self.fill(following.unwrap_or(self.published));
            };
            self.fill(index)?;
            (offset, expected) = (at, index);
        }
    }

    /// Tells events up to an index from bundles; what is not there is lost, or was pruned.
    fn fill(&mut self, until: u64) -> Result<(), Error> {
        let mut present = None;
        while self.next < until && !self.broken_off {
            let index = self.next / WIDTH;
            let until_here = (index * WIDTH).saturating_add(WIDTH).min(until);
            self.load(index)?;
            let entries = self.entries.take();
            let found = entries.as_ref().and_then(|entries| entries.bundle.as_ref());
            if found.is_none() {
                // How far the next one is, only the names say: sizes may be made up.
                let present: &mut BTreeSet<u64> = match &mut present {
                    Some(present) => present,
                    none => none.insert(bundles_present(&self.log.store)?),
                };
                let later = present.range(index + 1..).next();
                let begin = later.and_then(|index| index.checked_mul(WIDTH));
                let to = begin.unwrap_or(until).min(until);
                self.damage.lose(self.next, to);
                self.next = to;
                continue;
            }
            for at in self.next..until_here {
                let number = usize::try_from(at % WIDTH).unwrap_or(0);
                let entry = entries.as_ref().and_then(|entries| entries.get(number));
                match entry {
                    Some(entry) => self.tell(at, entry)?,
                    None => {
                        self.damage.lose(at, at + 1);
                        self.next = at + 1;
                    }
                }
                if self.broken_off {
                    break;
                }
            }
            self.entries = entries;
        }
        Ok(())
    }

    /// Reads a bundle and says which of its entries fit their hashes.
    fn load(&mut self, index: u64) -> Result<(), Error> {
        if self
            .entries
            .as_ref()
            .is_some_and(|entries| entries.index == index)
        {
            return Ok(());
        }
        let first = index * WIDTH;
        let size = self.published.max(first + 1);
        let bundle = match self.log.widest_bundle(index, size) {
            Ok(bundle) => bundle,
            Err(error) => {
                self.damage.note(Some(first), &error.to_string());
                None
            }
        };
        let good = match &bundle {
            Some(bundle) => self.fitting(index, size, bundle),
            None => Vec::new(),
        };
        self.entries = Some(Entries {
            index,
            bundle,
            good,
        });
        Ok(())
    }

    fn fitting(&mut self, index: u64, size: u64, bundle: &Bundle) -> Vec<bool> {
        let first = index * WIDTH;
        let wanted =
            usize::try_from(size - first).map_or(WIDTH as usize, |n| n.min(WIDTH as usize));
        let hashes: Vec<_> = bundle.iter().map(Hash::leaf).collect();
        if hashes.len() < wanted && self.published >= size {
            let at = first + hashes.len() as u64;
            self.damage.note(Some(at), "a bundle holds too few entries");
        }
        let tiles = TileReader::new(&self.log.store, size);
        let Ok(tile) = tiles.tile(0, index) else {
            // Nothing to compare with; who asks whether it is true verifies.
            return vec![true; hashes.len()];
        };
        let Some(bad) = tile.iter().zip(&hashes).position(|(a, b)| a != b) else {
            return vec![true; hashes.len()];
        };
        // Which of the two is damaged, the hash above them says.
        let mut tree = MemoryTree::new();
        hashes.iter().for_each(|hash| tree.append(*hash));
        if hashes.len() == WIDTH as usize
            && let (Ok(ours), Ok(above)) = (tree.subtree(8, 0), tiles.subtree(8, index))
            && ours == above
        {
            self.damage
                .note(Some(first + bad as u64), "a tile is damaged");
            return vec![true; hashes.len()];
        }
        let at = Some(first + bad as u64);
        self.damage.note(at, "an entry does not fit its hash");
        let pairs = hashes.iter().enumerate();
        pairs
            .map(|(at, hash)| tile.get(at).is_none_or(|known| known == hash))
            .collect()
    }
}

/// How far the bundles reach in a log that has lost its checkpoint: every log publishes one with its
/// first event.
fn bundled(log: &LogReader, damage: &mut Damage) -> u64 {
    let last = match bundles_present(&log.store) {
        Ok(present) => present.last().copied(),
        Err(error) => {
            damage.note(None, &error.to_string());
            return 0;
        }
    };
    let Some(last) = last else {
        return 0;
    };
    damage.note(None, "the checkpoint is missing");
    let first = last.saturating_mul(WIDTH);
    let widest = log.widest_bundle(last, first.saturating_add(WIDTH));
    let entries = widest
        .ok()
        .flatten()
        .map_or(0, |bundle| bundle.iter().count());
    first.saturating_add(entries as u64)
}

impl Entries {
    fn get(&self, at: usize) -> Option<&[u8]> {
        let entry = self.bundle.as_ref()?.get(at)?;
        self.good.get(at).copied().unwrap_or(false).then_some(entry)
    }
}
