//! Charges around what is done to a directory of the host itself.

use handfast::{Metadata, RelPath, Root};

use super::books::{BookEntry, Charge};
use super::{Account, Key};
use crate::error::Error;

/// What becomes of what a name refers to while something is made there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Making {
    /// Another object takes its place.
    Replaces,
    /// It is changed itself.
    InPlace,
}

/// Where something is made.
pub(crate) struct CreationSite<'a> {
    /// The directory from which the path counts.
    pub(crate) root: &'a Root,
    pub(crate) mount: u32,
    pub(crate) path: &'a RelPath,
    /// The whole path below the mount, under which the books remember it.
    pub(crate) walked: &'a RelPath,
}

impl Account {
    /// Makes something under a path of a directory of the host: charged as pending, made, and then
    /// charged to the object it became. `len` is the length it will have, and `how` says what
    /// becomes of what stands there.
    pub(crate) fn around_making<T>(
        &self,
        site: &CreationSite<'_>,
        (len, how): (u64, Making),
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.counting {
            return make();
        }
        let &CreationSite {
            root, mount, path, ..
        } = site;
        let turn = self.turn()?;
        let old = root.symlink_metadata(path).ok();
        let old_key = old.as_ref().map(|old| Key::of(mount, old));
        // What is replaced and has other names lives on under them, with what it was charged.
        let lives_on =
            how == Making::Replaces && old.as_ref().is_some_and(Metadata::has_other_names);
        let place = site.walked.as_bytes().to_vec();
        {
            let mut books = turn.state();
            let known = old_key.and_then(|key| books.charges.get(&key)).copied();
            let replaced = known.unwrap_or_default();
            let base = match (known, &old) {
                _ if lives_on => 0,
                (Some(known), _) => known.base,
                (None, Some(old)) if old.is_file() => old.len,
                _ => 0,
            };
            let is_new = old.is_none() || lives_on;
            let new = Charge {
                base,
                bytes: len.saturating_sub(base),
                inodes: if is_new { 1 } else { replaced.inodes },
            };
            if old_key.is_some_and(|key| how == Making::Replaces && self.is_held(key)) && !lives_on
            {
                let none = Charge::default();
                self.check(&books, mount, len, none, new, none)?;
            } else if lives_on {
                let name = replaced.one_name();
                self.check(&books, mount, len, Charge::default(), new, name)?;
            } else {
                self.check(&books, mount, len, replaced, new, Charge::default())?;
            }
            books.enter(BookEntry::Pending(mount, place.clone(), new))?;
        }
        let made = make();
        let mut books = turn.state();
        match (&made, root.symlink_metadata(path)) {
            // Something may have been made although it was answered with an error.
            (_, Ok(now)) => {
                let key = Key::of(mount, &now);
                if let (Some(new), Ok(_)) = (books.pending.get(&(mount, place.clone())), &made) {
                    let mut charge = *new;
                    if now.is_file() {
                        charge.bytes = charge.bytes.max(now.len.saturating_sub(charge.base));
                    }
                    if let Some(old) = old_key.filter(|old| *old != key) {
                        self.name_gone(&mut books, old, lives_on)?;
                    }
                    books.enter(BookEntry::Set(key, charge))?;
                }
            }
            (_, Err(_)) => {}
        }
        books.enter(BookEntry::Done(mount, place))?;
        made
    }

    /// Removes something under a path of a directory of the host, and gives back what it was
    /// charged, if that was its last name.
    pub(crate) fn around_removing<T>(
        &self,
        root: &Root,
        mount: u32,
        path: &RelPath,
        remove: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.counting {
            return remove();
        }
        let turn = self.turn()?;
        let old = root.symlink_metadata(path).ok();
        let removed = remove()?;
        if let Some(old) = old {
            let key = Key::of(mount, &old);
            // Renaming one name of a file over another does nothing.
            let now = root.symlink_metadata(path);
            if now.is_ok_and(|now| old.has_other_names() && Key::of(mount, &now) == key) {
                return Ok(removed);
            }
            self.name_gone(&mut turn.state(), key, old.has_other_names())?;
        }
        Ok(removed)
    }

    /// Gives a file another name, which counts as a file.
    pub(crate) fn around_linking(
        &self,
        root: &Root,
        mount: u32,
        source: &RelPath,
        link: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !self.counting {
            return link();
        }
        let turn = self.turn()?;
        let Ok(file) = root.symlink_metadata(source) else {
            return link();
        };
        let key = Key::of(mount, &file);
        let known = turn.state().charges.get(&key).copied();
        let old = known.unwrap_or(Charge {
            base: file.len,
            ..Charge::default()
        });
        let new = Charge {
            inodes: old.inodes + 1,
            ..old
        };
        {
            let mut books = turn.state();
            self.check(&books, mount, file.len, old, new, Charge::default())?;
            books.enter(BookEntry::Set(key, new))?;
        }
        link().inspect_err(|_| {
            // At worst the charge is too high.
            drop(turn.state().enter(match known {
                Some(known) => BookEntry::Set(key, known),
                None => BookEntry::Clear(key),
            }));
        })
    }

    /// Settles what somebody who died was about to make.
    pub(crate) fn settle_pending(&self, roots: &[(u32, Root)]) -> Result<(), Error> {
        if !self.counting {
            return Ok(());
        }
        let turn = self.turn()?;
        let mut books = turn.state();
        let mut pending: Vec<_> = books.pending.clone().into_iter().collect();
        pending.sort_by(|one, other| one.0.cmp(&other.0));
        for ((mount, path), charge) in pending {
            let Some((_, root)) = roots.iter().find(|(number, _)| *number == mount) else {
                continue;
            };
            let at = RelPath::parse_with(&path, &crate::overlay::WIDE)?;
            if let Ok(now) = root.symlink_metadata(&at) {
                let key = Key::of(mount, &now);
                let bytes = match now.is_file() {
                    true => now.len.saturating_sub(charge.base),
                    false => 0,
                };
                let known = books.charges.get(&key).copied().unwrap_or_default();
                let charge = Charge {
                    bytes: bytes.max(known.bytes),
                    inodes: charge.inodes.max(known.inodes),
                    ..charge
                };
                books.enter(BookEntry::Set(key, charge))?;
            }
            books.enter(BookEntry::Done(mount, path))?;
        }
        Ok(())
    }
}
