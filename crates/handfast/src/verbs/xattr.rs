//! Extended attributes, through an opened descriptor.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, XattrFlags};
use rustix::io::Errno;

use super::chmod::require_below;
use crate::error::{Error, ErrorKind, Fault};
use crate::metadata::FileKind;
use crate::op::Op;
use crate::path::RelPath;
use crate::resolve::{self, Last};
use crate::root::{CAUTIOUS, Root};
use crate::rules::{self, Want};
use crate::sys;
use crate::verb::Verb;

/// No filesystem keeps larger values.
const MAX_VALUE: usize = 64 * 1024;

impl Root {
    /// Reads an extended attribute; `None` if the object does not have it.
    ///
    /// # Errors
    /// `Denied` for names outside `user.` and in `user.handfast.`; otherwise as [`Root::open`].
    pub fn get_xattr(&self, path: &RelPath, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.act(Verb::GetXattr, path, |op| {
            check_name(name)?;
            let fd = open_for(self, path, Want::Read, op)?;
            let mut value = vec![0; MAX_VALUE];
            match sys::retry(|| rustix::fs::fgetxattr(&fd, name, &mut value[..])) {
                Ok(len) => {
                    value.truncate(len);
                    Ok(Some(value))
                }
                Err(Errno::NODATA) => Ok(None),
                Err(errno) => Err(Fault::sys("fgetxattr", errno)),
            }
        })
    }

    /// Lists the names of the extended attributes in `user.`.
    ///
    /// # Errors
    /// As [`Root::open`].
    pub fn list_xattrs(&self, path: &RelPath) -> Result<Vec<String>, Error> {
        self.act(Verb::ListXattr, path, |op| {
            let fd = open_for(self, path, Want::Read, op)?;
            let mut names = vec![0; MAX_VALUE];
            let len = sys::retry(|| rustix::fs::flistxattr(&fd, &mut names[..]))
                .map_err(|errno| Fault::sys("flistxattr", errno))?;
            Ok(names[..len]
                .split(|byte| *byte == 0)
                .filter(|name| name.starts_with(b"user."))
                .map(|name| String::from_utf8_lossy(name).into_owned())
                .collect())
        })
    }

    /// Sets an extended attribute.
    ///
    /// # Errors
    /// `Denied` for names outside `user.`, which carry privileges, and in `user.handfast.`, which are
    /// marks of [`Root::recover`]; `HardLink` if the file has other names; `TooLong`; `Unsupported` where the filesystem has none.
    pub fn set_xattr(&self, path: &RelPath, name: &str, value: &[u8]) -> Result<(), Error> {
        self.act(Verb::SetXattr, path, |op| {
            check_name(name)?;
            if value.len() > MAX_VALUE {
                return Err(Fault::rule(ErrorKind::TooLong, "the value is too long"));
            }
            let fd = open_for(self, path, Want::Change, op)?;
            sys::retry(|| rustix::fs::fsetxattr(&fd, name, value, XattrFlags::empty()))
                .map_err(|errno| Fault::sys("fsetxattr", errno))
        })
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// `NotFound` if the object does not have it; otherwise as [`Root::set_xattr`].
    pub fn remove_xattr(&self, path: &RelPath, name: &str) -> Result<(), Error> {
        self.act(Verb::RemoveXattr, path, |op| {
            check_name(name)?;
            let fd = open_for(self, path, Want::Change, op)?;
            sys::retry(|| rustix::fs::fremovexattr(&fd, name)).map_err(|errno| match errno {
                Errno::NODATA => Fault::sys("fremovexattr", errno)
                    .with_kind(ErrorKind::NotFound, "it has no such attribute"),
                errno => Fault::sys("fremovexattr", errno),
            })
        })
    }
}

/// Only `user.`: the other namespaces carry capabilities, labels and access control lists. And not
/// our own marks: `recover` removes what carries one under a fitting name.
fn check_name(name: &str) -> Result<(), Fault> {
    let rest = name
        .strip_prefix("user.")
        .ok_or_else(|| Fault::rule(ErrorKind::Denied, "only attributes in `user.` are touched"))?;
    if rest.starts_with("handfast.") {
        return Err(Fault::rule(
            ErrorKind::Denied,
            "attributes in `user.handfast.` are kept for marks",
        ));
    }
    if rest.is_empty() || rest.contains('\0') {
        return Err(Fault::rule(ErrorKind::Invalid, "not an attribute's name"));
    }
    if name.len() > 255 {
        return Err(Fault::rule(
            ErrorKind::TooLong,
            "the attribute's name is too long",
        ));
    }
    Ok(())
}

fn open_for(root: &Root, path: &RelPath, want: Want, op: &mut Op<'_>) -> Result<OwnedFd, Fault> {
    let flags = OFlags::RDONLY | CAUTIOUS;
    let (fd, status) = rules::open_by_own_name(root, path, want, || {
        let fd = resolve::open(root, path, flags, Mode::empty(), Last::Follow)?;
        let status = sys::status(&fd)?;
        match status.kind {
            FileKind::Dir => rules::check_passage(root, &status)?,
            _ => rules::check_file(root, &status, want)?,
        }
        if want == Want::Change {
            require_below(root, &status)?;
        }
        Ok((fd, status, false))
    })?;
    op.allow(Some(&status))?;
    Ok(fd)
}
