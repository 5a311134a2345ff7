//! Modes, owners, times and extended attributes.

use handfast::{Timestamp, Verb};

use super::read::judge_names;
use crate::error::Error;
use crate::pipeline::Ask;
use crate::rules::Access;
use crate::session::Session;

impl Session {
    /// Changes permission bits. In an overlay the file is copied up first.
    ///
    /// # Errors
    /// As [`Session::write`]; `HardLink` if the file has other names.
    pub fn chmod(&self, path: impl AsRef<[u8]>, mode: u32) -> Result<(), Error> {
        self.act(Ask::change(Verb::Chmod, path.as_ref()), |place, _| {
            judge_names(place, Access::Change)?;
            place.mount.layer.chmod(&place.path, mode)
        })
    }

    /// Changes owner and group, in a read-write mount.
    ///
    /// # Errors
    /// `Unsupported` in an overlay; otherwise as [`handfast::Root::chown`].
    pub fn chown(
        &self,
        path: impl AsRef<[u8]>,
        uid: Option<u32>,
        gid: Option<u32>,
    ) -> Result<(), Error> {
        self.act(Ask::change(Verb::Chown, path.as_ref()), |place, _| {
            judge_names(place, Access::Change)?;
            place.mount.layer.chown(&place.path, uid, gid)
        })
    }

    /// Changes access and modification times. An overlay keeps them for files until they are
    /// committed.
    ///
    /// # Errors
    /// As [`Session::write`].
    pub fn set_times(
        &self,
        path: impl AsRef<[u8]>,
        accessed: Option<Timestamp>,
        modified: Option<Timestamp>,
    ) -> Result<(), Error> {
        self.act(Ask::change(Verb::SetTimes, path.as_ref()), |place, _| {
            judge_names(place, Access::Change)?;
            place.mount.layer.set_times(&place.path, accessed, modified)
        })
    }

    /// Reads an extended attribute in `user.`.
    ///
    /// # Errors
    /// As [`handfast::Root::get_xattr`].
    pub fn get_xattr(&self, path: impl AsRef<[u8]>, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.act(Ask::look(Verb::GetXattr, path.as_ref()), |place, op| {
            op.allow(place.mount, None)?;
            place.mount.layer.get_xattr(&place.path, name)
        })
    }

    /// Lists the extended attributes in `user.`.
    ///
    /// # Errors
    /// As [`handfast::Root::list_xattrs`].
    pub fn list_xattrs(&self, path: impl AsRef<[u8]>) -> Result<Vec<String>, Error> {
        self.act(Ask::look(Verb::ListXattr, path.as_ref()), |place, op| {
            op.allow(place.mount, None)?;
            place.mount.layer.list_xattrs(&place.path)
        })
    }

    /// Sets an extended attribute in `user.`, in a read-write mount.
    ///
    /// # Errors
    /// `Unsupported` in an overlay; otherwise as [`handfast::Root::set_xattr`].
    pub fn set_xattr(&self, path: impl AsRef<[u8]>, name: &str, value: &[u8]) -> Result<(), Error> {
        self.act(Ask::change(Verb::SetXattr, path.as_ref()), |place, _| {
            judge_names(place, Access::Change)?;
            place.mount.layer.set_xattr(&place.path, name, value)
        })
    }

    /// Removes an extended attribute in `user.`, in a read-write mount.
    ///
    /// # Errors
    /// `Unsupported` in an overlay; otherwise as [`handfast::Root::remove_xattr`].
    pub fn remove_xattr(&self, path: impl AsRef<[u8]>, name: &str) -> Result<(), Error> {
        self.act(Ask::change(Verb::RemoveXattr, path.as_ref()), |place, _| {
            judge_names(place, Access::Change)?;
            place.mount.layer.remove_xattr(&place.path, name)
        })
    }
}
