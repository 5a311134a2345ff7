//! What a rule says of the names in a directory of the base that a session moved.
//!
//! Only the directory is a change: what lies in it goes along and is in no list. So the directory
//! waits as a name would that a rule speaks of.

use std::fmt;

use handfast::{ErrorKind, FileKind, RelPath, TreeLimits, check_symlink_target};

use crate::error::Error;
use crate::mount::Mount;
use crate::overlay::base_path;
use crate::rules::{DENY, Rule};

/// So many entries of a moved directory are looked at; a larger one waits to be named.
const MAX_ENTRIES: u64 = 200_000;

/// Why a moved directory waits.
pub(crate) enum Inside {
    /// A rule speaks of a name in it, where it was or where it goes.
    Ruled(Rule),
    /// A link in it, which stayed inside, would lead outside from where it goes.
    Outward,
    /// Not everything in it was seen.
    Unknown,
}

impl Inside {
    /// Whether the rule is one that denies. What was not seen may be.
    pub(crate) fn is_denied(&self) -> bool {
        match self {
            Self::Ruled(rule) => rule.list == DENY,
            Self::Outward | Self::Unknown => true,
        }
    }
}

impl fmt::Display for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ruled(rule) => write!(f, "{rule} speaks of a name in the directory"),
            Self::Outward => {
                f.write_str("a link in the directory would lead outside from its new place")
            }
            Self::Unknown => f.write_str("not everything in the directory could be looked at"),
        }
    }
}

/// Looks at everything in a directory of the base that goes from one path to others: by the name that
/// the session has for it, and by the one that the base will have.
///
/// # Errors
/// What the disk says. A directory that may not be read, or has too many entries, is no error: it waits.
pub(crate) fn look(mount: &Mount, from: &[u8], to: &[&[u8]]) -> Result<Option<Inside>, Error> {
    let places: Option<Vec<RelPath>> = std::iter::once(from)
        .chain(to.iter().copied())
        .map(|path| base_path(path).ok())
        .collect();
    let Some(places) = places else {
        return Ok(Some(Inside::Unknown));
    };
    let limits = TreeLimits::new().with_entries(MAX_ENTRIES);
    let mut walk = match mount.base.walk_with(&places[0], limits) {
        Ok(walk) => walk,
        // It went, or it is no directory by now: the commit finds a conflict there.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return unseen(error).map(Some),
    };
    let mut found = None;
    loop {
        let entry = match walk.next_entry() {
            Ok(Some(entry)) => entry,
            Ok(None) => return Ok(found.map(Inside::Ruled)),
            Err(error) => return unseen(error).map(Some),
        };
        let Ok(below) = base_path(&entry.path()) else {
            return Ok(Some(Inside::Unknown));
        };
        if entry.kind() == FileKind::Symlink && turns_outward(mount, &places, &below)? {
            return Ok(Some(Inside::Outward));
        }
        if mount.rules().is_empty() {
            continue;
        }
        let rule = places
            .iter()
            .find_map(|place| mount.holds_back(&place.join(&below)));
        match rule {
            Some(rule) if rule.list == DENY => return Ok(Some(Inside::Ruled(rule))),
            rule => found = found.or(rule),
        }
    }
}

/// What could not be looked at waits; a disk that fails is an error of its own.
fn unseen(error: Error) -> Result<Inside, Error> {
    match error.kind() {
        ErrorKind::Denied | ErrorKind::Limit | ErrorKind::Mount | ErrorKind::TooLong => {
            Ok(Inside::Unknown)
        }
        _ => Err(error),
    }
}

/// Whether a link stays inside where it was, and does not where it goes.
fn turns_outward(mount: &Mount, places: &[RelPath], below: &RelPath) -> Result<bool, Error> {
    let Some((from, to)) = places.split_first() else {
        return Ok(true);
    };
    let from = from.join(below);
    match mount.base.read_link(&from) {
        Ok(target) => {
            let stays = |path: &RelPath| check_symlink_target(target.as_bytes(), path).is_ok();
            Ok(stays(&from) && !to.iter().all(|place| stays(&place.join(below))))
        }
        // It went meanwhile.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
