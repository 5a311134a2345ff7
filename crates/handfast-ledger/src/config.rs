//! `log.json`: what a log is. Written once, and again when its level changes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::event::U64;
use crate::keep::Keep;
use crate::level::Level;
use crate::store::Store;

pub(crate) const FILE: &str = "log.json";

/// What was decided when the log was made.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) version: u32,
    /// `<name>/<host>/<log>`, the name of every key of this log.
    pub(crate) origin: String,
    pub(crate) log_id: String,
    pub(crate) level: Level,
    /// Where its keys lie.
    pub(crate) keys: String,
    pub(crate) segment_bytes: U64,
    /// How much is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) keep: Option<Keep>,
}

impl Config {
    pub(crate) fn read(store: &Store) -> Result<Option<Self>, Error> {
        let Some(bytes) = store.read(FILE)? else {
            return Ok(None);
        };
        let bad = |why: String| Error::new(ErrorKind::NotALog, format!("{FILE}: {why}"));
        let config: Self =
            serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        if config.version != 1 {
            return Err(bad(format!("a log of version {}", config.version)));
        }
        crate::note::check_name(&config.origin)?;
        Ok(Some(config))
    }

    pub(crate) fn write(&self, store: &Store) -> Result<(), Error> {
        store.write_new(FILE, &self.to_text()?)
    }

    /// Writes it in the place of the one before, whole or not at all.
    pub(crate) fn replace(&self, store: &Store) -> Result<(), Error> {
        store.write(FILE, &self.to_text()?, handfast::Durability::Full)
    }

    fn to_text(&self) -> Result<Vec<u8>, Error> {
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::invalid(format!("{FILE}: {error}")))?;
        text.push(b'\n');
        Ok(text)
    }

    pub(crate) fn key_path(&self) -> PathBuf {
        PathBuf::from(&self.keys)
    }

    /// The first part of the origin.
    pub(crate) fn name(&self) -> &str {
        self.origin.split('/').next().unwrap_or_default()
    }
}

/// Where the keys of a log lie, or would lie if the log were made now. Nothing is created.
///
/// # Errors
/// A directory that cannot be read; a `log.json` that is none.
pub fn keys_of(log: &Path) -> Result<PathBuf, Error> {
    let made = match Store::open(log) {
        Ok(store) => Config::read(&store)?,
        Err(error) if error.kind() == ErrorKind::NotALog => None,
        Err(error) => return Err(error),
    };
    match made {
        Some(config) => Ok(config.key_path()),
        None => default_key_path(log),
    }
}

/// Beside the log: its name with `.keys` appended.
pub(crate) fn default_key_path(log: &Path) -> Result<PathBuf, Error> {
    let absolute =
        std::path::absolute(log).map_err(|error| Error::os("the log's directory", error))?;
    let name = absolute
        .file_name()
        .ok_or_else(|| Error::invalid("the log's directory has no name"))?;
    let mut name = name.to_os_string();
    name.push(".keys");
    Ok(absolute.with_file_name(name))
}
