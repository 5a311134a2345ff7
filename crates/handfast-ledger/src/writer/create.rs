//! Making a log, and opening one.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use handfast::Durability;
use rustix::fs::Mode;
use sha2::{Digest, Sha256};

use super::core::Core;
use super::keeper::Keeper;
use super::ledger::{Ledger, OpenOptions, Shared, hold};
use super::publish::Publisher;
use super::recover::{Known, Recovered, recover};
use crate::config::{self, Config};
use crate::disk::Disk;
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, Gap, Record, Recovery, Start, U64};
use crate::level::Level;
use crate::lock::WriterLock;
use crate::merkle::Frontier;
use crate::note::{Ed25519Signer, KeyDir, Signer, VerifierKey, fill_random, from_credentials, hex};
use crate::published::{self, CHECKPOINT, KEYS};
use crate::segment::{self, SegmentFile, SegmentHeader};
use crate::state::State;
use crate::store::Store;

/// Space that is given up when there is no other, so that the log's end can be published.
pub(crate) const RESERVE: &str = "reserve";
const RESERVE_BYTES: usize = 256 * 1024;
const PATIENCE: Duration = Duration::from_secs(5);
const SEGMENT_BYTES: u64 = 64 * 1024 * 1024;
const SOFTWARE: &str = concat!("handfast-ledger ", env!("CARGO_PKG_VERSION"));

/// How a log is made.
#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    name: Option<String>,
    level: Level,
    keys: Option<PathBuf>,
    segment_bytes: Option<u64>,
    after: Option<PathBuf>,
    vkey: Option<String>,
}

impl CreateOptions {
    /// A log named `handfast`, at level `ordered`, with its keys beside it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The first part of the log's origin.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What an answered event has survived.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Where the keys lie; default: beside the log, its name with `.keys` appended.
    #[must_use]
    pub fn keys(mut self, path: impl Into<PathBuf>) -> Self {
        self.keys = Some(path.into());
        self
    }

    /// How large a segment grows, at least 256 KiB.
    #[must_use]
    pub fn segment_bytes(mut self, bytes: u64) -> Self {
        self.segment_bytes = Some(bytes);
        self
    }

    /// A log that cannot be continued, and that this one takes the place of.
    #[must_use]
    pub fn after(mut self, log: impl Into<PathBuf>) -> Self {
        self.after = Some(log.into());
        self
    }

    /// Somebody else signs; this is their public key, whose name becomes the origin.
    #[must_use]
    pub fn outside_key(mut self, vkey: impl Into<String>) -> Self {
        self.vkey = Some(vkey.into());
        self
    }

    /// Makes the log. Its first event is written when it is opened first.
    ///
    /// # Errors
    /// `Exists` if there is one; `Key` if the key directory lies inside the log or cannot be
    /// written; `Invalid` for a name that cannot be a key's.
    pub fn create(&self, dir: impl AsRef<Path>) -> Result<VerifierKey, Error> {
        let dir = dir.as_ref();
        match rustix::fs::mkdir(dir, Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(Error::os("making the log's directory", error)),
        }
        let store = Store::open(dir)?;
        if Config::read(&store)?.is_some() || store.read(CHECKPOINT)?.is_some() {
            return Err(Error::new(ErrorKind::Exists, "there is a log here already"));
        }
        let mut random = [0; 8];
        fill_random(&mut random)?;
        let log_id = hex(&random);
        let key_path = match &self.keys {
            Some(path) => {
                std::path::absolute(path).map_err(|error| Error::os("the key directory", error))?
            }
            None => config::default_key_path(dir)?,
        };
        let keys = key_path
            .to_str()
            .ok_or_else(|| Error::invalid("the key directory's path is not UTF-8"))?
            .to_owned();
        let origin = match &self.vkey {
            Some(vkey) => VerifierKey::parse(vkey)?.name().to_owned(),
            None => {
                let name = self.name.as_deref().unwrap_or("handfast");
                format!("{name}/{}/{log_id}", host_id())
            }
        };
        crate::note::check_name(&origin)?;
        let key = match &self.vkey {
            Some(vkey) => VerifierKey::parse(vkey)?,
            None => {
                let keydir = KeyDir::open_or_create(&key_path)?;
                refuse_inside(&keydir, &store)?;
                keydir.create(&log_id, &origin)?.public().clone()
            }
        };
        store.make_dir(segment::DIR)?;
        store.write(KEYS, format!("{key}\n").as_bytes(), Durability::Full)?;
        if let Some(previous) = &self.after {
            let old = Store::open(previous)?;
            let note = old.read(CHECKPOINT)?.unwrap_or_default();
            store.write(AFTER, &note, Durability::Full)?;
        }
        let config = Config {
            version: 1,
            origin,
            log_id,
            level: self.level,
            keys,
            segment_bytes: U64(self.segment_bytes.unwrap_or(SEGMENT_BYTES).max(256 * 1024)),
        };
        config.write(&store)?;
        Ok(key)
    }

    /// A log of its own for a long-lived server, below a log's directory; made if it is not there.
    /// Level and key directory are the upper log's.
    ///
    /// # Errors
    /// `NotALog` if the upper directory is none; as [`CreateOptions::create`] and [`Ledger::open`].
    pub fn open_below(
        dir: impl AsRef<Path>,
        name: &str,
        options: OpenOptions,
    ) -> Result<Ledger, Error> {
        let upper = Store::open(dir.as_ref())?;
        let config = Config::read(&upper)?
            .ok_or_else(|| Error::new(ErrorKind::NotALog, "there is no log here"))?;
        // One plain component; `segments`, `tile` and `epochs` hold no `log.json` and never will.
        if handfast::Name::parse(name).is_err() || name.contains(['+', ' ']) {
            return Err(Error::invalid("a server's log is named by one plain word"));
        }
        let below = dir.as_ref().join(name);
        let made = Self::new()
            .name(format!("{}.{name}", config.name()))
            .level(config.level)
            .keys(config.key_path())
            .segment_bytes(config.segment_bytes.0)
            .create(&below);
        match made {
            Err(error) if error.kind() != ErrorKind::Exists => Err(error),
            _ => Ledger::open(&below, options),
        }
    }
}

/// The last checkpoint of the log that this one takes the place of.
const AFTER: &str = "after";

/// A key that lies inside the log would be handed out with it.
fn refuse_inside(keydir: &KeyDir, store: &Store) -> Result<(), Error> {
    if crate::inside::lies_inside(keydir.path(), &store.identity())? {
        return Err(Error::new(
            ErrorKind::Key,
            "the key directory lies inside the log; it needs a place of its own",
        ));
    }
    Ok(())
}

/// Opens a log for writing.
pub(super) fn open(dir: &Path, options: OpenOptions) -> Result<Ledger, Error> {
    let store = Store::open(dir)?;
    let config = Config::read(&store)?
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
        &Known {
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
    let publisher = Publisher::resume(&store, told, found.published_at)?;
    let reserve = vec![0; RESERVE_BYTES];
    if store.open_read(RESERVE)?.is_none() {
        store.write(RESERVE, &reserve, Durability::None)?;
    }
    let boot_id = boot_id();
    let shared = Arc::new(Shared {
        level: config.level,
        log_id: config.log_id.clone(),
        keydir,
        core: Mutex::new(Core {
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
            buffer: Vec::new(),
        }),
        queue: Mutex::default(),
        publisher: Mutex::new(publisher),
        poison: OnceLock::new(),
        bell: super::keeper::Bell::default(),
        boot_id: boot_id.clone(),
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
    first_events(&ledger, &found, fresh, boot_id.as_deref())?;
    let keeper = Keeper::start(&shared, options.publish_every)
        .map_err(|error| Error::os("starting the log's thread", error))?;
    *hold(&ledger.keeper) = Some(keeper);
    Ok(ledger)
}

/// What a log says before anything else: that it begins, on which machine, after what.
fn first_events(
    ledger: &Ledger,
    found: &Recovered,
    fresh: bool,
    boot_id: Option<&str>,
) -> Result<(), Error> {
    if fresh || found.boot_id.as_deref() != boot_id || boot_id.is_none() {
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
    if found.torn > 0 || found.unsigned > 0 {
        let mut record = Record::about_log(EventKind::Recovered);
        record.recovery = Some(Recovery {
            dropped_bytes: U64(found.torn),
            unsigned_events: U64(found.unsigned),
        });
        let _recovered = ledger.append(&record)?;
    }
    Ok(())
}

fn first_segment(store: &Store, disk: &Disk) -> Result<Recovered, Error> {
    store.make_dir(segment::DIR)?;
    let header = SegmentHeader {
        frontier: Frontier::new(),
        checkpoint: Vec::new(),
    };
    let segment = SegmentFile::create(store, disk, &header)?;
    let end = super::recover::Place {
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

fn host_id() -> String {
    let id = read_system("etc", "machine-id").unwrap_or_else(|| "unknown".to_owned());
    // The machine's id is not for everybody; a digest tells machines apart as well.
    let digest: [u8; 32] = Sha256::digest(format!("handfast log {id}")).into();
    hex(&digest[..8])
}

fn boot_id() -> Option<String> {
    read_system("proc/sys/kernel/random", "boot_id")
}

fn read_system(dir: &str, name: &str) -> Option<String> {
    let store = Store::open(&Path::new("/").join(dir)).ok()?;
    let bytes = store.read(name).ok()??;
    Some(String::from_utf8(bytes).ok()?.trim().to_owned())
}

fn kernel() -> String {
    let name = rustix::system::uname();
    name.release().to_string_lossy().into_owned()
}

/// The digest of the running program.
fn own_digest() -> Option<String> {
    let path = std::env::current_exe().ok()?;
    let mut file = std::fs::File::open(path).ok()?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match std::io::Read::read(&mut file, &mut buffer).ok()? {
            0 => break,
            got => hasher.update(&buffer[..got]),
        }
    }
    let digest: [u8; 32] = hasher.finalize().into();
    Some(hex(&digest))
}
