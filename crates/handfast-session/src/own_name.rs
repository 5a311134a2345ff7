//! A file of the base that is opened by one name, while others give it names and take them away.
//!
//! Rules speak of names. A file with one name is judged by the path that led to it, and a file with
//! several by all of them. Both say something only if the names stayed as they were while the file was
//! judged: a process outside can give a denied file a second name, and take that name away when it has
//! been opened. Then the open file has one name, and it is the denied one.

use std::time::{Duration, SystemTime};

use handfast::{Dir, ErrorKind, FilesystemKind, Metadata, Name, NameRef, RelPath, Root};
use rustix::fs::{RenameFlags, SeekFrom};
use rustix::io::Errno;

use crate::error::Error;

/// A name that came or went before this time did so before the file was opened. A moment would do, but times
/// of files lag behind the clock by a tick, and clocks are corrected.
const SETTLED: Duration = Duration::from_secs(2);

/// How often a file that changes, or is replaced, while it is opened is opened again.
const MAX_OPENS: u32 = 64;

/// Opens a file for reading, in a root that judges open files, and makes sure that its names did not
/// change meanwhile.
///
/// # Errors
/// `Raced` if they kept changing.
pub(crate) fn open_by_own_name(root: &Root, path: &RelPath) -> Result<handfast::File, Error> {
    for _ in 0..MAX_OPENS {
        let file = root.open(path)?;
        if has_kept_its_names(root, path, &file)? {
            return Ok(file);
        }
    }
    Err(Error::refused(
        ErrorKind::Raced,
        "names of the file kept coming and going",
    ))
}

/// Whether the names by which an open file was judged are the ones that it has. Giving a file a name,
/// and taking one away, changes its change time.
///
/// # Platform
/// Change times are as fine as the kernel's clock tick before Linux 6.13; two changes within one tick
/// are taken for one.
fn has_kept_its_names(root: &Root, path: &RelPath, file: &handfast::File) -> Result<bool, Error> {
    let opened = file.metadata();
    let is_as_opened = |now: &Metadata| {
        now.identity.same_object(&opened.identity)
            && (now.nlink, now.changed) == (opened.nlink, opened.changed)
    };
    if opened.nlink > 1 {
        // It was judged by all its names between the two looks.
        return Ok(is_as_opened(&file.metadata_now()?));
    }
    if are_names_old(root, file)? {
        return Ok(true);
    }
    match found_under(root, path) {
        Ok(found) => Ok(is_as_opened(&found)),
        // No descriptor left, say: that is no race.
        Err(error) if error.kind() == ErrorKind::Io => Err(error),
        Err(_) => Ok(false),
    }
}

/// Whether a file with one name got and lost none since before it was opened. Then the one that led to it
/// is the one it has.
///
/// On ext4 the kernel counts the names of a file down before it sets the change time. It holds the lock of
/// the file for both, and `SEEK_DATA` waits for that lock: so what is looked at afterwards belongs
/// together. Other filesystems make no such promise, and there the name is looked at.
fn are_names_old(root: &Root, file: &handfast::File) -> Result<bool, Error> {
    if root.enforcement().filesystem != FilesystemKind::Ext {
        return Ok(false);
    }
    // An empty file has no data to be found; the lock was waited for.
    if let Ok(1..) = rustix::fs::seek(file, SeekFrom::Data(0)) {
        rustix::fs::seek(file, SeekFrom::Start(0))?;
    }
    let now = file.metadata_now()?;
    let age = SystemTime::now().duration_since(now.changed.to_system_time());
    Ok(now.nlink == 1 && age.is_ok_and(|age| age > SETTLED))
}

/// What a name leads to, once every change of its directory that has begun is over.
///
/// The kernel counts the names of a file down before a name is seen to go: somebody who looks in between
/// finds one name, which is not there any more.
fn found_under(root: &Root, path: &RelPath) -> Result<Metadata, Error> {
    let (Some(name), Some(parent)) = (path.name(), path.parent()) else {
        return root.symlink_metadata(path);
    };
    let dir = match parent.is_root() {
        true => root.as_dir()?,
        false => root.open_dir(&parent)?,
    };
    wait_for_changes(&dir, name);
    dir.metadata_of_name(&name.to_name())
}

/// Waits, by a call that needs the directory for itself and changes nothing: a rename of a name to itself
/// that must not replace anything.
fn wait_for_changes(dir: &Dir, name: NameRef<'_>) {
    let name = name.as_bytes();
    let renamed = rustix::fs::renameat_with(dir, name, dir, name, RenameFlags::NOREPLACE);
    if matches!(renamed, Err(Errno::EXIST | Errno::NOENT)) {
        return;
    }
    // Read-only, or a filter does not know the call. A name that nobody asked for before is looked for
    // in the directory itself, which is held for that too.
    if let Ok(id) = crate::overlay::fresh_id()
        && let Ok(missing) = Name::parse(format!(".handfast-none-{id:016x}"))
    {
        drop(dir.metadata_of_name(&missing));
    }
}
