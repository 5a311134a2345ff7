//! Access control lists of files that are replaced.
//!
//! With a list the group bits of a file's mode are the list's mask and not what its group may do. So
//! a file that takes another's place takes its list too, or gets a mode that gives nobody more than
//! the list gave. And a list that was inherited from the directory goes, where it was not there
//! before or where an exact mode was asked for.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, XattrFlags};
use rustix::io::Errno;

use crate::error::{ErrorKind, Fault};
use crate::identity::Identity;
use crate::resolve::Place;
use crate::root::CAUTIOUS;
use crate::sys;

/// The attribute that holds the list.
const NAME: &std::ffi::CStr = c"system.posix_acl_access";

/// Most lists fit here; larger ones are asked for again.
const USUAL: usize = 512;
const LARGEST: usize = 64 * 1024;

/// The kernel's form: a version, then entries of a tag, rights and an id, in the order of tags.
const HEADER: usize = 4;
const ENTRY: usize = 8;
const USER: u16 = 0x02;
const GROUP_OWNER: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

/// The list of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum AccessList {
    /// It has none: its mode says all.
    None,
    /// As the kernel gave it.
    Some(Vec<u8>),
    /// The system does not say.
    Unknown,
}

impl AccessList {
    /// Reads the list of a pinned file. No kernel reads attributes of pinned objects, so the name is
    /// opened, and must still be that file; what may not be opened is unknown.
    pub(crate) fn of_pinned(place: &Place, identity: &Identity) -> Result<Self, Fault> {
        let Some(fd) = open_same(place, identity)? else {
            return Ok(Self::Unknown);
        };
        match read(|value| sys::retry(|| rustix::fs::fgetxattr(&fd, NAME, &mut *value))) {
            Ok(list) => Ok(Self::Some(list)),
            Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(Self::None),
            Err(errno) if is_refusal(errno) => Ok(Self::Unknown),
            Err(errno) => Err(Fault::sys("fgetxattr", errno)),
        }
    }

    /// Gives a file the list in place of whatever it inherited, and says which mode it is to get:
    /// `None` if the list has set it. `mode` is that of the file the list was read from, `same_group`
    /// whether the new file has the same group.
    pub(crate) fn give_to(
        self,
        file: impl AsFd,
        mode: u32,
        same_group: bool,
    ) -> Result<Option<u32>, Fault> {
        let wanted = match self {
            Self::None if same_group => mode,
            // The group's rights were meant for another group: leave it what everybody has.
            Self::None => (mode & 0o707) | ((mode & 0o007) << 3),
            Self::Some(mut list) => {
                if !same_group {
                    narrow_group(&mut list);
                }
                let flags = XattrFlags::empty();
                match sys::retry(|| rustix::fs::fsetxattr(&file, NAME, &list, flags)) {
                    Ok(()) => return Ok(None),
                    Err(errno) if is_refusal(errno) => narrowest(&list, mode),
                    Err(errno) => return Err(Fault::sys("fsetxattr", errno)),
                }
            }
            Self::Unknown => mode & 0o700,
        };
        drop_inherited(file, wanted).map(Some)
    }
}

/// Takes away a list that a file inherited from its directory. What mode it can have then: where the
/// list stays, the group bits would be its mask.
pub(crate) fn drop_inherited(file: impl AsFd, mode: u32) -> Result<u32, Fault> {
    match sys::retry(|| rustix::fs::fremovexattr(&file, NAME)) {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(mode),
        Err(errno) if is_refusal(errno) => Ok(mode & 0o707),
        Err(errno) => Err(Fault::sys("fremovexattr", errno)),
    }
}

/// Whether the system, the filesystem or a filter does not let us, ever; other errors may pass.
fn is_refusal(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::ACCESS | Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL
    )
}

fn read(ask: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut usual = [0; USUAL];
    match ask(&mut usual) {
        Ok(len) => Ok(usual[..len].to_vec()),
        Err(Errno::RANGE) => {
            let mut large = vec![0; LARGEST];
            let len = ask(&mut large)?;
            large.truncate(len);
            Ok(large)
        }
        Err(errno) => Err(errno),
    }
}

/// Opens a name for reading or writing, whichever is allowed; `None` if neither is, or if it is
/// another file by now.
fn open_same(place: &Place, identity: &Identity) -> Result<Option<OwnedFd>, Fault> {
    for access in [OFlags::RDONLY, OFlags::WRONLY] {
        let flags = access | OFlags::NOFOLLOW | CAUTIOUS;
        match sys::open_at(&place.dir, place.name.as_c_str(), flags, Mode::empty()) {
            Ok(fd) => {
                let same = sys::status(&fd)?.identity.same_object(identity);
                return Ok(same.then_some(fd));
            }
            Err(fault) if matches!(fault.kind, ErrorKind::Io | ErrorKind::Quota) => {
                return Err(fault);
            }
            Err(_) => {}
        }
    }
    Ok(None)
}

/// The entries of a list: where each is, its tag and its rights.
fn entries(list: &[u8]) -> impl Iterator<Item = (usize, u16, u32)> {
    let whole = list.get(HEADER..).unwrap_or_default().chunks_exact(ENTRY);
    whole.enumerate().map(|(index, entry)| {
        let tag = u16::from_le_bytes([entry[0], entry[1]]);
        let rights = u32::from(entry[2] & 0o7);
        (HEADER + index * ENTRY, tag, rights)
    })
}

fn rights_of(list: &[u8], wanted: u16) -> Option<u32> {
    entries(list).find_map(|(_, tag, rights)| (tag == wanted).then_some(rights))
}

/// The owning group is another one: its members get what everybody has.
fn narrow_group(list: &mut [u8]) {
    let other = rights_of(list, OTHER).unwrap_or(0);
    let place = entries(list).find_map(|(at, tag, _)| (tag == GROUP_OWNER).then_some(at));
    if let Some(at) = place {
        list[at + 2] &= u8::try_from(other).unwrap_or(0);
    }
}

/// A mode that gives nobody more than a list: who is named in it may be in the group, or anybody.
fn narrowest(list: &[u8], mode: u32) -> u32 {
    let mask = rights_of(list, MASK).unwrap_or(0o7);
    let (mut group, mut other) = (mask, mode & 0o007);
    for (_, tag, rights) in entries(list) {
        match tag {
            USER => {
                group &= rights;
                other &= rights & mask;
            }
            GROUP_OWNER => group &= rights,
            GROUP => other &= rights & mask,
            _ => {}
        }
    }
    // The group's members may be named besides, in groups that have less.
    (mode & 0o700) | (group & (mode >> 3)) << 3 | other
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(u16, u8)]) -> Vec<u8> {
        let mut bytes = vec![2, 0, 0, 0];
        for (tag, rights) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend([*rights, 0, 0, 0, 0, 0]);
        }
        bytes
    }

    #[test]
    fn l2_a_mode_in_place_of_a_list_gives_nobody_more() {
        // The mask shows as the group's bits; the group itself has nothing.
        let masked = list(&[(1, 6), (USER, 6), (GROUP_OWNER, 0), (MASK, 6), (OTHER, 0)]);
        assert_eq!(narrowest(&masked, 0o660), 0o600);
        // Somebody is denied whom everybody else's bits would let in.
        let denied = list(&[(1, 6), (USER, 0), (GROUP_OWNER, 4), (MASK, 4), (OTHER, 4)]);
        assert_eq!(narrowest(&denied, 0o644), 0o600);
        // So is a group.
        let denied = list(&[(1, 6), (GROUP_OWNER, 4), (GROUP, 0), (MASK, 4), (OTHER, 4)]);
        assert_eq!(narrowest(&denied, 0o644), 0o640);
        // A list that says no more than a mode does loses nothing.
        let plain = list(&[(1, 6), (GROUP_OWNER, 4), (OTHER, 4)]);
        assert_eq!(narrowest(&plain, 0o644), 0o644);
        for garbled in [&[][..], &[2, 0, 0], &[2, 0, 0, 0, 1]] {
            assert_eq!(narrowest(garbled, 0o640) & 0o700, 0o600);
        }
    }

    #[test]
    fn l2_another_group_gets_what_everybody_has() {
        let mut it = list(&[(1, 6), (USER, 6), (GROUP_OWNER, 6), (MASK, 6), (OTHER, 4)]);
        narrow_group(&mut it);
        assert_eq!(rights_of(&it, GROUP_OWNER), Some(4));
        assert_eq!(rights_of(&it, USER), Some(6));
    }
}
