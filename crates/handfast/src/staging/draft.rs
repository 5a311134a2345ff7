//! A file that is being written and has no public name yet.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::content::copy_content;
use super::name::{Expected, Role, StagingName};
use crate::error::{ErrorKind, Fault};
use crate::identity::Identity;
use crate::path::Name;
use crate::root::Root;
use crate::sys;

/// A file without a public name. Dropping it removes whatever name it had.
pub(crate) struct Draft<D: AsFd> {
    dir: D,
    /// Taken when the file is given out.
    fd: Option<OwnedFd>,
    /// Its staging name, while it has one.
    name: Option<Name>,
    identity: Option<Identity>,
    /// It carries the mark of its staging name.
    marked: bool,
    /// Other code may hold its descriptor: it cannot become another file any more.
    given_out: bool,
    /// Where its name lies, if that is another directory: the name belongs to the caller then, and
    /// is neither changed nor removed.
    home: Option<OwnedFd>,
}

/// How often a draft is made again if a process removed it before it was locked.
const MAX_TRIES: u32 = 100;

impl<D: AsFd> Draft<D> {
    /// Makes an empty file that no other process can find, in a held directory.
    ///
    /// The mode is subject to the umask; give the exact one with `fchmod` where it matters.
    pub(crate) fn create(root: &Root, dir: D, mode: u32) -> Result<Self, Fault> {
        if !root.pinned.no_unnamed_files.load(Ordering::Relaxed) {
            let flags = OFlags::RDWR | sys::UNNAMED;
            match sys::open_at(&dir, c".", flags, Mode::from_raw_mode(mode)) {
                Ok(fd) if can_be_named(root, &fd, &dir) => {
                    lock(&fd)?;
                    return Ok(Self::new(dir, fd, None));
                }
                Ok(_) => root.pinned.no_unnamed_files.store(true, Ordering::Relaxed),
                // The filesystem has none (overlayfs, NFS, FUSE, …): remember and use a name.
                Err(fault) if means_no_unnamed_files(&fault) => {
                    root.pinned.no_unnamed_files.store(true, Ordering::Relaxed);
                }
                // ext4 says EPERM of a directory that was removed; a named file says what it is.
                Err(fault) if fault.is(Errno::PERM) => {}
                Err(fault) => return Err(fault),
            }
        }
        Self::create_named(dir, mode)
    }

    fn new(dir: D, fd: OwnedFd, name: Option<Name>) -> Self {
        Self {
            dir,
            fd: Some(fd),
            name,
            identity: None,
            marked: false,
            given_out: false,
            home: None,
        }
    }

    /// A file that the caller has under a name of its own, to be published by moving it.
    pub(crate) fn moved(
        dir: D,
        fd: OwnedFd,
        home: OwnedFd,
        name: Name,
        identity: Identity,
    ) -> Self {
        let mut draft = Self::new(dir, fd, Some(name)).given_out();
        (draft.home, draft.identity) = (Some(home), Some(identity));
        draft
    }

    /// Whether its name belongs to the caller.
    pub(crate) fn is_moved(&self) -> bool {
        self.home.is_some()
    }

    /// The directory in which its name lies.
    pub(crate) fn home(&self) -> BorrowedFd<'_> {
        self.home
            .as_ref()
            .map_or_else(|| self.dir.as_fd(), |home| home.as_fd())
    }

    /// From here on others may write through its descriptor.
    pub(crate) fn given_out(mut self) -> Self {
        self.given_out = true;
        self
    }

    /// As [`Draft::create`], under a staging name from the start.
    fn create_named(dir: D, mode: u32) -> Result<Self, Fault> {
        let mut tries = MAX_TRIES;
        let (fd, identity, name) = loop {
            tries -= 1;
            match make_named(dir.as_fd(), mode) {
                // Before it is locked, another process's `recover` takes it for a leftover.
                Err(fault) if tries > 0 && fault.kind == ErrorKind::Raced => {}
                made => break made?,
            }
        };
        let mut draft = Self::new(dir, fd, Some(name));
        draft.identity = Some(identity);
        Ok(draft)
    }

    /// Gives a named draft the name that identifies its object.
    fn rename_to_proof(&mut self, expected: Option<Expected>) -> Result<(), Fault> {
        let proof = self.proof(expected)?;
        if let Some(old) = &self.name {
            rename_to_secret(&self.dir, old, &proof)?;
            self.name = Some(proof);
        }
        Ok(())
    }

    /// A name that identifies the draft. Where it is about to displace something, the draft
    /// itself is marked too: a user who reads inode and birth time of a foreign file could make such
    /// a name for it, and `recover` would take that file for ours and away.
    fn proof(&mut self, expected: Option<Expected>) -> Result<Name, Fault> {
        let identity = self.identity()?;
        let proof = StagingName::new(Role::File, &identity, sys::random()?, expected);
        if expected.is_some() {
            self.marked = proof.mark(self.fd());
        }
        Ok(proof.to_name())
    }

    /// Takes the mark away: from here on nothing proves that the file is ours.
    pub(crate) fn unmark(&mut self) -> Result<(), Fault> {
        if std::mem::take(&mut self.marked) {
            StagingName::unmark(self.fd())?;
        }
        Ok(())
    }

    /// Which file the draft is.
    pub(crate) fn identity(&mut self) -> Result<Identity, Fault> {
        if self.identity.is_none() {
            self.identity = Some(sys::status(self.fd())?.identity);
        }
        Ok(self.identity.expect("just set"))
    }

    /// Sees to it that the draft has a staging name.
    pub(crate) fn named(
        &mut self,
        root: &Root,
        expected: Option<Expected>,
    ) -> Result<&Name, Fault> {
        if self.name.is_some() {
            if expected.is_some() && !self.is_moved() {
                self.rename_to_proof(expected)?;
            }
        } else {
            self.give_name(root, expected)?;
        }
        Ok(self.name.as_ref().expect("a name was just given"))
    }

    fn give_name(&mut self, root: &Root, expected: Option<Expected>) -> Result<(), Fault> {
        let proof = self.proof(expected)?;
        match sys::link_pinned(self.fd(), &self.dir, proof.as_c_str()) {
            Ok(()) => {
                self.name = Some(proof);
                Ok(())
            }
            Err(fault) => {
                self.require_lasting(fault)?;
                root.pinned.no_unnamed_files.store(true, Ordering::Relaxed);
                self.become_named(expected)
            }
        }
    }

    /// Kernels before 6.10 want a capability to link by descriptor and answer ENOENT; so does
    /// every kernel if the directory itself was removed. Passes only where names will do better.
    fn require_lasting(&self, fault: Fault) -> Result<(), Fault> {
        let says_no = fault.is(Errno::NOENT) || fault.is(Errno::OPNOTSUPP);
        let removed = sys::status(&self.dir).is_ok_and(|status| status.nlink == 0);
        if says_no && !removed {
            Ok(())
        } else {
            Err(fault)
        }
    }

    /// Copies into a draft with a name: another file, so a caller that asked for the identity before
    /// asks again. Only where linking by descriptor was taken away after the draft was made.
    fn become_named(&mut self, expected: Option<Expected>) -> Result<(), Fault> {
        if self.given_out {
            return Err(Fault::rule(
                ErrorKind::Unsupported,
                "the system has stopped naming files by descriptor since this one was made",
            ));
        }
        let status = sys::status(self.fd())?;
        let mut named = Draft::create_named(self.dir.as_fd(), 0o600)?;
        copy_content(self.fd(), named.fd())?;
        let made = sys::status(named.fd())?;
        if (made.uid, made.gid) != (status.uid, status.gid) {
            sys::chown_open(named.fd(), Some(status.uid), Some(status.gid))?;
        }
        sys::chmod_open(named.fd(), status.mode)?;
        // A sync of the first file said nothing about this one.
        sys::sync_all(named.fd())?;
        if expected.is_some() {
            named.rename_to_proof(expected)?;
        }
        let (fd, name, identity) = (named.fd.take(), named.name.take(), named.identity);
        self.marked = named.marked;
        drop(named);
        (self.fd, self.name, self.identity) = (fd, name, identity);
        Ok(())
    }

    /// The same file, to be published in another directory of the same filesystem.
    pub(crate) fn move_to(&mut self, dir: D) -> Result<(), Fault> {
        if let Some(name) = &self.name {
            sys::rename_at(&self.dir, name.as_c_str(), &dir, name.as_c_str())?;
        }
        self.dir = dir;
        Ok(())
    }

    /// Publishes under a name that must be free, and says which file was published.
    pub(crate) fn publish_new(&mut self, root: &Root, name: &Name) -> Result<Identity, Fault> {
        if self.name.is_none() {
            match sys::link_pinned(self.fd(), &self.dir, name.as_c_str()) {
                // By descriptor: it cannot have been another file.
                Ok(()) => return self.identity(),
                Err(fault) => {
                    self.require_lasting(fault)?;
                    root.pinned.no_unnamed_files.store(true, Ordering::Relaxed);
                    self.become_named(None)?;
                }
            }
        }
        let identity = self.identity()?;
        let staging = self.name.as_ref().expect("named by now");
        match sys::rename_noreplace(self.home(), staging.as_c_str(), &self.dir, name.as_c_str()) {
            Ok(()) => self.name = None,
            // Filesystems without the flag: a second name, which never replaces, and then the
            // first one goes.
            Err(fault) if lacks_flag(&fault) => {
                sys::link_at(self.home(), staging.as_c_str(), &self.dir, name.as_c_str())?;
                let staging = self.name.take().expect("named by now");
                drop(remove_if_same(self.home(), &staging, &identity));
            }
            Err(fault) => return Err(fault),
        }
        Ok(identity)
    }

    /// Publishes under a name, replacing what is there, and says which file was published.
    pub(crate) fn publish(&mut self, root: &Root, name: &Name) -> Result<Identity, Fault> {
        self.named(root, None)?;
        let identity = self.identity()?;
        let staging = self.name.as_ref().expect("just named");
        sys::rename_at(self.home(), staging.as_c_str(), &self.dir, name.as_c_str())?;
        self.name = None;
        Ok(identity)
    }

    /// The staging name now belongs to something else, or to nothing.
    pub(crate) fn forget_name(&mut self) {
        self.name = None;
    }

    /// Gives the descriptor out, unlocked; from here on the file is not ours to remove.
    pub(crate) fn release(mut self) -> OwnedFd {
        self.name = None;
        let fd = self.fd.take().expect("held until released");
        // What cannot be unlocked is unlocked when it is closed.
        drop(sys::unlock(&fd));
        fd
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        self.fd.as_ref().expect("held until released")
    }

    /// Lets go of the lock of a file that was published: it is not ours to guard any more.
    pub(crate) fn unlock(&self) {
        drop(sys::unlock(self.fd()));
    }
}

/// A locked file with a staging name that identifies it.
fn make_named(dir: BorrowedFd<'_>, mode: u32) -> Result<(OwnedFd, Identity, Name), Fault> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let first = StagingName::nameless(Role::File, sys::random()?).to_name();
    let fd = sys::open_at(dir, first.as_c_str(), flags, Mode::from_raw_mode(mode))?;
    let identity = sys::status(&fd)?.identity;
    let proven = lock(&fd).and_then(|()| {
        let proof = StagingName::new(Role::File, &identity, sys::random()?, None).to_name();
        rename_to_secret(dir, &first, &proof)?;
        Ok(proof)
    });
    match proven {
        Ok(proof) => Ok((fd, identity, proof)),
        Err(fault) => {
            drop(remove_if_same(dir, &first, &identity));
            Err(fault)
        }
    }
}

/// Whether unnamed files can be given names here; asked once for each root, before anything is
/// written to the first. Before Linux 6.10 that needs a capability.
fn can_be_named(root: &Root, fd: &OwnedFd, dir: impl AsFd) -> bool {
    let known = &root.pinned.names_by_descriptor;
    if known.load(Ordering::Relaxed) {
        return true;
    }
    let can = sys::can_link_pinned(fd, dir);
    known.store(can, Ordering::Relaxed);
    can
}

/// Whether the filesystem, or a filter, does not know a flag of a rename.
pub(crate) fn lacks_flag(fault: &Fault) -> bool {
    fault.is(Errno::INVAL) || fault.is(Errno::NOSYS)
}

impl<D: AsFd> Drop for Draft<D> {
    fn drop(&mut self) {
        if let Some(name) = self.name.take()
            && !self.is_moved()
            && let Ok(identity) = self.identity()
        {
            // Best effort: what cannot be removed now is found by `recover`.
            drop(remove_if_same(self.dir.as_fd(), &name, &identity));
        }
        // A child that was forked meanwhile may hold a copy of the descriptor.
        if let Some(fd) = &self.fd {
            drop(sys::unlock(fd));
        }
    }
}

impl<D: AsFd> AsFd for Draft<D> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd().as_fd()
    }
}

/// Held until the draft is published or its writer dies.
fn lock(fd: &OwnedFd) -> Result<(), Fault> {
    match sys::try_lock(fd, true) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Fault::rule(
            ErrorKind::Raced,
            "another process locked a file that none should have found",
        )),
        // Filesystems without locks: `recover` then cannot prove that a writer is dead, and keeps
        // what it finds.
        Err(fault) if fault.kind == ErrorKind::Unsupported || fault.is(Errno::NOLCK) => Ok(()),
        Err(fault) => Err(fault),
    }
}

fn means_no_unnamed_files(fault: &Fault) -> bool {
    // EISDIR: kernels that do not know the flag; EOPNOTSUPP, EINVAL: filesystems without it.
    fault.is(Errno::OPNOTSUPP) || fault.is(Errno::ISDIR) || fault.is(Errno::INVAL)
}

/// Renames to a name that no attacker can have guessed: where the filesystem cannot promise not to
/// replace, there is nothing to be replaced.
pub(crate) fn rename_to_secret(dir: impl AsFd, from: &Name, to: &Name) -> Result<(), Fault> {
    let renamed = match sys::rename_noreplace(&dir, from.as_c_str(), &dir, to.as_c_str()) {
        Err(fault) if lacks_flag(&fault) => {
            sys::rename_at(&dir, from.as_c_str(), &dir, to.as_c_str())
        }
        renamed => renamed,
    };
    renamed.map_err(|fault| match fault.kind {
        // Another process removed a name that none should have found.
        ErrorKind::NotFound => fault.with_kind(ErrorKind::Raced, ""),
        _ => fault,
    })
}

/// Unlinks a name of ours if it still refers to the given object.
///
/// Between the check and the unlink a user who can write the directory may put another object
/// there; he could have unlinked that object himself.
pub(crate) fn remove_if_same(
    dir: BorrowedFd<'_>,
    name: &Name,
    identity: &Identity,
) -> Result<bool, Fault> {
    let status = sys::status_at(dir, name.as_c_str())?;
    if !status.identity.same_object(identity) {
        return Ok(false);
    }
    if status.is_dir() {
        sys::rmdir_at(dir, name.as_c_str())?;
    } else {
        sys::unlink_at(dir, name.as_c_str())?;
    }
    Ok(true)
}
