//! What of a log counts when it is opened.
//!
//! * A bad place *behind* everything that was known to be on the disk is a torn write: it is
//!   dropped and `recovered` says so. Nobody was answered for it at `strict`.
//! * A bad place *before* that was whole once: the log is damaged and is not opened.
//! * A published checkpoint must be matched, in size and root.

use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, Record};
use crate::level::Level;
use crate::merkle::{Frontier, Hash};
use crate::note::{Checkpoint, SignedNote, VerifierKey};
use crate::segment::{self, Scan, ScannedFrame, Stop};
use crate::state::State;
use crate::store::Store;

/// The place behind something in a segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Offset {
    /// The first event of the segment.
    pub(crate) segment: u64,
    pub(crate) offset: u64,
}

/// A signed checkpoint and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) note: Vec<u8>,
    pub(crate) place: Offset,
    pub(crate) frontier: Frontier,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) end: Offset,
    pub(crate) frontier: Frontier,
    pub(crate) signed: Option<Signed>,
    /// Events behind the last checkpoint.
    pub(crate) unsigned: u64,
    /// Bytes that are no frames, to be dropped.
    pub(crate) torn: u64,
    /// Where the events begin that have not been published.
    pub(crate) published_at: Option<Offset>,
    pub(crate) boot_id: Option<String>,
    /// The key that the last `key.rotate` names.
    pub(crate) next_key: Option<String>,
}

/// What is known before the segments are read.
pub(crate) struct KnownTree<'a> {
    pub(crate) level: Level,
    pub(crate) origin: &'a str,
    pub(crate) keys: &'a [VerifierKey],
    pub(crate) published: Option<&'a Checkpoint>,
    pub(crate) state: Option<&'a State>,
}

/// Reads the end of the log, or all that is needed to know it. `None` if there is no segment.
pub(crate) fn recover(store: &Store, known: &KnownTree<'_>) -> Result<Option<Recovered>, Error> {
    let segments = segment::list(store)?;
    let Some(last) = segments.last().copied() else {
        return match known.published {
            Some(published) if published.size > 0 => Err(rolled_back(published, 0)),
            _ => Ok(None),
        };
    };
    if let Some(state) = known.state
        && state.segment.0 == last
        && let Some(found) = from_state(store, known, state)?
    {
        return Ok(Some(found));
    }
    from_start(store, known, &segments).map(Some)
}

fn rolled_back(published: &Checkpoint, here: u64) -> Error {
    Error::new(
        ErrorKind::Rollback,
        format!(
            "a checkpoint of {} events was published, and only {here} are here",
            published.size
        ),
    )
}

/// The quick way: from where the last publication left off.
fn from_state(
    store: &Store,
    known: &KnownTree<'_>,
    state: &State,
) -> Result<Option<Recovered>, Error> {
    let (Some(published), Some(frontier)) = (known.published, state.frontier()) else {
        return Ok(None);
    };
    if frontier.size() != published.size || frontier.root() != published.root {
        return Ok(None);
    }
    let place = Offset {
        segment: state.segment.0,
        offset: state.offset.0,
    };
    let bytes = read_segment(store, place.segment)?;
    let Some(bytes) = behind_whole_frames(&bytes, place, state.size.0) else {
        return Ok(None);
    };
    let mut walk = TreeBuilder::new(known, frontier);
    walk.boot_id.clone_from(&state.boot_id);
    walk.published_at = Some(place);
    let scan = walk.scan(bytes, place)?;
    if scan.end == place.offset && scan.stop != Stop::Clean {
        // Nothing fits here: perhaps the state is wrong and not the segment.
        return Ok(None);
    }
    walk.finish(bytes, place, scan, place.offset).map(Some)
}

/// What follows a place, if everything before it is whole. Nobody writes on behind damage: readers
/// would have to guess what the log held. Checksums are enough for that, and quick.
fn behind_whole_frames(bytes: &[u8], place: Offset, size: u64) -> Option<&[u8]> {
    let (before, behind) = bytes.split_at_checked(usize::try_from(place.offset).ok()?)?;
    let (header, start) = segment::read_header(before)?;
    let scan = segment::scan(&before[start..], start as u64, place.segment, |_, _| Ok(())).ok()?;
    let whole = header.frontier.size() == place.segment
        && scan.stop == Stop::Clean
        && (scan.end, scan.next) == (place.offset, size);
    whole.then_some(behind)
}

fn from_start(store: &Store, known: &KnownTree<'_>, segments: &[u64]) -> Result<Recovered, Error> {
    let wanted = known.published.map_or(u64::MAX, |published| published.size);
    let mut at = segments.partition_point(|first| *first <= wanted).max(1) - 1;
    let mut dropped = 0;
    let mut walk: Option<TreeBuilder<'_>> = None;
    loop {
        let first = segments[at];
        let bytes = read_segment(store, first)?;
        let is_last = at + 1 == segments.len();
        let header =
            segment::read_header(&bytes).filter(|(header, _)| header.frontier.size() == first);
        let Some((header, start)) = header else {
            // A segment whose making was cut off; the one before is the last then.
            let unmade = is_last && at > 0 && bytes.len() < 256 * 1024;
            let before = walk.as_ref().map(|walk| walk.frontier.size());
            let published = known.published.map_or(0, |published| published.size);
            if !unmade || before.is_some_and(|size| size != first) || published > first {
                return Err(Error::corrupt(first, "the header of a segment is damaged"));
            }
            store.remove(&segment::name(first))?;
            dropped += used(&bytes);
            return from_start(store, known, &segments[..at]).map(|mut found| {
                found.torn += dropped;
                found
            });
        };
        let place = Offset {
            segment: first,
            offset: start as u64,
        };
        let mut current = match walk.take() {
            Some(walk) if walk.frontier == header.frontier => walk,
            Some(_) => {
                return Err(Error::corrupt(
                    first,
                    "a segment does not continue the one before",
                ));
            }
            None => {
                let mut walk = TreeBuilder::new(known, header.frontier.clone());
                // The `log.start` may be in a segment that is gone.
                walk.boot_id = known.state.and_then(|state| state.boot_id.clone());
                walk.start_from(&header.checkpoint, place)?;
                walk
            }
        };
        current.arrive(place);
        let scan = current.scan(&bytes[start..], place)?;
        let evidence = known
            .state
            .filter(|state| state.segment.0 == first)
            .map_or(0, |state| state.offset.0);
        if is_last {
            return current.finish(&bytes[start..], place, scan, evidence);
        }
        if scan.stop != Stop::Clean || scan.next != segments[at + 1] {
            return Err(Error::corrupt(
                scan.next,
                "a segment that was finished is damaged or cut off",
            ));
        }
        walk = Some(current);
        at += 1;
    }
}

/// What a segment holds; nothing if it is not there.
fn read_segment(store: &Store, first: u64) -> Result<Vec<u8>, Error> {
    Ok(store.read(&segment::name(first))?.unwrap_or_default())
}

/// How many bytes there are up to the last that is not zero.
fn used(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last as u64 + 1)
}

/// The tree as it grows while frames are read.
struct TreeBuilder<'a> {
    known: &'a KnownTree<'a>,
    frontier: Frontier,
    signed: Option<Signed>,
    published_at: Option<Offset>,
    boot_id: Option<String>,
    next_key: Option<String>,
}

impl<'a> TreeBuilder<'a> {
    fn new(known: &'a KnownTree<'a>, frontier: Frontier) -> Self {
        Self {
            known,
            frontier,
            signed: None,
            published_at: None,
            boot_id: None,
            next_key: None,
        }
    }

    /// The checkpoint in a segment's header must be of the tree that it begins with.
    fn start_from(&mut self, note: &[u8], place: Offset) -> Result<(), Error> {
        if self.frontier.size() > 0 {
            self.meet(note, place)?;
        }
        Ok(())
    }

    /// Notes the place if this is where the published events end.
    fn arrive(&mut self, place: Offset) {
        if self
            .known
            .published
            .is_none_or(|published| published.size == self.frontier.size())
            && self.published_at.is_none()
        {
            self.published_at = Some(place);
        }
    }

    fn meet(&mut self, note: &[u8], place: Offset) -> Result<(), Error> {
        let size = self.frontier.size();
        let (checkpoint, _) =
            Checkpoint::of_note(note).map_err(|error| Error::corrupt(size, error.to_string()))?;
        let fits = checkpoint.origin == self.known.origin
            && checkpoint.size == size
            && checkpoint.root == self.frontier.root();
        if !fits {
            return Err(Error::corrupt(
                size.saturating_sub(1),
                "a checkpoint does not fit the events before it",
            ));
        }
        self.signed = Some(Signed {
            checkpoint,
            note: note.to_vec(),
            place,
            frontier: self.frontier.clone(),
        });
        Ok(())
    }

    /// A seal is of the tree as it is; whether it is good is asked of the last one.
    fn meet_seal(&mut self, seal: &[u8], place: Offset) -> Result<(), Error> {
        let size = self.frontier.size();
        let checkpoint = Checkpoint {
            origin: self.known.origin.to_owned(),
            size,
            root: self.frontier.root(),
        };
        let note = SignedNote::of_seal(checkpoint.to_text(), self.known.origin, seal)
            .ok_or_else(|| Error::corrupt(size, "a batch with half a signature"))?;
        self.signed = Some(Signed {
            checkpoint,
            note: note.to_text().into_bytes(),
            place,
            frontier: self.frontier.clone(),
        });
        Ok(())
    }

    fn take(&mut self, leaf: &[u8]) -> Result<(), Error> {
        self.frontier.append(Hash::leaf(leaf));
        if let Some(published) = self.known.published
            && published.size == self.frontier.size()
            && published.root != self.frontier.root()
        {
            return Err(Error::corrupt(
                published.size - 1,
                "the events are not those of the published checkpoint",
            ));
        }
        if leaf.starts_with(b"{\"v\":1,\"type\":\"log.start\"")
            || leaf.starts_with(b"{\"v\":1,\"type\":\"key.rotate\"")
        {
            self.learn(leaf);
        }
        Ok(())
    }

    fn learn(&mut self, leaf: &[u8]) {
        let Ok(record) = Record::parse(leaf) else {
            return;
        };
        if record.kind == EventKind::LogStart {
            let start = record.start.as_ref();
            self.boot_id = start.and_then(|start| start.boot_id.as_deref().map(str::to_owned));
        }
        if let Some(rotate) = record.rotate {
            self.next_key = Some(rotate.next_vkey.into_owned());
        }
    }

    fn scan(&mut self, bytes: &[u8], from: Offset) -> Result<Scan, Error> {
        let next = self.frontier.size();
        let mut arrived = None;
        let scan = segment::scan(bytes, from.offset, next, |item, behind| {
            let place = Offset {
                segment: from.segment,
                offset: behind,
            };
            match item {
                ScannedFrame::Event { leaf, .. } => {
                    self.take(leaf)?;
                    arrived = Some(place);
                }
                ScannedFrame::Checkpoint(note) => self.meet(note, place)?,
                ScannedFrame::Seal(seal) => self.meet_seal(seal, place)?,
            }
            // Only behind a whole batch: publication starts there.
            if let Some(place) = arrived.take() {
                self.arrive(place);
            }
            Ok(())
        })?;
        Ok(scan)
    }

    fn finish(
        self,
        bytes: &[u8],
        from: Offset,
        scan: Scan,
        evidence: u64,
    ) -> Result<Recovered, Error> {
        let torn = match scan.stop {
            Stop::Clean => 0,
            Stop::Bad { .. } => {
                let behind = usize::try_from(scan.end - from.offset).unwrap_or(bytes.len());
                used(&bytes[behind.min(bytes.len())..])
            }
        };
        let bad = match scan.stop {
            Stop::Clean => scan.next,
            Stop::Bad { index } => index,
        };
        if scan.end < scan.synced.max(evidence) {
            return Err(Error::corrupt(
                bad,
                "the log is damaged in a part that was on the disk",
            ));
        }
        if let Some(published) = self.known.published
            && published.size > self.frontier.size()
        {
            return Err(match scan.stop {
                Stop::Clean => rolled_back(published, self.frontier.size()),
                Stop::Bad { .. } => {
                    Error::corrupt(bad, "the log is damaged in a part that has been published")
                }
            });
        }
        if let Some(signed) = &self.signed {
            SignedNote::parse(&signed.note)
                .and_then(|note| note.verify(self.known.keys).map(drop))
                .map_err(|error| {
                    Error::corrupt(
                        signed.checkpoint.size,
                        format!("the last checkpoint: {error}"),
                    )
                })?;
        }
        let covered = self
            .signed
            .as_ref()
            .map(|signed| signed.checkpoint.size)
            .or(self.known.published.map(|published| published.size))
            .unwrap_or(0);
        // At `strict` a batch is sealed in the write that brings it: these are somebody else's.
        if self.known.level == Level::Strict && self.frontier.size() > covered {
            return Err(Error::corrupt(
                covered,
                "events that nobody signed, in a log of level `strict`",
            ));
        }
        Ok(Recovered {
            end: Offset {
                segment: from.segment,
                offset: scan.end,
            },
            unsigned: self.frontier.size() - covered.min(self.frontier.size()),
            frontier: self.frontier,
            signed: self.signed,
            torn,
            published_at: self.published_at,
            boot_id: self.boot_id,
            next_key: self.next_key,
        })
    }
}
