//! Give a file another name.

use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::error::{Effect, Error, ErrorKind, Fault};
use crate::identity::Identity;
use crate::metadata::FileKind;
use crate::options::HardLinks;
use crate::path::RelPath;
use crate::resolve::{self, Last, Place};
use crate::root::Root;
use crate::rules;
use crate::staging::remove_if_same;
use crate::sys;
use crate::verb::Verb;
use std::os::fd::AsFd;

impl Root {
    /// Gives a regular file another name.
    ///
    /// # Errors
    /// `Link` if the source is a symbolic link, `IsADirectory`, `Kind`; `HardLink` where hard links
    /// are refused; `Exists` if the new name is taken; `Mount` across mounts.
    ///
    /// # Security
    /// The source is pinned and judged, and the pinned object is what gets the name.
    pub fn hard_link(&self, source: &RelPath, new: &RelPath) -> Result<(), Error> {
        self.hard_link_to(source, self, new)
    }

    /// As [`Root::hard_link`], into another directory of the same filesystem.
    ///
    /// # Errors
    /// As [`Root::hard_link`].
    pub fn hard_link_to(
        &self,
        source: &RelPath,
        destination: &Self,
        new: &RelPath,
    ) -> Result<(), Error> {
        self.act_between(Verb::HardLink, source, Some((destination, new)), |op| {
            resolve::require_file_path(self, source, Last::Itself)?;
            resolve::require_file_path(destination, new, Last::Itself)?;
            let (pin, status) = resolve::pin(self, source, sys::PIN, Last::Itself)?;
            match status.kind {
                FileKind::File => {}
                FileKind::Symlink => return Err(Fault::rule(ErrorKind::Link, "")),
                FileKind::Dir => return Err(Fault::rule(ErrorKind::IsADirectory, "")),
                special => return Err(rules::special_fault(special)),
            }
            if self.options.hard_links == HardLinks::Refuse {
                return Err(Fault::rule(
                    ErrorKind::HardLink,
                    "the root does not allow files with several names",
                ));
            }
            if let Some(judge) = &self.options.judge {
                // Another name is another way to change the file.
                judge.judge(&status, true)?;
            }
            let place = resolve::place(destination, new, Last::Itself)?;
            op.allow_in(place.recorded_parent(self)?, Some(&status))?;
            match sys::link_pinned(&pin, &place.dir, place.name.as_c_str()) {
                // Kernels before 6.10 want a capability to link by descriptor.
                Err(fault) if fault.is(Errno::NOENT) || fault.kind == ErrorKind::Unsupported => {
                    self.link_by_name(source, &place, &status.identity)
                }
                linked => linked,
            }
        })
    }

    /// Links by name in the pinned parent, then makes sure that it was the pinned object.
    fn link_by_name(
        &self,
        source: &RelPath,
        place: &Place,
        identity: &Identity,
    ) -> Result<(), Fault> {
        let from = resolve::place(self, source, Last::Itself)?;
        sys::retry(|| {
            rustix::fs::linkat(
                &from.dir,
                from.name.as_c_str(),
                &place.dir,
                place.name.as_c_str(),
                AtFlags::empty(),
            )
        })
        .map_err(|errno| Fault::sys("linkat", errno))?;
        let linked = place
            .status()
            .map_err(|fault| fault.with_effect(Effect::Visible))?;
        if linked.identity.same_object(identity) {
            return Ok(());
        }
        // Another object slipped in. It only got one more name, and that is taken away again.
        let removed = remove_if_same(place.dir.as_fd(), &place.name, &linked.identity);
        let raced = Fault::rule(ErrorKind::Raced, "");
        Err(match removed {
            Ok(true) => raced,
            _ => raced.with_effect(Effect::Visible),
        })
    }
}
