//! Tells every event that is intact, and says where a log is damaged.
//!
//! Segments are believed first. Behind a damaged place in a segment reading goes on with the next
//! batch that is whole; what is missing between comes from the bundles of entries, whose hashes
//! are in the tiles. Only what is nowhere is lost, and the answer says so.
//!
//! A writer may be at work meanwhile: it puts events into bundles and removes their segments, puts
//! wider bundles in the place of narrow ones, and prunes. So nothing counts as damage that the
//! reader was not promised before it looked: what a checkpoint, a list of segments or a batch says
//! is held against files that are opened later. What fails then is damage, however busy the log.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::error::Error;
use crate::event::Record;
use crate::merkle::{Hash, MemoryTree, Subtrees};
use crate::reader::LogReader;
use crate::segment::{self, ScannedFrame, Stop};
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
    /// Places before this event were noted by an earlier pass.
    noted_before: u64,
    /// What comes now is read for the log's own rule only.
    closed: bool,
}

impl Damage {
    pub(crate) fn note(&mut self, index: Option<u64>, what: &str) {
        if self.closed || index.is_some_and(|index| index < self.noted_before) {
            return;
        }
        self.places += 1;
        self.first.get_or_insert_with(|| (index, what.to_owned()));
    }

    fn lose(&mut self, from: u64, to: u64) {
        if self.closed {
            return;
        }
        match self.lost.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => self.lost.push((from, to)),
        }
    }

    fn lost(&self) -> u64 {
        self.lost.iter().map(|(from, to)| to - from).sum()
    }

    /// What was pruned by the log's own rule is not lost.
    fn forgive_before(&mut self, kept_from: u64) {
        self.lost.retain(|(_, to)| *to > kept_from);
    }

    pub(crate) fn into_result(self) -> Result<(), Error> {
        let lost = self.lost();
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
struct BundleEntries {
    index: u64,
    /// The size of the tree that they were looked for.
    size: u64,
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
    entries: Option<BundleEntries>,
    /// The bundle whose damage was noted last, and where.
    damaged_bundle: Option<(u64, u64)>,
    /// By the log's own word, what lies before was dropped.
    kept_from: u64,
    damage: Damage,
}

/// How often a pass is followed by another because events were lost that may have been pruned.
/// Only a log that prunes faster than it can be read needs more than two.
const PASSES: usize = 16;
/// How often the end of the last segment is read again because it seems damaged.
const REREADS: usize = 16;

impl<'a, V: FnMut(u64, &[u8]) -> Result<ControlFlow<()>, Error>> Reading<'a, V> {
    pub(crate) fn new(log: &'a LogReader, from: u64, visit: V) -> Self {
        let mut damage = Damage::default();
        if let Some(why) = log.unread_config() {
            damage.note(None, why);
        }
        let published = match published(log) {
            Ok(Some(size)) => size,
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
            damaged_bundle: None,
            kept_from: 0,
            damage,
        }
    }

    /// Tells everything; damage is the error, once everything else has been told.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        for _ in 0..PASSES {
            let lost = self.damage.lost();
            self.pass()?;
            if self.is_over() || self.damage.lost() == lost {
                break;
            }
            // What went while it was read may have been pruned. The rule was published before, and
            // behind the end that was known when the pass began.
            let newer = published(self.log).ok().flatten();
            let Some(newer) = newer.filter(|size| *size > self.published) else {
                break;
            };
            self.published = newer;
            self.damage.noted_before = self.next;
        }
        self.damage.forgive_before(self.kept_from);
        self.damage.into_result()
    }

    /// Tells everything from the next event on, as far as the log reaches now. The checkpoint has
    /// been read before the list of segments is: that holds what the checkpoint promises.
    fn pass(&mut self) -> Result<(), Error> {
        let segments = self.log.segments()?;
        let in_bundles = match segments.first() {
            Some(first) => *first,
            None => self.published,
        };
        self.fill(in_bundles)?;
        let state = State::read(&self.log.store);
        let skip = segments.partition_point(|first| *first <= self.next).max(1) - 1;
        for (at, first) in segments.iter().enumerate().skip(skip) {
            if self.is_over() {
                break;
            }
            let evidence = state
                .as_ref()
                .filter(|state| state.segment.0 == *first)
                .map_or(0, |state| state.offset.0);
            self.segment(*first, segments.get(at + 1).copied(), evidence)?;
        }
        if self.next < self.published && !self.is_over() {
            self.fill(self.published)?;
        }
        Ok(())
    }

    fn tell(&mut self, index: u64, leaf: &[u8]) -> Result<(), Error> {
        if index < self.next || self.is_over() {
            return Ok(());
        }
        self.next = index + 1;
        if leaf.starts_with(b"{\"v\":1,\"type\":\"retention.set\"")
            && let Ok(record) = Record::parse(leaf)
            && let Some(retention) = record.retention
        {
            self.kept_from = self.kept_from.max(retention.min_index.0);
        }
        if !self.broken_off && (self.visit)(index, leaf)?.is_break() {
            self.broken_off = true;
            self.damage.closed = true;
        }
        Ok(())
    }

    /// Whether nothing is to be learned any more. Who breaks off behind a hole is still owed whether
    /// that was pruned: only a later event says it.
    fn is_over(&self) -> bool {
        let hole = self.damage.lost.last();
        self.broken_off && hole.is_none_or(|(_, to)| *to <= self.kept_from)
    }

    /// Tells the events of one segment; `following` is where the next one begins.
    fn segment(&mut self, first: u64, following: Option<u64>, evidence: u64) -> Result<(), Error> {
        let name = segment::name(first);
        let Some(mut bytes) = self.log.store.read(&name)? else {
            return self.dropped(first, following);
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
        let (mut synced, mut doubted, mut rereads) = (evidence, None, 0);
        loop {
            let rest = &bytes[offset..];
            let scan = segment::scan(rest, offset as u64, expected, |item, _| match item {
                ScannedFrame::Event { index, leaf } => self.tell(index, leaf),
                _ => Ok(()),
            })?;
            synced = synced.max(scan.synced);
            let cut = scan.end < synced || scan.next < self.published;
            let short = following.is_some_and(|following| scan.next < following);
            if self.is_over() || (scan.stop == Stop::Clean && !short && !(is_last && cut)) {
                return Ok(());
            }
            if is_last && !cut {
                // A write that is under way, or that was cut off behind everything answered.
                return Ok(());
            }
            let behind = usize::try_from(scan.end).unwrap_or(bytes.len());
            if is_last && doubted != Some(scan.end) && rereads < REREADS {
                // Its end may have been read before its writer wrote it, and what says so after:
                // then it is whole by now. A segment that another follows does not change.
                (doubted, rereads) = (Some(scan.end), rereads + 1);
                let Some(again) = self.log.store.read(&name)? else {
                    return self.dropped(first, following);
                };
                bytes = again;
                (offset, expected) = (behind.min(bytes.len()), scan.next);
                continue;
            }
            self.damage.note(Some(scan.next), "a segment is damaged");
            let more = segment::next_batch(&bytes, behind + 1);
            let Some((at, index)) = more.filter(|(_, index)| *index >= scan.next) else {
                return self.fill(following.unwrap_or(self.published));
            };
            self.fill(index)?;
            (offset, expected) = (at, index);
        }
    }

    /// A segment that the writer has dropped since the list was read: its events are in bundles.
    fn dropped(&mut self, first: u64, following: Option<u64>) -> Result<(), Error> {
        if let Some(following) = following {
            return self.fill(following);
        }
        // It was the last, and how far it went is known only now.
        let size = published(self.log).ok().flatten().unwrap_or(0);
        self.published = self.published.max(size);
        let segments = self.log.segments()?;
        let following = segments.into_iter().find(|later| *later > first);
        self.fill(following.unwrap_or(self.published).max(first))
    }

    /// Tells events up to an index from bundles; what is not there is lost, or was pruned.
    fn fill(&mut self, until: u64) -> Result<(), Error> {
        let mut present = None;
        while self.next < until && !self.is_over() {
            let index = self.next / WIDTH;
            let until_here = (index * WIDTH).saturating_add(WIDTH).min(until);
            self.load(index, until_here)?;
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
                if self.is_over() {
                    break;
                }
            }
            self.entries = entries;
        }
        Ok(())
    }

    /// Reads a bundle of entries up to an event, and says which of them fit their hashes.
    fn load(&mut self, index: u64, until: u64) -> Result<(), Error> {
        // A segment that is gone may have ended behind the checkpoint as it was read.
        let size = self.published.max(until);
        if self
            .entries
            .as_ref()
            .is_some_and(|entries| entries.index == index && entries.size >= size)
        {
            return Ok(());
        }
        let first = index * WIDTH;
        let bundle = match self.log.widest_bundle(index, size) {
            Ok(bundle) => bundle,
            Err(error) => {
                self.damage_in(index, first, &error.to_string());
                None
            }
        };
        let good = match &bundle {
            Some(bundle) => self.fitting(index, size, bundle),
            None => Vec::new(),
        };
        self.entries = Some(BundleEntries {
            index,
            size,
            bundle,
            good,
        });
        Ok(())
    }

    fn fitting(&mut self, index: u64, size: u64, bundle: &Bundle) -> Vec<bool> {
        let first = index * WIDTH;
        let hashes: Vec<_> = bundle.iter().map(Hash::leaf).collect();
        let behind = first + hashes.len() as u64;
        if behind < self.published.min(first.saturating_add(WIDTH)) {
            self.damage_in(index, behind, "a bundle holds too few entries");
        }
        let tiles = TileReader::new(&self.log.store, size);
        // Of more events than were published there may be no tile.
        let tile = tiles.tile(0, index).or_else(|_| {
            let published = self.published.max(first + 1);
            TileReader::new(&self.log.store, published).tile(0, index)
        });
        let Ok(tile) = tile else {
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
            self.damage_in(index, first + bad as u64, "a tile is damaged");
            return vec![true; hashes.len()];
        }
        let at = first + bad as u64;
        self.damage_in(index, at, "an entry does not fit its hash");
        let pairs = hashes.iter().enumerate();
        pairs
            .map(|(at, hash)| tile.get(at).is_none_or(|known| known == hash))
            .collect()
    }

    /// Notes damage of a bundle. One that is read again because more of it is wanted has it still.
    fn damage_in(&mut self, index: u64, at: u64, what: &str) {
        let known = self
            .damaged_bundle
            .is_some_and(|(bundle, place)| bundle == index && place == at);
        if !known {
            self.damaged_bundle = Some((index, at));
            self.damage.note(Some(at), what);
        }
    }
}

/// How many events the checkpoint is of.
fn published(log: &LogReader) -> Result<Option<u64>, Error> {
    let published = log.checkpoint()?;
    Ok(published.map(|(checkpoint, _)| checkpoint.size))
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

impl BundleEntries {
    fn get(&self, at: usize) -> Option<&[u8]> {
        let entry = self.bundle.as_ref()?.get(at)?;
        self.good.get(at).copied().unwrap_or(false).then_some(entry)
    }
}
