//! Opening a log for writing: what is found in it, whose key signs, and what it says first.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use handfast::Durability;

use super::core::Core;
use super::create::{AFTER, refuse_inside};
use super::keeper::Keeper;
use super::ledger::{Ledger, OpenOptions, Shared, hold};
use super::publish::Publisher;
use super::recover::{KnownTree, Recovered, recover};
use super::system::{boot_id, kernel, own_digest};
use crate::config::Config;
use crate::disk::Disk;
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, Gap, Record, Recovery, Start, U64};
use crate::level::Level;
use crate::lock::WriterLock;
use crate::merkle::Frontier;
use crate::note::{Ed25519Signer, KeyDir, Signer, from_credentials};
use crate::published;
use crate::segment::{self, SegmentFile, SegmentHeader};
use crate::state::State;
use crate::store::Store;

/// Space that is given up when there is no other, so that the log's end can be published.
pub(crate) const RESERVE: &str = "reserve";
const RESERVE_BYTES: usize = 256 * 1024;
const SMALL_RESERVE: u64 = 16 * 1024;
/// So many events.
const LARGE_LOG: u64 = 16 * 1024;
const PATIENCE: Duration = Duration::from_secs(5);
const SOFTWARE: &str = concat!("handfast-ledger ", env!("CARGO_PKG_VERSION"));

/// Opens a log for writing.
pub(super) fn open(dir: &Path, options: OpenOptions) -> Result<Ledger, Error> {
    let store = Store::open(dir)?;
    let mut config = Config::read(&store)?
        .ok_or_else(|| Error::new(ErrorKind::NotALog, "there is no log here"))?;
    let lock = WriterLock::take(&store, options.patience.unwrap_or(PATIENCE))?;
    let keys = published::keys(&store)?;
    let published = published::checkpoint(&store)?;
    if let Some((checkpoint, note)) = &published {
        note.verify(&keys)
            .map_err(|error| Error::corrupt(checkpoint.size, format!("the checkpoint: {error}")))?;
        if checkpoint.origin != config.origin {
            return Err(Error::corrupt(0, "the checkpoint is of another log"));
        }
    }
    let state = State::read(&store);
    let found = recover(
        &store,
        &KnownTree {
            level: config.level,
            origin: &config.origin,
            keys: &keys,
            published: published.as_ref().map(|(checkpoint, _)| checkpoint),
            state: state.as_ref(),
        },
    )?;
    let next_key = found.as_ref().and_then(|found| found.next_key.clone());
    let OwnSigner {
        signer,
        keydir,
        waiting,
    } = match options.signer {
        Some(signer) => OwnSigner {
            signer,
            keydir: None,
            waiting: None,
        },
        None => own_signer(&store, &config, next_key.as_deref())?,
    };
    let named = keys.last().map(ToString::to_string);
    let waits = waiting.as_ref().map(Signer::vkey);
    if named.is_none() || (named != Some(signer.vkey()) && named != waits) {
        return Err(Error::new(
            ErrorKind::Key,
            "the signing key is not the one that the log names",
        ));
    }
    let disk = Arc::new(Disk::default());
    let fresh = found.is_none();
    let found = match found {
        Some(found) => found,
        None => first_segment(&store, &disk)?,
    };
    let dirty = found.torn > 0;
    let segment = SegmentFile::resume(&store, &disk, found.end.segment, found.end.offset, dirty)?;
    let told = published.map(|(checkpoint, _)| (checkpoint.size, checkpoint.root));
    let is_told = told.is_some();
    let publisher = Publisher::resume(&store, told, found.published_at)?;
    keep_reserve(&store)?;
    let boot_id = boot_id();
    let mut core = Core {
        store: store.clone(),
        disk: Arc::clone(&disk),
        level: config.level,
        segment_bytes: config.segment_bytes.0,
        origin: config.origin.clone(),
        signer,
        segment,
        frontier: found.frontier.clone(),
        unsigned: found.unsigned,
        signed: found.signed.clone(),
    };
    let changed = options.level.filter(|level| *level != config.level);
    if let Some(level) = changed {
        begin_change(&mut core, &mut config, level)?;
    }
    let shared = Arc::new(Shared {
        level: config.level,
        log_id: config.log_id.clone(),
        keydir,
        core: Mutex::new(core),
        queue: Mutex::default(),
        syncing: Mutex::default(),
        publisher: Mutex::new(publisher),
        poison: OnceLock::new(),
        lost: AtomicU64::new(0),
        bell: super::keeper::Bell::default(),
        boot_id: boot_id.clone(),
        policy: Mutex::default(),
        keep: options.keep.or(config.keep).unwrap_or_default(),
        disk,
        store,
        _lock: lock,
    });
    let ledger = Ledger {
        shared: Arc::clone(&shared),
        keeper: Mutex::new(None),
    };
    if let Some(waiting) = waiting {
        ledger.finish_rotation(waiting)?;
    }
    let news = (fresh, changed.is_some());
    first_events(&ledger, &found, news, boot_id.as_deref())?;
    if let Some(level) = changed {
        config.replace(&shared.store)?;
        hold(&shared.core).level = level;
    }
    if !is_told {
        // A log of several events without a checkpoint has lost it: the first one is there before the
        // second event is written.
        ledger.publish()?;
    }
    let keeper = Keeper::start(&shared, options.publish_every)
        .map_err(|error| Error::os("starting the log's thread", error))?;
    *hold(&ledger.keeper) = Some(keeper);
    Ok(ledger)
}

/// Another level from here on. What is there was written at the old one, and is good at any once it is
/// signed. What tells of the change is signed with its write: a process that is killed here leaves
/// nothing unsigned.
fn begin_change(core: &mut Core, config: &mut Config, level: Level) -> Result<(), Error> {
    core.settle()?;
    core.level = Level::Strict;
    config.level = level;
    match level {
        // The file may ask for more than the log says, never for less.
        Level::Strict => config.replace(&core.store),
        Level::Ordered | Level::Buffered => Ok(()),
    }
}

/// Keeps room free as long as the log is written to.
fn keep_reserve(store: &Store) -> Result<(), Error> {
    if store.length(RESERVE)? >= RESERVE_BYTES as u64 {
        return Ok(());
    }
    let file = store.open_file(RESERVE, true)?;
    let taken = rustix::fs::fallocate(
        &file,
        rustix::fs::FallocateFlags::empty(),
        0,
        RESERVE_BYTES as u64,
    );
    match taken {
        Ok(()) => Ok(()),
        // Where a filesystem cannot take space ahead, writing zeros does it.
        Err(_) => store.write(RESERVE, &vec![0; RESERVE_BYTES], Durability::None),
    }
}

/// Gives most of that room back when the writer of a small log goes: beside its events it would be
/// most of what the log takes.
pub(super) fn shrink_reserve(store: &Store, size: u64) -> Result<(), Error> {
    if size >= LARGE_LOG || store.length(RESERVE)? == 0 {
        return Ok(());
    }
    store
        .open_file(RESERVE, false)?
        .set_len(SMALL_RESERVE)
        .map_err(|error| Error::os("giving back space", error))
}

/// What a log says before anything else: that it begins, on which machine, after what.
fn first_events(
    ledger: &Ledger,
    found: &Recovered,
    (fresh, changed): (bool, bool),
    boot_id: Option<&str>,
) -> Result<(), Error> {
    let recovered = found.torn > 0 || found.unsigned > 0;
    if recovered && changed {
        // It is about what was written at the level from before.
        tell_recovered(ledger, found)?;
    }
    if fresh || changed || found.boot_id.as_deref() != boot_id || boot_id.is_none() {
        let previous = match fresh {
            true => ledger.shared.store.read(AFTER)?,
            false => None,
        };
        let previous = previous.map(|note| String::from_utf8_lossy(&note).into_owned());
        let mut record = Record::about_log(EventKind::LogStart);
        record.start = Some(Start {
            schema: 1,
            vkey: Cow::Owned(ledger.vkey()),
            level: Cow::Borrowed(ledger.shared.level.name()),
            software: Cow::Borrowed(SOFTWARE),
            software_sha256: own_digest().map(Cow::Owned),
            boot_id: boot_id.map(Cow::Borrowed),
            kernel: Some(Cow::Owned(kernel())),
            policy_sha256: None,
            previous: previous.clone().map(Cow::Owned),
        });
        let _first = ledger.append(&record)?;
        if let Some(previous) = previous {
            let mut record = Record::about_log(EventKind::Gap);
            record.gap = Some(Gap {
                events: None,
                reason: Cow::Borrowed("the log before could not be continued"),
                previous: Some(Cow::Owned(previous)),
            });
            let _second = ledger.append(&record)?;
        }
    }
    if recovered && !changed {
        tell_recovered(ledger, found)?;
    }
    Ok(())
}

/// What was found that no writer has signed.
fn tell_recovered(ledger: &Ledger, found: &Recovered) -> Result<(), Error> {
    let mut record = Record::about_log(EventKind::Recovered);
    record.recovery = Some(Recovery {
        dropped_bytes: U64(found.torn),
        unsigned_events: U64(found.unsigned),
    });
    let _recovered = ledger.append(&record)?;
    Ok(())
}

fn first_segment(store: &Store, disk: &Disk) -> Result<Recovered, Error> {
    store.make_dir(segment::DIR)?;
    let header = SegmentHeader {
        frontier: Frontier::new(),
        checkpoint: Vec::new(),
    };
    let segment = SegmentFile::create(store, disk, &header)?;
    let end = super::recover::Offset {
        segment: 0,
        offset: segment.offset,
    };
    Ok(Recovered {
        end,
        frontier: Frontier::new(),
        signed: None,
        unsigned: 0,
        torn: 0,
        published_at: None,
        boot_id: None,
        next_key: None,
    })
}

struct OwnSigner {
    signer: Box<dyn Signer>,
    keydir: Option<KeyDir>,
    /// The next key, if the log names it and the change was cut off.
    waiting: Option<Ed25519Signer>,
}

/// The key of a service's credentials, or of the key directory.
fn own_signer(store: &Store, config: &Config, next: Option<&str>) -> Result<OwnSigner, Error> {
    if let Some(signer) = from_credentials()? {
        return Ok(OwnSigner {
            signer: Box::new(signer),
            keydir: None,
            waiting: None,
        });
    }
    let keydir = KeyDir::open(&config.key_path())?;
    refuse_inside(&keydir, store)?;
    let signer = keydir.load(&config.log_id)?;
    let mut waiting = keydir.load_next(&config.log_id)?;
    if waiting.is_some() && waiting.as_ref().map(Signer::vkey).as_deref() != next {
        // The log never named it.
        keydir.drop_next(&config.log_id)?;
        waiting = None;
    }
    Ok(OwnSigner {
        signer: Box::new(signer),
        keydir: Some(keydir),
        waiting,
    })
}
