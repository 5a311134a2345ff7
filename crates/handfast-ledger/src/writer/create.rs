//! Making a log.

use std::path::{Path, PathBuf};

use handfast::Durability;
use rustix::fs::Mode;

use super::ledger::{Ledger, OpenOptions};
use super::system::host_id;
use crate::config::{self, Config};
use crate::error::{Error, ErrorKind};
use crate::event::U64;
use crate::keep::Keep;
use crate::level::Level;
use crate::note::{KeyDir, VerifierKey, fill_random, hex};
use crate::published::{CHECKPOINT, KEYS};
use crate::segment;
use crate::store::Store;

const SEGMENT_BYTES: u64 = 64 * 1024 * 1024;

/// How a log is made.
#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    name: Option<String>,
    level: Level,
    keys: Option<PathBuf>,
    segment_bytes: Option<u64>,
    after: Option<PathBuf>,
    vkey: Option<String>,
    keep: Option<Keep>,
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

    /// How much is kept; default: everything.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = Some(keep);
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
            keep: self.keep,
        };
        config.write(&store)?;
        Ok(key)
    }

    /// A log of its own for a long-lived server, below a log's directory; made if it is not there.
    /// Level, key directory and how much is kept are the upper log's.
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
        let keep = config.keep.unwrap_or_default();
        let made = Self::new()
            .name(format!("{}.{name}", config.name()))
            .keep(keep)
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
pub(super) const AFTER: &str = "after";

/// A key that lies inside the log would be handed out with it.
pub(super) fn refuse_inside(keydir: &KeyDir, store: &Store) -> Result<(), Error> {
    if crate::inside::lies_inside(keydir.path(), &store.identity())? {
        return Err(Error::new(
            ErrorKind::Key,
            "the key directory lies inside the log; it needs a place of its own",
        ));
    }
    Ok(())
}
