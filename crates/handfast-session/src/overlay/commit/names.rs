//! Names of one file: what the session shows as several names of one file is that in the base too.
//!
//! Every name is written as a file of its own first, by compare-and-swap, so a killed commit is ended as
//! any other. Then the names are joined: the first file gets one more name in the staging directory, and
//! that name changes places with the copy under the other name, if it is still the copy that the commit
//! wrote there. Where that does not succeed, the copies stay.

use std::collections::BTreeMap;

use handfast::{Durability, ErrorKind, Metadata, RelPath, RenameMode, Version, WriteOptions};
use rustix::fs::AtFlags;

use super::plan::{Early, Late, Plan};
use super::roll::{CommitRun, Failed, Rolled};
use crate::change::hex;
use crate::error::Error;
use crate::overlay::Overlay;
use crate::overlay::items::{ChangedName, What};
use crate::overlay::tree::base_path;

/// The items that are names of one file, by its object, with the position of each.
type Groups<'a> = BTreeMap<u64, Vec<(usize, &'a [u8])>>;

fn groups(items: &[ChangedName]) -> Groups<'_> {
    let mut groups = Groups::new();
    for (at, item) in items.iter().enumerate() {
        if let What::File { object, .. } = item.what {
            groups.entry(object).or_default().push((at, &item.path));
        }
    }
    groups.retain(|_, names| names.len() > 1);
    groups
}

/// Whether names have to be joined, for which there has to be a staging directory.
pub(super) fn has_names_to_join(items: &[ChangedName]) -> bool {
    !groups(items).is_empty()
}

/// A name that is joined with another one.
struct Joint<'a> {
    object: u64,
    first: &'a RelPath,
    file: &'a handfast::File,
    path: &'a RelPath,
    /// The name in between.
    aside: RelPath,
}

impl Overlay {
    /// Makes names of one file out of the copies that the commit has written.
    pub(super) fn join_names(
        &self,
        items: &[ChangedName],
        run: CommitRun<'_>,
        is_done: impl Fn(&[u8]) -> bool,
        rolled: &mut Rolled,
        tick: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        for (object, mut names) in groups(items) {
            // To a file that somebody still writes to, the session's own name stays.
            names.retain(|(_, path)| is_done(path) && !rolled.live.contains_key(*path));
            let Some((&(_, first), others)) = names.split_first() else {
                continue;
            };
            let first_path = base_path(first)?;
            // Held for all of them: opened again, it would be judged by all its names again.
            let Ok(file) = self.base.open(&first_path) else {
                let apart = others.iter().map(|(_, path)| path.to_vec());
                rolled.apart.extend(apart);
                continue;
            };
            let mut joined = Vec::new();
            for (at, path) in others {
                let name = format!("name-{at}");
                let joint = Joint {
                    object,
                    first: &first_path,
                    file: &file,
                    path: &base_path(path)?,
                    aside: (run.staging).join(handfast::NameRef::parse(name.as_bytes())?),
                };
                if run.resumed {
                    // One name less changes the change time of the first file.
                    drop(self.clear_aside(&joint));
                    self.follow_version(first, first, rolled)?;
                }
                let written = [first, *path].map(|path| rolled.versions.get(path).cloned());
                if let Ok(true) = self.join(&joint, written, tick) {
                    joined.push(*path);
                } else {
                    rolled.apart.insert(path.to_vec());
                }
                // What cannot be cleared away now stays in the staging directory, where it is found.
                drop(self.clear_aside(&joint));
                self.follow_version(first, first, rolled)?;
            }
            for path in joined {
                self.follow_version(first, path, rolled)?;
            }
        }
        Ok(())
    }

    /// Whether both are names of one file now. `written` are the versions that the commit wrote.
    fn join(
        &self,
        joint: &Joint<'_>,
        written: [Option<String>; 2],
        tick: &mut dyn FnMut(),
    ) -> Result<bool, Failed> {
        tick();
        let [Some(first), Some(copy)] = written else {
            return Ok(false);
        };
        let (first, copy): (Version, Version) = (first.parse()?, copy.parse()?);
        let now = joint.file.metadata_now()?;
        if copy.is_of_object(&now) {
            return Ok(true);
        }
        // Others may have changed it, or put another file there.
        if !first.is_of(&now) {
            return Ok(false);
        }
        self.link_aside(joint)?;
        tick();
        let options = WriteOptions::new().durability(Durability::None);
        let (base, file) = (&self.base, joint.file);
        let staged = base.stage_moved(joint.path, options, file, base, &joint.aside)?;
        staged.commit_if(&copy)?;
        tick();
        Ok(true)
    }

    /// Gives the first file one more name. Which file that is, staging it compares.
    fn link_aside(&self, joint: &Joint<'_>) -> Result<(), Error> {
        let parent = |path: &RelPath| {
            let parent = path.parent().unwrap_or_else(RelPath::root);
            match parent.is_root() {
                true => self.base.as_dir(),
                false => self.base.open_dir(&parent),
            }
        };
        let (Some(name), Some(aside)) = (joint.first.name(), joint.aside.name()) else {
            return Err(Error::refused(ErrorKind::Invalid, ""));
        };
        let (from, to) = (parent(joint.first)?, parent(&joint.aside)?);
        let (name, aside) = (name.as_bytes(), aside.as_bytes());
        Ok(rustix::fs::linkat(
            &from,
            name,
            &to,
            aside,
            AtFlags::empty(),
        )?)
    }

    /// Clears away what lies between two places: one more name of the first file, or the copy that it
    /// replaced. A file of others, which came under the name in the moment in which a process was killed,
    /// goes back.
    fn clear_aside(&self, joint: &Joint<'_>) -> Result<(), Failed> {
        let aside = match self.base.symlink_metadata(&joint.aside) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            aside => aside?,
        };
        let first = joint.file.metadata();
        let is_first = aside.identity.same_object(&first.identity);
        if !is_first && !self.has_content(&joint.aside, joint.object)? {
            let there = self.base.symlink_metadata(joint.path)?;
            if !there.identity.same_object(&first.identity) {
                return Ok(());
            }
            let exchange = RenameMode::Exchange;
            self.base.rename(&joint.aside, joint.path, exchange)?;
        }
        Ok(self.base.remove_file(&joint.aside)?)
    }

    /// A new name changes the change time of a file, and with it the version under all its names.
    fn follow_version(&self, first: &[u8], path: &[u8], rolled: &mut Rolled) -> Result<(), Error> {
        let seen = rolled.versions.get(first).map(|text| text.parse());
        let Some(Ok(seen)) = seen else {
            return Ok(());
        };
        let seen: Version = seen;
        let at = base_path(path)?;
        let now = self.base.symlink_metadata(&at);
        match now.ok().and_then(|now| with_new_names(&seen, &now)) {
            Some(version) => rolled.versions.insert(path.to_vec(), version.to_string()),
            // Others have it by now: there is no version by which it could be taken back.
            None => rolled.versions.remove(path),
        };
        Ok(())
    }

    /// The version that a file of the base must have. Where the commit removes or replaces several names
    /// of one file, each changes the change time, and nothing else, for the names after it.
    pub(super) fn version_now(&self, seen: Version, at: &RelPath, plan: &Plan) -> Version {
        let Ok(now) = self.base.symlink_metadata(at) else {
            return seen;
        };
        if seen.is_of(&now) || !plan.has_several_names_of(&now) {
            return seen;
        }
        with_new_names(&seen, &now).unwrap_or(seen)
    }
}

/// The version of a file that got or lost names since it was seen, and is as it was otherwise. The digest
/// is the one that was seen; the caller compares it.
fn with_new_names(seen: &Version, now: &Metadata) -> Option<Version> {
    if !seen.is_of_renamed(now) {
        return None;
    }
    let text = Version::of_metadata(now).to_string();
    let text = match seen.digest() {
        Some(digest) => format!("{text}.{}", hex(&digest)),
        None => text,
    };
    let version: Version = text.parse().ok()?;
    version.is_of(now).then_some(version)
}

impl Plan {
    /// Whether more than one step removes or replaces a name of a file.
    fn has_several_names_of(&self, now: &Metadata) -> bool {
        let early = self.early.iter().chain(&self.last);
        let early = early.filter_map(|(_, step)| match step {
            Early::File { version, .. } => Some(version),
            Early::Move { version, .. } | Early::Lift { version, .. } => version.as_ref(),
            _ => None,
        });
        let late = self.late.iter().filter_map(|(_, step)| match step {
            Late::File { expected, .. } => expected.as_ref(),
            _ => None,
        });
        let all = early.chain(late).filter_map(|text| text.parse().ok());
        all.filter(|version: &Version| version.is_of_object(now))
            .nth(1)
            .is_some()
    }
}
