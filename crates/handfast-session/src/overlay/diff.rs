//! What a session has changed, for people and programs.

use handfast::{ErrorKind, RelPath};

use super::Overlay;
use super::attributes::read_xattrs;
use super::items::{ChangedName, What, items};
use super::store::object_path;
use super::tree::{Was, base_path, join};
use crate::error::Error;

/// How a path was changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub enum DiffKind {
    /// It is new.
    Added,
    /// Its content, its target or its kind is another.
    Changed,
    /// It is gone.
    Deleted,
    /// It was somewhere else; its content may have changed too.
    Renamed,
    /// Only its permission bits are others.
    Mode,
}

impl DiffKind {
    /// The name of the kind, as it stands in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
            Self::Mode => "mode",
        }
    }
}

/// One change. Paths are below the mount, as bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct DiffChange {
    /// Which path.
    pub path: Vec<u8>,
    /// How it was changed.
    pub kind: DiffKind,
    /// Where it was, if it was renamed: a path of the base.
    pub from: Option<Vec<u8>>,
    /// Where the name lies in the base, if its directory is there.
    pub home: Option<Vec<u8>>,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// The permission bits before and after, where they differ and both are known.
    pub mode: Option<(u32, u32)>,
}

/// Files up to this size are compared to tell a change from a rewrite with the same content.
const COMPARE_LIMIT: u64 = 64 << 20;

impl Overlay {
    /// Everything that differs from the base as it was when it was covered, in byte order.
    pub(crate) fn diff(&self) -> Result<Vec<DiffChange>, Error> {
        let found = self.with_tree(items)?;
        let mut changes = Vec::new();
        for item in &found {
            if !self.is_in_base(item)? {
                self.describe(item, &mut changes)?;
            }
        }
        changes.sort_by(|one, other| (&one.path, one.kind).cmp(&(&other.path, other.kind)));
        Ok(changes)
    }

    fn describe(&self, item: &ChangedName, changes: &mut Vec<DiffChange>) -> Result<(), Error> {
        let change = |kind, is_dir| DiffChange {
            path: item.path.clone(),
            kind,
            from: None,
            home: item.home.clone(),
            is_dir,
            mode: None,
        };
        // What was deleted below a name that is something else now.
        let replaced_dir = matches!(item.was, Was::Dir(_));
        match &item.what {
            What::Delete => deletions(item, changes),
            What::NewDir { .. } => {
                changes.push(change(kind_over(&item.was), true));
            }
            What::MoveDir { from, .. } => {
                if replaced_dir {
                    deletions(item, changes);
                }
                changes.push(DiffChange {
                    from: Some(from.clone()),
                    ..change(DiffKind::Renamed, true)
                });
            }
            What::DirMode { mode, .. } => {
                let old = match &item.home {
                    Some(home) => self.base.symlink_metadata(&base_path(home)?).ok(),
                    None => None,
                };
                let old = old.map(|status| status.mode);
                if old != Some(*mode) {
                    changes.push(DiffChange {
                        mode: old.map(|old| (old, *mode)),
                        ..change(DiffKind::Mode, true)
                    });
                }
            }
            What::MoveFile { from, .. } => changes.push(DiffChange {
                from: Some(from.clone()),
                ..change(DiffKind::Renamed, false)
            }),
            What::File { object, moved } => {
                if let Some((from, _)) = moved {
                    changes.push(DiffChange {
                        from: Some(from.clone()),
                        ..change(DiffKind::Renamed, false)
                    });
                    return Ok(());
                }
                if replaced_dir {
                    deletions(item, changes);
                }
                let mut found = change(kind_over(&item.was), false);
                if let (Was::File(_), Some(home)) = (&item.was, &item.home) {
                    let (same, modes) = self.compare(&base_path(home)?, *object)?;
                    found.mode = modes;
                    found.kind = match (same, modes) {
                        (true, Some(_)) => DiffKind::Mode,
                        // The same bytes in a new file: its other names and attributes are lost.
                        (true, None) if !self.loses_nothing(&base_path(home)?) => DiffKind::Changed,
                        (true, None) => return Ok(()),
                        (false, _) => DiffKind::Changed,
                    };
                }
                changes.push(found);
            }
            What::Link { .. } => {
                if replaced_dir {
                    deletions(item, changes);
                }
                changes.push(change(kind_over(&item.was), false));
            }
        }
        Ok(())
    }

    /// Whether a file of the base can be written again without losing other names or attributes.
    fn loses_nothing(&self, at: &RelPath) -> bool {
        let one_name = (self.base.symlink_metadata(at)).is_ok_and(|file| !file.has_other_names());
        one_name
            && self
                .base
                .list_xattrs(at)
                .is_ok_and(|names| names.is_empty())
    }

    /// Whether a file of the base has the same content and attributes as an object; their modes if they differ.
    pub(super) fn compare(
        &self,
        at: &RelPath,
        id: u64,
    ) -> Result<(bool, Option<(u32, u32)>), Error> {
        let object = match self.store.open(&object_path(id)) {
            Ok(object) => object,
            // A commit under way moved it into the base, or one ended meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound && self.was_moved(id)? => {
                return Ok((true, None));
            }
            // A program may have taken the right to read it from us: that hides no other change.
            Err(error) if error.kind() == ErrorKind::Denied => {
                let modes = self.modes(at, id);
                return Ok((false, modes.filter(|(old, new)| old != new)));
            }
            Err(error) => return Err(super::store::lost(error)),
        };
        let base = match self.base.open(at) {
            Ok(base) => base,
            // Gone, or something else: certainly not the same.
            Err(_) => return Ok((false, None)),
        };
        let (old, new) = (*base.metadata(), *object.metadata());
        let modes = (old.mode, new.mode);
        let modes = (modes.0 != modes.1).then_some(modes);
        if old.len != new.len || new.len > COMPARE_LIMIT {
            return Ok((false, modes));
        }
        let same = read_xattrs(&base)? == read_xattrs(&object)? && same_content(base, object)?;
        Ok((same, modes))
    }
}

impl Overlay {
    /// The modes of a file of the base and of an object, if both are there.
    fn modes(&self, at: &RelPath, id: u64) -> Option<(u32, u32)> {
        let old = self.base.symlink_metadata(at).ok()?;
        let new = self.store.symlink_metadata(&object_path(id)).ok()?;
        Some((old.mode, new.mode))
    }

    /// Whether an object that is missing may have become the base's: a commit is under way, or the
    /// journal does not name the object any more.
    fn was_moved(&self, id: u64) -> Result<bool, Error> {
        self.with_tree(|tree| tree.committing.is_some() || !tree.objects().contains(&id))
    }
}

fn kind_over(was: &Was) -> DiffKind {
    match was {
        Was::Absent | Was::Moved(_) => DiffKind::Added,
        _ => DiffKind::Changed,
    }
}

/// A deleted name, and everything that was deleted below it.
fn deletions(item: &ChangedName, changes: &mut Vec<DiffChange>) {
    let mut pending = vec![(item.path.clone(), item.home.clone(), &item.was)];
    while let Some((path, home, was)) = pending.pop() {
        if let Was::Dir(entries) = was {
            for (name, was) in entries {
                let home = home.as_ref().map(|home| join(home, name));
                pending.push((join(&path, name), home, was));
            }
        }
        changes.push(DiffChange {
            path,
            kind: DiffKind::Deleted,
            from: None,
            home,
            is_dir: matches!(was, Was::Dir(_) | Was::Kept),
            mode: None,
        });
    }
}

/// Compares two files from where they stand.
pub(super) fn same_content(
    mut one: impl std::io::Read,
    mut other: impl std::io::Read,
) -> Result<bool, Error> {
    let (mut left, mut right) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        let first = fill(&mut one, &mut left)?;
        let second = fill(&mut other, &mut right)?;
        if left[..first] != right[..second] {
            return Ok(false);
        }
        if first == 0 {
            return Ok(true);
        }
    }
}

fn fill(from: &mut impl std::io::Read, buffer: &mut [u8]) -> Result<usize, Error> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(got) => filled += got,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filled)
}
