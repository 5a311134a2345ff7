//! Reads every event once, from segments and bundles side by side.

use super::hashed::Hashed;
use super::window::Window;
use super::{Signature, Verifier};
use crate::error::Error;
use crate::event::Record;
use crate::merkle::{Hash, root};
use crate::segment::{self, ScannedFrame, Stop};
use crate::state::State;
use crate::tiles::{Bundle, TileReader, WIDTH};

/// How often a segment may go while the log is read.
const MOST_TURNS: usize = 1000;

/// Where a segment is in the log.
struct InLog {
    first: u64,
    is_last: bool,
    published: u64,
    /// Up to where the segment was on the disk, by `state.json`.
    evidence: u64,
}

/// The bundle that was looked at last.
struct Last {
    index: u64,
    entries: Option<Bundle>,
}

impl Verifier<'_> {
    pub(super) fn read_events(&mut self) -> Result<(), Error> {
        let mut segments = self.log.segments()?;
        let mut published = self.published_size();
        let in_bundles = segments.first().copied().unwrap_or(published);
        self.read_bundles(in_bundles, published)?;
        let state = State::read(&self.log.store);
        let mut bundle = Last {
            index: u64::MAX,
            entries: None,
        };
        let (mut at, mut turns) = (0, 0);
        while let Some(first) = segments.get(at).copied() {
            let window = Window::open(&self.log.store, &segment::name(first))?;
            if window.is_missing() && turns < MOST_TURNS {
                // Gone since the list was read: the writer has put its events into bundles.
                turns += 1;
                self.published = self.log.checkpoint().unwrap_or_default();
                published = self.published_size();
                segments = self.log.segments()?;
                segments.retain(|first| *first >= self.tree.size());
                at = 0;
                let in_bundles = segments.first().copied().unwrap_or(published);
                self.read_bundles(in_bundles, published)?;
                continue;
            }
            at += 1;
            let evidence = state
                .as_ref()
                .filter(|state| state.segment.0 == first)
                .map_or(0, |state| state.offset.0);
            let place = InLog {
                first,
                is_last: at == segments.len(),
                published,
                evidence,
            };
            if !self.read_segment(window, place, &mut bundle)? {
                break;
            }
        }
        self.report.events = self.tree.size();
        let covered = self
            .checkpoints
            .last()
            .map_or(0, |(size, _)| *size)
            .max(published);
        self.report.unsigned = self.tree.size().saturating_sub(covered);
        if self.report.unsigned > 0 && self.is_strict_before(covered) {
            let what = "events that nobody signed, in a log of level `strict`".to_owned();
            self.report.problem(Some(covered), what);
        } else if self.report.unsigned > 0 {
            let last = crate::query::counted(self.report.unsigned, "event", "events");
            let text = format!("the last {last}: written, and not signed yet");
            self.report.not_checked(&text);
        }
        Ok(())
    }

    /// The level at an event, by the last start before it. A start that nobody signed yet says
    /// nothing about the events that were signed.
    fn is_strict_before(&self, index: u64) -> bool {
        let starts = self.levels.iter().rev();
        let mut earlier = starts.skip_while(|(start, _)| *start >= index);
        earlier.next().is_some_and(|(_, strict)| *strict)
    }

    fn published_size(&self) -> u64 {
        let published = self.published.as_ref();
        published.map_or(0, |(checkpoint, _)| checkpoint.size)
    }

    /// Events that are in bundles only, and hashes of those that are in neither.
    fn read_bundles(&mut self, until: u64, published: u64) -> Result<(), Error> {
        let size = published.max(until);
        let tiles = TileReader::new(&self.log.store, size);
        let mut bundles = Hashed::new(self.log, size);
        let last = until.saturating_sub(1) / WIDTH;
        while self.tree.size() < until {
            let index = self.tree.size() / WIDTH;
            let count = (until - index * WIDTH).min(WIDTH);
            // Some of its events may have come from a segment that is gone since.
            let taken = usize::try_from(self.tree.size() % WIDTH).unwrap_or(0);
            let entries = match bundles.get(index, last) {
                Ok(entries) => entries,
                Err(error) => {
                    self.report.problem(error.index(), error.to_string());
                    return Ok(());
                }
            };
            match entries {
                Some((entries, hashes)) if entries.len() as u64 >= count => {
                    let some = usize::try_from(count).unwrap_or(0);
                    for (entry, hash) in entries.iter().zip(hashes).take(some).skip(taken) {
                        self.take(entry, hash);
                    }
                    if entries.len() as u64 != (size - index * WIDTH).min(WIDTH) {
                        let what = "a bundle holds another number of entries".to_owned();
                        self.report.problem(Some(index * WIDTH + count), what);
                    }
                }
                Some((entries, hashes)) => {
                    for (entry, hash) in entries.iter().zip(hashes).skip(taken) {
                        self.take(entry, hash);
                    }
                    let what = "a bundle holds too few entries".to_owned();
                    self.report.problem(Some(self.tree.size()), what);
                    return Ok(());
                }
                None => {
                    self.missing.push(index);
                    let Ok(hashes) = tiles.tile(0, index) else {
                        let what = "entries and their hashes are missing".to_owned();
                        self.report.problem(Some(self.tree.size()), what);
                        return Ok(());
                    };
                    let some = usize::try_from(count).unwrap_or(0);
                    for hash in hashes.into_iter().take(some).skip(taken) {
                        self.tree.append(hash);
                    }
                    self.report.pruned = self.tree.size();
                }
            }
        }
        Ok(())
    }

    /// Whether reading may go on with the next segment.
    fn read_segment(
        &mut self,
        mut window: Window,
        place: InLog,
        bundle: &mut Last,
    ) -> Result<bool, Error> {
        let InLog {
            first,
            is_last,
            published,
            evidence,
        } = place;
        let length = window.length;
        let header = segment::read_header(&window.bytes)
            .filter(|(header, _)| header.frontier.size() == first && first == self.tree.size());
        let Some((header, start)) = header else {
            let unmade = is_last && first > 0 && published <= first && first == self.tree.size();
            if unmade {
                self.report.torn += length;
            } else {
                let what = "the header of a segment is damaged, or a segment is missing";
                self.report
                    .problem(Some(self.tree.size().min(first)), what.to_owned());
            }
            return Ok(false);
        };
        if first > 0 {
            if root(&self.tree, first).ok() != Some(header.frontier.root()) {
                let what = "a segment does not continue the events before it".to_owned();
                self.report.problem(Some(first), what);
            }
            self.checkpoints
                .push((first, Signature::Note(header.checkpoint)));
        }
        let scan = window.scan(start as u64, first, |item| {
            match item {
                ScannedFrame::Event { index, leaf } => {
                    if index < published {
                        self.compare(bundle, index, leaf, published)?;
                    }
                    self.take(leaf, Hash::leaf(leaf));
                }
                ScannedFrame::Checkpoint(note) => {
                    self.checkpoints
                        .push((self.tree.size(), Signature::Note(note.to_vec())));
                }
                ScannedFrame::Seal(seal) => {
                    self.checkpoints
                        .push((self.tree.size(), Signature::Seal(seal.to_vec())));
                }
            }
            Ok(())
        })?;
        let cut = scan.end < scan.synced.max(evidence) || published > scan.next;
        match scan.stop {
            Stop::Bad { index } if cut || !is_last => {
                let what = "a segment is damaged in a part that was on the disk".to_owned();
                self.report.problem(Some(index), what);
                return Ok(false);
            }
            Stop::Bad { .. } => {
                self.report.torn += length.saturating_sub(scan.end);
                self.report
                    .not_checked("bytes behind the last event: a write that was cut off");
            }
            Stop::Clean if is_last && scan.end < scan.synced.max(evidence) => {
                let what = "a segment has been cut off".to_owned();
                self.report.problem(Some(scan.next), what);
            }
            Stop::Clean => {}
        }
        Ok(true)
    }

    /// The bundle must hold the same bytes as the segment.
    fn compare(
        &mut self,
        bundle: &mut Last,
        index: u64,
        leaf: &[u8],
        published: u64,
    ) -> Result<(), Error> {
        let wanted = index / WIDTH;
        if bundle.index != wanted {
            bundle.index = wanted;
            bundle.entries = match self.log.bundle(wanted, published) {
                Ok(Some(entries)) => {
                    let width = (published - wanted * WIDTH).min(WIDTH);
                    if entries.len() as u64 != width {
                        let what = format!("a bundle holds {} entries", entries.len());
                        let at = (entries.len() as u64).min(width);
                        self.report.problem(Some(wanted * WIDTH + at), what);
                    }
                    Some(entries)
                }
                Ok(None) => {
                    self.missing.push(wanted);
                    None
                }
                Err(error) => {
                    self.report.problem(error.index(), error.to_string());
                    None
                }
            };
        }
        let entry = bundle
            .entries
            .as_ref()
            .and_then(|entries| entries.get(usize::try_from(index % WIDTH).unwrap_or(0)));
        if entry.is_some_and(|entry| entry != leaf) {
            let what = "an entry is not the event that was written".to_owned();
            self.report.problem(Some(index), what);
        }
        Ok(())
    }

    /// Takes an event into the tree, and learns from those that are about the log itself.
    fn take(&mut self, leaf: &[u8], hash: Hash) {
        let index = self.tree.size();
        self.tree.append(hash);
        let Some(kind) = leaf.strip_prefix(b"{\"v\":1,\"type\":\"") else {
            return;
        };
        let about_log = kind.starts_with(b"log.start")
            || kind.starts_with(b"key.rotate")
            || kind.starts_with(b"gap")
            || kind.starts_with(b"rollback")
            || kind.starts_with(b"recovered")
            || kind.starts_with(b"retention.set");
        if !about_log {
            return;
        }
        let Ok(record) = Record::parse(leaf) else {
            return;
        };
        if let Some(start) = record.start {
            if self.first_key.is_none() {
                self.first_key = Some(start.vkey.into_owned());
            }
            self.levels.push((index, start.level == "strict"));
            match &*start.level {
                "ordered" => self.report.not_checked(
                    "the last 50 ms before a crash of the machine: the level is `ordered`",
                ),
                "buffered" => self.report.not_checked(
                    "the last 50 ms before a crash of the machine, and reads of the last 50 ms before the writer was killed: the level is `buffered`",
                ),
                _ => {}
            }
        }
        if self.is_strict_before(index)
            && let Some(recovery) = record.recovery
            && recovery.unsigned_events.0 > 0
        {
            let what = "events were taken over that nobody had signed, in a log of level `strict`";
            let first = index.saturating_sub(recovery.unsigned_events.0);
            self.report.problem(Some(first), what.to_owned());
        }
        if let Some(rotate) = record.rotate {
            self.rotations.push((index, rotate.next_vkey.into_owned()));
        }
        if let Some(retention) = record.retention {
            self.kept_from = self.kept_from.max(retention.min_index.0);
        }
        if record.gap.is_some() {
            self.report
                .not_checked("what is missing at the gaps that the log itself records");
        }
    }
}
