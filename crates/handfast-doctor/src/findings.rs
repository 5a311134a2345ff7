//! What the root itself says, and what the probe found, as checks.

use handfast::harden::{self, Wall};
use handfast::{Backend, BackendReason, Enforcement, FilesystemKind, MountIdentity};

use crate::check::{Check, State};
use crate::probe::Attempt;

/// Whether anything gets out.
pub(crate) fn confinement(attempts: &[Attempt]) -> Check {
    let (id, title) = ("confinement", "nothing leaves the root");
    let ways = |attempt: &&Attempt| attempt.way != "fifo";
    verdict(id, title, attempts.iter().filter(ways))
}

/// Whether anything hangs.
pub(crate) fn specials(attempts: &[Attempt]) -> Check {
    let (id, title) = ("specials", "a FIFO is never waited for");
    let fifo = |attempt: &&Attempt| attempt.way == "fifo";
    verdict(id, title, attempts.iter().filter(fifo))
}

fn verdict<'a>(
    id: &'static str,
    title: &'static str,
    attempts: impl Iterator<Item = &'a Attempt>,
) -> Check {
    let tried: Vec<_> = attempts.filter(|attempt| attempt.was_tried()).collect();
    let count = |wrong: fn(&Attempt) -> bool| tried.iter().filter(|one| wrong(one)).count();
    let (escaped, odd, all) = (count(Attempt::escaped), count(Attempt::is_odd), tried.len());
    let (state, detail) = match (escaped, odd, all) {
        (1.., _, _) => (
            State::No,
            format!("{escaped} of {all} attempts were not refused"),
        ),
        (0, _, 0) => (State::Unknown, "nothing could be tried".to_owned()),
        (0, 1.., _) => (
            State::Weaker,
            format!("{odd} of {all} attempts were refused for another reason than documented"),
        ),
        (0, 0, _) => (State::Yes, format!("{all} of {all} attempts were refused")),
    };
    Check::new(id, title, state, detail)
}

/// Whether other mounts are noticed.
pub(crate) fn mounts(enforcement: &Enforcement) -> Check {
    let (state, detail) = match (enforcement.mount_identity, enforcement.backend) {
        (MountIdentity::MountId, _) => (
            State::Yes,
            "distinguished by mount id, bind mounts included",
        ),
        (MountIdentity::Device, Backend::Kernel) => (
            State::Yes,
            "the kernel does not cross them, bind mounts included",
        ),
        (MountIdentity::Device, Backend::Walk) => (
            State::Weaker,
            "distinguished by device only; a bind mount may go unnoticed",
        ),
    };
    Check::new("mounts", "other mounts are not entered", state, detail)
}

/// Whether the filesystem's word can be taken.
pub(crate) fn filesystem(enforcement: &Enforcement) -> Check {
    let kind = enforcement.filesystem;
    let weaknesses = kind.weaknesses();
    let (state, detail) = match weaknesses {
        [] => (State::Yes, format!("{kind}")),
        // The library's comparisons tolerate what an overlay does.
        known if kind == FilesystemKind::Overlay => (
            State::Yes,
            format!("{kind}: {}, which is expected", known.join("; ")),
        ),
        known => (State::Weaker, format!("{kind}: {}", known.join("; "))),
    };
    Check::new(
        "filesystem",
        "the filesystem can be believed",
        state,
        detail,
    )
}

/// Whether the directory is still anywhere.
pub(crate) fn attached(enforcement: &Enforcement) -> Check {
    let (state, detail) = if enforcement.attached {
        (State::Yes, "the directory has a name")
    } else {
        (
            State::No,
            "the directory was removed; nothing can be made in it",
        )
    };
    Check::new("attached", "the root is there", state, detail)
}

/// The one call that takes a whole path.
pub(crate) fn openat2(enforcement: &Enforcement) -> Check {
    let (state, detail) = match enforcement.reason {
        BackendReason::Absent | BackendReason::Lost => (
            State::No,
            "absent or filtered; the component walk gives the same answers",
        ),
        BackendReason::Misbehaves => (
            State::No,
            "there, but it lets pass what it must refuse; the component walk is used",
        ),
        _ => (
            State::Yes,
            "one call for a whole path, and it refuses what it must",
        ),
    };
    Check::new("openat2", "openat2", state, detail)
}

pub(crate) fn mount_ids(enforcement: &Enforcement) -> Check {
    let (state, detail) = match enforcement.mount_identity {
        MountIdentity::MountId => (State::Yes, "the kernel tells which mount an object is on"),
        MountIdentity::Device => (State::No, "mounts are distinguished by device number"),
    };
    Check::new("mount-ids", "mount ids", state, detail)
}

pub(crate) fn birth_times(enforcement: &Enforcement) -> Check {
    let (state, detail) = if enforcement.birth_times {
        (State::Yes, "an inode number that is used again is noticed")
    } else {
        (
            State::No,
            "an inode number that is used again looks like the old object",
        )
    };
    Check::new("birth-times", "birth times", state, detail)
}

/// The second wall.
pub(crate) fn landlock() -> Check {
    let (state, detail) = match harden::offered() {
        Wall::Full => (State::Yes, "a program can lock itself into its roots"),
        Wall::Partial => (State::Weaker, "a part of the rights can be locked"),
        Wall::None => (State::No, "absent or switched off; there is no second wall"),
    };
    Check::new("landlock", "Landlock", state, detail)
}
