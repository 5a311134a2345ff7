//! Rules for the object that was reached: always asked of the descriptor, never of a name.

use crate::error::{ErrorKind, Fault};
use crate::metadata::{FileKind, Metadata};
use crate::options::{HardLinks, Mounts, Specials};
use crate::root::Root;

/// What an object is wanted for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Want {
    /// To look at it: kind and links do not matter.
    Look,
    /// To read its content.
    Read,
    /// To change it in place.
    Change,
}

/// What every object on the way and at the end must satisfy: our mount, and not denied.
pub(crate) fn check_passage(root: &Root, status: &Metadata) -> Result<(), Fault> {
    if crosses_mount(root, status) {
        return Err(Fault::rule(
            ErrorKind::Mount,
            "something is mounted there, and the root does not allow other mounts",
        ));
    }
    if root.is_denied(status) {
        return Err(Fault::rule(
            ErrorKind::Denied,
            "this object is never given out",
        ));
    }
    Ok(())
}

/// Whether the object lies on another mount than the root, where that is refused.
fn crosses_mount(root: &Root, status: &Metadata) -> bool {
    if root.options.mounts == Mounts::Allow {
        return false;
    }
    let ours = &root.pinned.identity;
    match (ours.mount, status.identity.mount) {
        (Some(root), Some(here)) => root != here,
        // Before Linux 5.8, and elsewhere: a bind mount of the same filesystem goes unnoticed
        // here, and `enforcement()` says so.
        _ => ours.device != status.identity.device,
    }
}

/// What a file must satisfy for what it is wanted for.
pub(crate) fn check_file(root: &Root, status: &Metadata, want: Want) -> Result<(), Fault> {
    check_passage(root, status)?;
    match status.kind {
        FileKind::File => {}
        FileKind::Dir => return Err(Fault::rule(ErrorKind::IsADirectory, "")),
        FileKind::Symlink => return Err(Fault::rule(ErrorKind::Link, "")),
        _ if root.options.specials == Specials::Allow => {}
        special => return Err(special_fault(special)),
    }
    check_hard_links(root, status, want)
}

/// Special files are named in the message: "which kind?" is the first question people ask.
pub(crate) fn special_fault(kind: FileKind) -> Fault {
    Fault::rule(
        ErrorKind::Kind,
        match kind {
            FileKind::Fifo => "it is a FIFO",
            FileKind::Socket => "it is a socket",
            FileKind::Block | FileKind::Char => "it is a device",
            _ => "it is a special file",
        },
    )
}

pub(crate) fn check_hard_links(root: &Root, status: &Metadata, want: Want) -> Result<(), Fault> {
    if !status.has_other_names() {
        return Ok(());
    }
    let refused = match root.options.hard_links {
        HardLinks::Allow => false,
        HardLinks::RefuseWrites => want == Want::Change,
        HardLinks::Refuse => want != Want::Look,
    };
    if refused {
        return Err(Fault::rule(
            ErrorKind::HardLink,
            match want {
                Want::Change => "the file has other names, which this would change too",
                _ => "the file has other names",
            },
        ));
    }
    Ok(())
}
