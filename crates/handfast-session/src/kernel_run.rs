//! A run over the kernel's own overlay filesystem, whose changes become the session's at the end.

use std::fmt;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;

use handfast::{ErrorKind, HardLinks, Links};

use crate::error::Error;
use crate::mount::Mode;
use crate::overlay::{KernelRun, unsupported};
use crate::session::Session;
use crate::vpath::VirtualPath;

/// A run over the kernel's overlay that is under way in a session. While it is, nobody else changes the
/// session: others get `Busy`.
///
/// If the process is killed, the next that opens the session imports what the run left.
pub struct FastRun {
    session: Session,
    mounts: Vec<(VirtualPath, KernelRun)>,
}

impl Session {
    /// Makes room for a run over the kernel's overlay: a directory for each mount, which the kernel keeps
    /// changes in. `first` are the processes that outlive all others of the run: if this one is killed, an
    /// import waits until they have ended too.
    ///
    /// # Errors
    /// `Unsupported` if the session has rules, limits or mounts that the kernel's overlay does not enforce,
    /// or lies on a filesystem where it cannot be told what others change; `NotEmpty` if changes wait;
    /// `Busy` if such a run is under way.
    ///
    /// # Security
    /// Rules that deny or ask are refused: the kernel shows every file of the base. Names that are
    /// read-only can be changed, as in every overlay, and wait for a commit that names them.
    pub fn begin_fast_run(&self, first: &[u32]) -> Result<FastRun, Error> {
        for mount in self.mounts().iter() {
            if mount.mode != Mode::Overlay {
                return Err(unsupported("there is no other mode than `overlay`"));
            }
            if mount.denies_or_asks() {
                return Err(unsupported(
                    "no file can be denied or asked about, and none that appears later",
                ));
            }
            if mount.links == Links::Refuse || mount.hard_links == HardLinks::Refuse {
                return Err(unsupported("links cannot be refused"));
            }
            if mount.holds_own_state() {
                return Err(unsupported(
                    "Handfast's own state, which lies in the project, would be shown",
                ));
            }
        }
        let mut mounts = Vec::new();
        for (mount, overlay) in self.overlays() {
            mounts.push((mount.at.clone(), overlay.begin_kernel_run(first)?));
        }
        Ok(FastRun {
            session: self.clone(),
            mounts,
        })
    }

    /// Whether a run over the kernel's overlay is under way.
    ///
    /// # Errors
    /// What the disk says.
    pub fn has_fast_run(&self) -> Result<bool, Error> {
        for (_, overlay) in self.overlays() {
            if overlay.is_kernel_at_it()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tells what the last imports left out, a line each, and how many lines that were. What was told is
    /// forgotten.
    ///
    /// # Errors
    /// What the disk says; `Busy` if another process changes the session for long.
    pub fn tell_left_out(&self, mut tell: impl FnMut(&str)) -> Result<usize, Error> {
        let mut count = 0;
        for (mount, overlay) in self.overlays() {
            let at = mount.at.to_string();
            let top = at.trim_end_matches('/');
            count += overlay.tell_what_was_left_out(|line| match line.starts_with('/') {
                true => tell(&format!("{top}{line}")),
                false => tell(line),
            })?;
        }
        Ok(count)
    }

    /// Imports what killed runs left.
    pub(crate) fn import_left(&self) -> Result<(), Error> {
        for (_, overlay) in self.overlays() {
            overlay.import_left().map_err(|error| {
                let why = format!(
                    "the changes of a run with the engine `overlayfs` cannot be imported: {}",
                    error.detail()
                );
                Error::refused(error.kind(), why)
            })?;
        }
        Ok(())
    }
}

impl FastRun {
    /// The directory behind a mount, and the one that holds the kernel's: `upper` and `work`.
    ///
    /// # Errors
    /// `NotFound` if there is no such mount.
    pub fn layers(&self, at: &VirtualPath) -> Result<(BorrowedFd<'_>, BorrowedFd<'_>), Error> {
        let found = self.mounts.iter().find(|(known, _)| known == at);
        let (_, run) = found
            .ok_or_else(|| Error::refused(ErrorKind::NotFound, "there is no mount of that name"))?;
        Ok((run.base.as_fd(), run.dir.as_fd()))
    }

    /// Ends the run, once no process of it is left: its changes become the session's.
    ///
    /// # Errors
    /// What the disk says. The changes are still there then, and the next that opens the session tries
    /// again.
    pub fn finish(self) -> Result<(), Error> {
        drop(self.mounts);
        self.session.import_left()
    }
}

impl fmt::Debug for FastRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FastRun").finish_non_exhaustive()
    }
}
