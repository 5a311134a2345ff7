//! What a commit would be about, before it is made.

use crate::error::Error;
use crate::mount::Mount;
use crate::overlay::Shown;
use crate::place::Guard;
use crate::rules::{Access, Shape};
use crate::session::Session;
use crate::vpath::VirtualPath;
use crate::whole::{below, virtual_path};

impl Session {
    /// The paths that a commit of some paths would be about: those at and below them, what came from
    /// there, and the directories in which they stand, without those that are left out. Give the answer to
    /// [`CommitOptions::shown`](crate::CommitOptions::shown), so that nothing else is committed.
    ///
    /// # Errors
    /// `NotFound` if nothing was changed at or below a path; what the disk says.
    pub fn chosen(
        &self,
        paths: &[VirtualPath],
        leave_out: &[VirtualPath],
    ) -> Result<(Vec<VirtualPath>, Shown), Error> {
        self.require_changes(paths)?;
        let (mut all, mut shown) = (Vec::new(), Shown::default());
        for (mount, overlay, paths) in self.by_mount(paths)? {
            let guard = self.commit_guard(mount);
            let chosen = overlay.chosen(&paths, &below(mount, leave_out), &guard)?;
            for path in &chosen.paths {
                all.push(virtual_path(mount, path)?);
            }
            shown.seals.push((mount.number, chosen.seal));
        }
        all.sort();
        Ok((all, shown))
    }

    /// The changes that a commit of some paths would leave in the session, because a rule speaks of them
    /// and no path names them; each with the rule.
    ///
    /// # Errors
    /// As [`Session::chosen`].
    pub fn held_back(
        &self,
        paths: &[VirtualPath],
        leave_out: &[VirtualPath],
    ) -> Result<Vec<(VirtualPath, String)>, Error> {
        let mut all = Vec::new();
        for (mount, overlay, paths) in self.by_mount(paths)? {
            let guard = self.commit_guard(mount);
            let chosen = overlay.chosen(&paths, &below(mount, leave_out), &guard)?;
            for held in chosen.held {
                all.push((virtual_path(mount, &held.path)?, held.why));
            }
        }
        all.sort();
        Ok(all)
    }

    /// Asks about what is brought to the base.
    pub(crate) fn commit_guard<'a>(&'a self, mount: &'a Mount) -> Guard<'a> {
        Guard {
            mount,
            caller: self.caller(),
            access: Access::Change,
            shape: Shape::MaybeDir,
            is_step: false,
            asked_at: None,
            granted: None,
        }
    }
}
