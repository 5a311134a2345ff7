//! Modes, owners, times and extended attributes.

use handfast::files::Attributes;
use handfast::{Timestamp, Verb};

use crate::error::Error;
use crate::pipeline::Request;
use crate::session::Session;
use crate::vpath::AsVirtualPath;

impl Session {
    /// Changes permission bits. In an overlay the file is copied up first.
    ///
    /// # Errors
    /// As [`Session::write`]; `HardLink` if the file has other names.
    pub fn chmod(&self, path: impl AsVirtualPath, mode: u32) -> Result<(), Error> {
        self.set_attributes(path, &Attributes::new().mode(mode))
    }

    /// Changes owner and group, in a read-write mount.
    ///
    /// # Errors
    /// `Unsupported` in an overlay; otherwise as [`handfast::Root::chown`].
    pub fn chown(
        &self,
        path: impl AsVirtualPath,
        uid: Option<u32>,
        gid: Option<u32>,
    ) -> Result<(), Error> {
        self.set_attributes(path, &Attributes::new().owner(uid, gid))
    }

    /// Changes access and modification times. An overlay keeps them for files until they are
    /// committed.
    ///
    /// # Errors
    /// As [`Session::write`].
    pub fn set_times(
        &self,
        path: impl AsVirtualPath,
        accessed: Option<Timestamp>,
        modified: Option<Timestamp>,
    ) -> Result<(), Error> {
        self.set_attributes(path, &Attributes::new().times(accessed, modified))
    }

    /// Changes several attributes.
    ///
    /// # Errors
    /// As [`Session::chmod`], [`Session::chown`] and [`Session::set_times`].
    pub fn set_attributes(
        &self,
        path: impl AsVirtualPath,
        attributes: &Attributes,
    ) -> Result<(), Error> {
        let verb = attributes.verb();
        self.set_attributes_as(Request::change(verb, &path), attributes)
    }

    pub(crate) fn set_attributes_as(
        &self,
        request: Request<'_>,
        attributes: &Attributes,
    ) -> Result<(), Error> {
        self.act(request, |place, guard, _| {
            place
                .mount
                .layer
                .set_attributes(place.spot(), guard, attributes)
        })
    }

    /// Reads an extended attribute in `user.`.
    ///
    /// # Errors
    /// As [`handfast::Root::get_xattr`].
    pub fn get_xattr(
        &self,
        path: impl AsVirtualPath,
        name: &str,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.get_xattr_as(Request::look(Verb::GetXattr, &path), name)
    }

    pub(crate) fn get_xattr_as(
        &self,
        request: Request<'_>,
        name: &str,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.act(request, |place, guard, op| {
            op.allow(place.mount, None)?;
            let spot = place.spot().judged_by(guard);
            place.mount.layer.get_xattr(spot, name)
        })
    }

    /// Lists the extended attributes in `user.`.
    ///
    /// # Errors
    /// As [`handfast::Root::list_xattrs`].
    pub fn list_xattrs(&self, path: impl AsVirtualPath) -> Result<Vec<String>, Error> {
        self.list_xattrs_as(Request::look(Verb::ListXattr, &path))
    }

    pub(crate) fn list_xattrs_as(&self, request: Request<'_>) -> Result<Vec<String>, Error> {
        self.act(request, |place, guard, op| {
            op.allow(place.mount, None)?;
            let spot = place.spot().judged_by(guard);
            place.mount.layer.list_xattrs(spot)
        })
    }

    /// Sets an extended attribute in `user.`.
    ///
    /// # Errors
    /// `Unsupported` for directories in an overlay; otherwise as [`handfast::Root::set_xattr`].
    pub fn set_xattr(
        &self,
        path: impl AsVirtualPath,
        name: &str,
        value: &[u8],
    ) -> Result<(), Error> {
        self.set_xattr_as(Request::change(Verb::SetXattr, &path), name, Some(value))
    }

    /// Removes an extended attribute in `user.`.
    ///
    /// # Errors
    /// `Unsupported` for directories in an overlay; otherwise as [`handfast::Root::remove_xattr`].
    pub fn remove_xattr(&self, path: impl AsVirtualPath, name: &str) -> Result<(), Error> {
        self.set_xattr_as(Request::change(Verb::RemoveXattr, &path), name, None)
    }

    pub(crate) fn set_xattr_as(
        &self,
        request: Request<'_>,
        name: &str,
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        self.act(request, |place, guard, _| {
            let layer = &place.mount.layer;
            layer.set_xattr(place.spot(), guard, name, value)
        })
    }
}
