//! Change access and modification times.

use rustix::fs::{Timespec, Timestamps, UTIME_OMIT};

use super::chmod::pin_for_change;
use crate::error::{Error, ErrorKind, Fault};
use crate::metadata::Timestamp;
use crate::path::RelPath;
use crate::root::Root;
use crate::sys;
use crate::verb::Verb;

impl Root {
    /// Changes when a file or directory was last read and last modified; `None` leaves one as it
    /// is. A final link is followed only where links may be.
    ///
    /// # Errors
    /// `Denied` if the caller may not; `HardLink` if the file has other names; `Kind` for special
    /// files.
    ///
    /// # Security
    /// The times are changed through the descriptor of the object that was judged.
    pub fn set_times(
        &self,
        path: &RelPath,
        accessed: Option<Timestamp>,
        modified: Option<Timestamp>,
    ) -> Result<(), Error> {
        let times = Timestamps {
            last_access: timespec(accessed),
            last_modification: timespec(modified),
        };
        self.act(Verb::SetTimes, path, |op| {
            // The kernel takes two of these numbers for "now" and "leave it as it is".
            let is_time = |time: &Timestamp| time.nanoseconds < 1_000_000_000;
            if !accessed.iter().chain(&modified).all(is_time) {
                return Err(Fault::rule(ErrorKind::Invalid, "not a time"));
            }
            let (pin, _) = pin_for_change(self, path, op)?;
            sys::set_times_pinned(&pin, &times)
        })
    }
}

fn timespec(time: Option<Timestamp>) -> Timespec {
    match time {
        Some(time) => Timespec {
            tv_sec: time.seconds,
            tv_nsec: time.nanoseconds.into(),
        },
        None => Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
    }
}
