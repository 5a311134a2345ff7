//! A session as a whole: what it changed, and what becomes of that.

use std::collections::BTreeSet;

use handfast::{Decision, ErrorKind, Name, RelPath, Root, Verb};

use crate::change::ReviewOptions;
use crate::error::Error;
use crate::mount::Mount;
use crate::overlay::{
    CommitOptions, CommitReport, Conflict, DiffChange, DiffKind, How, OnConflict, Overlay, Past,
    Shown,
};
use crate::place::Guard;
use crate::rules::{Access, Shape};
use crate::session::Session;
use crate::state;
use crate::vpath::VirtualPath;

/// One changed path of a session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Changed {
    /// The virtual path.
    pub path: VirtualPath,
    /// How it was changed.
    pub kind: DiffKind,
    /// Where it was, if it was renamed.
    pub from: Option<VirtualPath>,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// The permission bits before and after, where they differ and both are known.
    pub mode: Option<(u32, u32)>,
}

/// What a commit of a session did.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Committed {
    /// Paths that are in the base now.
    pub committed: Vec<VirtualPath>,
    /// Paths that are not and stay in the overlay, with the reason.
    pub conflicts: Vec<(VirtualPath, String)>,
    /// Why the commit cannot be taken back, if it cannot.
    pub not_undoable: Option<String>,
    /// Paths that stay in the overlay until a commit names each of them, with the rule that says so.
    pub held_back: Vec<(VirtualPath, String)>,
    /// Paths that were names of one file in the overlay and are files of their own in the base: its
    /// filesystem gives a file one name only, or others changed one of them meanwhile.
    pub apart: Vec<VirtualPath>,
}

impl Committed {
    /// Adds what was done in a mount.
    pub(crate) fn take(&mut self, mount: &Mount, report: CommitReport) -> Result<(), Error> {
        for path in report.committed {
            self.committed.push(virtual_path(mount, &path)?);
        }
        for path in report.apart {
            self.apart.push(virtual_path(mount, &path)?);
        }
        self.not_undoable = self.not_undoable.take().or(report.not_undoable);
        for held in report.held {
            self.held_back
                .push((virtual_path(mount, &held.path)?, held.why));
        }
        add_conflicts(mount, report.conflicts, self)
    }
}

impl Session {
    /// Everything that the overlays changed, in byte order. A caller with a scope sees what lies in
    /// it.
    ///
    /// # Errors
    /// `Stale` if the overlay was changed behind our back; what the disk says.
    pub fn diff(&self) -> Result<Vec<Changed>, Error> {
        let mut found = Vec::new();
        for (mount, overlay) in self.overlays() {
            for change in overlay.diff()? {
                let change = changed(mount, &change)?;
                if self.caller().check(&change.path, Access::Read).is_ok() {
                    found.push(change);
                }
            }
        }
        found.sort_by(|one, other| (&one.path, one.kind).cmp(&(&other.path, other.kind)));
        Ok(found)
    }

    /// The unified text diff of a change, with hidden characters spelled out; `None` if there is no
    /// content to show, or more than a megabyte. [`Session::review`] says why.
    ///
    /// # Errors
    /// `Denied` for what may not be read, on either side; otherwise as [`Session::diff`].
    pub fn text_diff(&self, change: &Changed) -> Result<Option<String>, Error> {
        self.readable(&change.path)?;
        if let Some(from) = &change.from {
            self.readable(from)?;
        }
        let options = ReviewOptions {
            paths: vec![change.path.clone()],
            ..ReviewOptions::default()
        };
        let mut text = None;
        let reviewed = self.review(&options, &mut |found| {
            let is_it = found.path == change.path && found.kind == change.kind;
            if is_it && !found.hunks().is_empty() {
                let lines = found.lines().into_iter();
                text = Some(lines.map(|(_, line)| line + "\n").collect());
            }
            Ok(())
        });
        match reviewed {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            reviewed => reviewed.map(|()| text),
        }
    }

    /// A path that may be read, going by its text: a change is what the caller says it is.
    fn readable(&self, path: &VirtualPath) -> Result<(), Error> {
        let place = self.route(path)?;
        let guard = Guard {
            mount: place.mount,
            caller: self.caller(),
            access: Access::Read,
            shape: Shape::MaybeDir,
            is_step: false,
            asked_at: None,
            granted: None,
        };
        guard.check(&place.path)?;
        self.refuse_what_is_asked(place.mount, &place.path)
    }

    /// Makes the overlays' changes the base's. See [`CommitOptions`]; a conflict refuses the whole
    /// commit unless told otherwise. `progress` is told how many steps of how many are done.
    ///
    /// # Errors
    /// `Quota` if there is no space for it, with nothing changed; `Busy`; what the disk says. A
    /// conflict is no error: the report says so.
    pub fn commit(
        &self,
        options: &CommitOptions,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Committed, Error> {
        let message = options.message.as_deref();
        self.whole_because(Verb::Commit, None, message, |deed| {
            if deed.is_recorded() {
                let (chosen, _) = self.chosen(&options.paths, &options.leave_out)?;
                deed.is_about(&about(self.diff()?, &chosen), &[])?;
            }
            let all = self.commit_all(options, progress)?;
            if deed.is_recorded() {
                deed.also(&all.committed)?;
            }
            deed.done(verdict(&all))?;
            Ok(all)
        })
    }

    fn commit_all(
        &self,
        options: &CommitOptions,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Committed, Error> {
        self.require_changes(&options.paths)?;
        let chosen = self.by_mount(&options.paths)?;
        let mut all = Committed::default();
        // A conflict in one mount refuses the others too.
        if options.on_conflict == OnConflict::Refuse && chosen.len() > 1 {
            for (mount, overlay, paths) in &chosen {
                let found = overlay.conflicts(paths)?;
                add_conflicts(mount, found, &mut all)?;
            }
            if !all.conflicts.is_empty() {
                return Ok(all);
            }
        }
        let past = Past {
            commit: self.commit_time()?,
            message: options.message.as_deref(),
            why_not: None,
        };
        for (mount, overlay, paths) in &chosen {
            let guard = self.commit_guard(mount);
            let shown = match &options.shown {
                None => None,
                Some(shown) => Some(shown.of(mount.number)?),
            };
            let noted = options.shown.iter().flat_map(|shown| &shown.digests);
            let digests = noted.filter_map(|(path, digest)| {
                let below = path.strip_prefix(&mount.at)?;
                Some((below.as_bytes().to_vec(), digest.clone()))
            });
            let how = How {
                on_conflict: options.on_conflict,
                shown,
                digests: &digests.collect(),
                left_out: &below(mount, &options.leave_out),
                past,
            };
            all.take(mount, overlay.commit(paths, how, &guard, progress)?)?;
        }
        all.committed.sort();
        all.conflicts.sort();
        Ok(all)
    }

    /// A path that was named and means nothing is a mistake.
    pub(crate) fn require_changes(&self, paths: &[VirtualPath]) -> Result<(), Error> {
        for path in paths {
            let (mut any, mut above) = (false, false);
            for (_, overlay, below) in self.by_mount(std::slice::from_ref(path))? {
                any |= overlay.touches(&below[0])?;
                above |= overlay.goes_with_another(&below[0])?;
            }
            // What goes with a directory may be named beside it.
            let is_beside = |other: &&VirtualPath| *other != path && path.starts_with(other);
            if above && paths.iter().any(|other| is_beside(&other)) {
                continue;
            }
            let why = match above {
                true => format!("`{path}` goes with the directory that it was in; name that one"),
                false => format!("nothing was changed at or below `{path}`"),
            };
            if !any {
                return Err(Error::refused(ErrorKind::NotFound, why));
            }
        }
        Ok(())
    }

    /// Drops the overlays' changes: all, or those at and below some paths. What was dropped.
    ///
    /// # Errors
    /// The error of the caller's scope if it does not hold all of them, with nothing dropped; `Busy`; what the disk says.
    pub fn discard(&self, paths: &[VirtualPath]) -> Result<Vec<VirtualPath>, Error> {
        self.whole(Verb::Discard, None, |deed| {
            self.require_changes(paths)?;
            if deed.is_recorded() {
                deed.is_about(&self.diff()?, paths)?;
            }
            let mut dropped = Vec::new();
            for (mount, overlay, paths) in self.by_mount(paths)? {
                let may = |path: &[u8]| {
                    self.caller()
                        .check(&virtual_path(mount, path)?, Access::Change)
                };
                for path in overlay.discard(&paths, &may)? {
                    dropped.push(virtual_path(mount, &path)?);
                }
            }
            dropped.sort();
            if deed.is_recorded() {
                deed.also(&dropped)?;
            }
            deed.done(Decision::Allowed)?;
            Ok(dropped)
        })
    }

    /// Keeps the state of every overlay under a label.
    ///
    /// # Errors
    /// `Exists` if there is one of that label; `Invalid` if there is no overlay.
    pub fn snapshot(&self, label: &str) -> Result<(), Error> {
        let label = state::check_name(label, "label")?;
        self.whole(Verb::Snapshot, Some(&label), |deed| {
            self.require_free_label(&label)?;
            self.require_whole_scope()?;
            self.each_overlay(|overlay| overlay.snapshot(&label))?;
            deed.done(Decision::Allowed)
        })
    }

    /// Goes back to a snapshot. What was changed since is gone.
    ///
    /// # Errors
    /// `NotFound` if there is none of that label.
    pub fn rollback(&self, label: &str) -> Result<(), Error> {
        self.go_back(&state::check_name(label, "label")?, None)
    }

    /// As [`Session::rollback`], and keeps what was changed since as another snapshot. In each mount
    /// both are one step: what an agent writes meanwhile is in the snapshot, or comes after.
    ///
    /// # Errors
    /// `NotFound` if there is none of that label; `Exists` if there is one of the new label.
    pub fn rollback_keeping(&self, label: &str, keep_as: &str) -> Result<(), Error> {
        let label = state::check_name(label, "label")?;
        let keep_as = state::check_name(keep_as, "label")?;
        self.whole(Verb::Snapshot, Some(&keep_as), |deed| {
            self.require_free_label(&keep_as)?;
            self.go_back(&label, Some(&keep_as))?;
            deed.done(Decision::Allowed)
        })
    }

    fn go_back(&self, label: &Name, keep_as: Option<&Name>) -> Result<(), Error> {
        self.whole(Verb::Rollback, Some(label), |deed| {
            if !self.has_label(label)? {
                return Err(Error::refused(
                    ErrorKind::NotFound,
                    format!("there is no snapshot `{label}`"),
                ));
            }
            self.require_whole_scope()?;
            self.each_overlay(|overlay| overlay.rollback(label, keep_as))?;
            deed.done(Decision::Allowed)
        })
    }

    fn require_free_label(&self, label: &Name) -> Result<(), Error> {
        match self.has_label(label)? {
            true => Err(Error::refused(
                ErrorKind::Exists,
                format!("there is a snapshot `{label}` already"),
            )),
            false => Ok(()),
        }
    }

    /// What is about everything is for those whose scope holds every overlay.
    fn require_whole_scope(&self) -> Result<(), Error> {
        self.overlays()
            .try_for_each(|(mount, _)| self.caller().check(&mount.at, Access::Change))
    }

    fn has_label(&self, label: &Name) -> Result<bool, Error> {
        let labels = self.labels()?;
        Ok(labels
            .iter()
            .any(|known| known.as_bytes() == label.as_bytes()))
    }

    /// The labels of snapshots, in byte order.
    ///
    /// # Errors
    /// What the disk says.
    pub fn labels(&self) -> Result<Vec<String>, Error> {
        let mut found: Vec<String> = Vec::new();
        for (_, overlay) in self.overlays() {
            found.extend(overlay.labels()?);
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    fn each_overlay(&self, act: impl Fn(&Overlay) -> Result<(), Error>) -> Result<(), Error> {
        let mut any = false;
        for (_, overlay) in self.overlays() {
            act(overlay)?;
            any = true;
        }
        if !any {
            return Err(Error::refused(
                ErrorKind::Invalid,
                "the session has no overlay: there is nothing to keep or go back to",
            ));
        }
        Ok(())
    }

    /// Fills the home of a fork.
    pub(crate) fn fork_into(&self, home: &Root, label: Option<&Name>) -> Result<(), Error> {
        for (mount, overlay) in self.overlays() {
            let path = state::mount_path(mount.number)?;
            let dir = home.open_dir(&path)?.into_root();
            overlay.fork_into(&dir, label)?;
        }
        Ok(())
    }

    /// The overlays that paths belong to, with the paths below each; all overlays for none.
    #[allow(clippy::type_complexity, reason = "three parts that belong together")]
    pub(crate) fn by_mount(
        &self,
        paths: &[VirtualPath],
    ) -> Result<Vec<(&Mount, &Overlay, Vec<Vec<u8>>)>, Error> {
        if paths.is_empty() {
            let all = self
                .overlays()
                .map(|(mount, overlay)| (mount, overlay, Vec::new()));
            return Ok(all.collect());
        }
        let mut found: Vec<(&Mount, &Overlay, Vec<Vec<u8>>)> = Vec::new();
        for path in paths {
            let mut any = false;
            for (mount, overlay) in self.overlays() {
                let below = if let Some(rest) = path.strip_prefix(&mount.at) {
                    rest.as_bytes().to_vec()
                } else if mount.at.starts_with(path) {
                    Vec::new()
                } else {
                    continue;
                };
                any = true;
                match found
                    .iter_mut()
                    .find(|(known, ..)| std::ptr::eq(*known, mount))
                {
                    Some((.., paths)) => paths.push(below),
                    None => found.push((mount, overlay, vec![below])),
                }
            }
            if !any {
                return Err(Error::refused(
                    ErrorKind::NotFound,
                    format!("`{path}` is in no overlay of this session"),
                ));
            }
        }
        Ok(found)
    }
}

impl Shown {
    /// What was shown of a mount.
    fn of(&self, mount: u32) -> Result<&str, Error> {
        let found = self.seals.iter().find(|(number, _)| *number == mount);
        found.map(|(_, seal)| seal.as_str()).ok_or_else(|| {
            Error::refused(
                ErrorKind::Invalid,
                "something else is committed than was shown",
            )
        })
    }
}

/// A commit that left something out is told as one that was refused, with what it left out.
pub(crate) fn verdict(all: &Committed) -> Decision {
    /// So many names stand in the log.
    const NAMED: usize = 20;
    if all.conflicts.is_empty() {
        return Decision::Allowed;
    }
    let named = all.conflicts.iter().take(NAMED);
    let named: Vec<String> = named.map(|(path, _)| format!("`{path}`")).collect();
    Decision::Refused {
        kind: ErrorKind::Stale,
        why: format!(
            "{} committed, {} in conflict: {}",
            all.committed.len(),
            all.conflicts.len(),
            named.join(", ")
        ),
    }
}

fn add_conflicts(
    mount: &Mount,
    conflicts: Vec<Conflict>,
    all: &mut Committed,
) -> Result<(), Error> {
    for conflict in conflicts {
        all.conflicts
            .push((virtual_path(mount, &conflict.path)?, conflict.why));
    }
    Ok(())
}

fn changed(mount: &Mount, change: &DiffChange) -> Result<Changed, Error> {
    Ok(Changed {
        path: virtual_path(mount, &change.path)?,
        kind: change.kind,
        from: match &change.from {
            Some(from) => Some(virtual_path(mount, from)?),
            None => None,
        },
        is_dir: change.is_dir,
        mode: change.mode,
    })
}

/// The changes that a commit of some paths is about: theirs, and what goes with a directory.
fn about(mut changes: Vec<Changed>, chosen: &[VirtualPath]) -> Vec<Changed> {
    let chosen: BTreeSet<&VirtualPath> = chosen.iter().collect();
    changes.retain(|change| {
        let mut path = Some(change.path.clone());
        let goes_with = change.kind == DiffKind::Deleted;
        while let Some(at) = path {
            if chosen.contains(&at) {
                return true;
            }
            path = at.parent().filter(|_| goes_with);
        }
        false
    });
    changes
}

/// The paths that lie in a mount, below it.
pub(crate) fn below(mount: &Mount, paths: &[VirtualPath]) -> BTreeSet<Vec<u8>> {
    let below = paths.iter().filter_map(|path| path.strip_prefix(&mount.at));
    below.map(|path| path.as_bytes().to_vec()).collect()
}

pub(crate) fn virtual_path(mount: &Mount, below: &[u8]) -> Result<VirtualPath, Error> {
    let below = RelPath::parse_with(below, &crate::overlay::WIDE)?;
    Ok(mount.full(&below))
}
