//! Extended attributes in `user.`: kept with the content in the store, and committed with it.
//!
//! Directories of an overlay have none; those of the base can be read. Links have none anywhere.

use std::os::fd::AsFd;

use handfast::{ErrorKind, FileKind, RelPath};
use rustix::fs::XattrFlags;
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::Overlay;
use super::base::Standing;
use super::change::refuse_top;
use super::look::Where;
use super::store::object_path;
use crate::error::Error;
use crate::meter::Key;
use crate::place::{Guard, Spot};

/// No filesystem keeps more, names or value.
const MAX_BYTES: usize = 64 * 1024;

/// Objects have no device; their attributes are charged as if this were one.
const ATTRIBUTES: u64 = 1;

/// Names that are not copied: marks of the library on files that it stages.
const OWN: &[u8] = b"user.handfast.";

impl Overlay {
    pub(crate) fn get_xattr(&self, spot: Spot<'_>, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.again(spot, |place| match place {
            Where::Top => self.base.get_xattr(&RelPath::root(), name),
            Where::Base(at) | Where::MovedFile(at) | Where::Dir(_, Some(at), ..) => {
                self.refuse_link(at)?;
                self.base.get_xattr(at, name)
            }
            Where::Object(id, _) => self.store.get_xattr(&object_path(*id), name),
            Where::Dir(..) => Ok(None),
            Where::Link(..) => Err(super::tree::link()),
        })
    }

    pub(crate) fn list_xattrs(&self, spot: Spot<'_>) -> Result<Vec<String>, Error> {
        self.again(spot, |place| match place {
            Where::Top => self.base.list_xattrs(&RelPath::root()),
            Where::Base(at) | Where::MovedFile(at) | Where::Dir(_, Some(at), ..) => {
                self.refuse_link(at)?;
                self.base.list_xattrs(at)
            }
            Where::Object(id, _) => self.store.list_xattrs(&object_path(*id)),
            Where::Dir(..) => Ok(Vec::new()),
            Where::Link(..) => Err(super::tree::link()),
        })
    }

    /// A link leads to another name, which may be denied: the attributes of what it names are asked for there.
    fn refuse_link(&self, at: &RelPath) -> Result<(), Error> {
        match self.base.symlink_metadata(at)?.kind {
            FileKind::Symlink => Err(super::tree::link()),
            _ => Ok(()),
        }
    }

    /// Sets an attribute of a file, or removes it. The file is copied up first.
    pub(crate) fn set_xattr(
        &self,
        spot: Spot<'_>,
        guard: &Guard<'_>,
        name: &str,
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        if !name.starts_with("user.") || name.as_bytes().starts_with(OWN) {
            // Before anything is copied up. The store says the same.
            return Err(Error::refused(
                ErrorKind::Denied,
                "only attributes in `user.` are touched, and not those in `user.handfast.`",
            ));
        }
        let locked = self.begin()?;
        let path = &self.judged(&locked, spot, guard)?;
        refuse_top(path)?;
        let tree = locked.state().tree.clone_spine(path);
        match self.standing(&tree, path)? {
            Standing::File(_) => {}
            Standing::Missing => {
                return Err(Error::refused(ErrorKind::NotFound, "nothing is there"));
            }
            Standing::Link => return Err(super::tree::link()),
            Standing::Dir => {
                return Err(Error::refused(
                    ErrorKind::Unsupported,
                    "an overlay keeps no extended attributes of directories",
                ));
            }
        }
        let id = self.own_object(&locked, path, Some(guard))?;
        let object = object_path(id);
        if self.account.is_counting() {
            let mut all = self.xattrs_of(id);
            all.retain(|(known, _)| known != name.as_bytes());
            all.extend(value.map(|value| (name.as_bytes().to_vec(), value.to_vec())));
            self.charge_xattrs(id, &all)?;
        }
        match value {
            Some(value) => self.store.set_xattr(&object, name, value),
            None => self.store.remove_xattr(&object, name),
        }
    }
}

impl Overlay {
    /// Charges what the attributes of an object will take: names and values.
    pub(super) fn charge_xattrs(&self, id: u64, all: &Xattrs) -> Result<(), Error> {
        let key = self.attribute_key(id);
        self.account.charge(key, bytes_of(all), false, None)
    }

    /// The attributes of an object, for the account. None of one that its mode keeps from us.
    pub(super) fn xattrs_of(&self, id: u64) -> Xattrs {
        let object = self.store.open(&object_path(id));
        let all = object.and_then(read_xattrs);
        all.unwrap_or_default()
    }

    /// Under which attributes are charged: apart from the content, whose length is set again and again.
    pub(super) fn attribute_key(&self, id: u64) -> Key {
        let device = ATTRIBUTES;
        Key {
            device,
            ..self.key(id)
        }
    }
}

pub(super) fn bytes_of(all: &Xattrs) -> u64 {
    let each = all.iter();
    each.map(|(name, value)| (name.len() + value.len()) as u64)
        .sum()
}

/// Names with values, in order.
pub(super) type Xattrs = Vec<(Vec<u8>, Vec<u8>)>;

/// Whether a file has attributes that it got from where it lies: security labels, access control
/// lists, marks of the library. In another place it would have others.
pub(super) fn has_foreign_xattrs(file: impl AsFd) -> Result<bool, Error> {
    let mut names = [0; 4096];
    match rustix::fs::flistxattr(&file, &mut names[..]) {
        Ok(len) => Ok(names[..len].split(|byte| *byte == 0).any(|name| {
            !name.is_empty() && (!name.starts_with(b"user.") || name.starts_with(OWN))
        })),
        Err(Errno::OPNOTSUPP) => Ok(false),
        // So many that they are looked at one by one.
        Err(Errno::RANGE) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}

/// Every attribute of an open file in `user.`. Nothing where the filesystem has none.
pub(super) fn read_xattrs(file: impl AsFd) -> Result<Xattrs, Error> {
    let mut names = vec![0; MAX_BYTES];
    let len = match rustix::fs::flistxattr(&file, &mut names[..]) {
        Ok(0) | Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
        listed => listed?,
    };
    let mut found = Vec::new();
    for name in names[..len].split(|byte| *byte == 0) {
        if !name.starts_with(b"user.") || name.starts_with(OWN) {
            continue;
        }
        let mut value = vec![0; MAX_BYTES];
        match rustix::fs::fgetxattr(&file, name, &mut value[..]) {
            Ok(len) => value.truncate(len),
            // Somebody removed it meanwhile.
            Err(Errno::NODATA) => continue,
            Err(errno) => return Err(errno.into()),
        }
        found.push((name.to_vec(), value));
    }
    found.sort();
    Ok(found)
}

/// Gives an open file attributes.
pub(super) fn write_xattrs(file: impl AsFd, attributes: &Xattrs) -> Result<(), Error> {
    for (name, value) in attributes {
        rustix::fs::fsetxattr(&file, name.as_slice(), value, XattrFlags::empty())?;
    }
    Ok(())
}

/// The attributes in words, each with its value: what a commit writes is shown.
pub(super) fn shown_xattrs(file: impl AsFd) -> Vec<String> {
    let shown = |(name, value): (Vec<u8>, Vec<u8>)| {
        let value = match value.len() {
            0..=40 => handfast::escape(&value),
            _ => format!("sha256:{}", crate::change::hex(&Sha256::digest(&value))),
        };
        format!("{}={value}", handfast::escape(&name))
    };
    // Not every filesystem has them.
    let all = read_xattrs(file).unwrap_or_default();
    all.into_iter().map(shown).collect()
}
