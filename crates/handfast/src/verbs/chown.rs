//! Change owner and group.

use super::chmod::pin_for_change;
use crate::error::{Error, ErrorKind, Fault};
use crate::path::RelPath;
use crate::root::Root;
use crate::sys;
use crate::verb::Verb;

impl Root {
    /// Changes owner and group of a file or directory; `None` leaves one as it is. A final link is
    /// followed only where links may be.
    ///
    /// # Errors
    /// `Denied` if the caller may not; `HardLink` if the file has other names; `Kind` for special
    /// files.
    ///
    /// # Security
    /// The owner is changed through the descriptor of the object that was judged.
    pub fn chown(&self, path: &RelPath, uid: Option<u32>, gid: Option<u32>) -> Result<(), Error> {
        self.act(Verb::Chown, path, |op| {
            // The kernel takes this number for "leave it as it is".
            if uid == Some(u32::MAX) || gid == Some(u32::MAX) {
                return Err(Fault::rule(ErrorKind::Invalid, "not a user or group"));
            }
            let (pin, _) = pin_for_change(self, path, op)?;
            sys::chown_pinned(&pin, uid, gid)
        })
    }
}
