//! The entries of a directory, by `getdents`.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;

/// As much as one `getdents` call may answer: as in the library.
pub const BUFFER: usize = 32 * 1024;

/// Tells every entry but `.` and `..`, straight from the kernel's buffer.
///
/// # Errors
/// The system's number, or what `tell` answers.
#[inline]
pub fn list(
    dir: BorrowedFd<'_>,
    buffer: &mut [MaybeUninit<u8>],
    mut tell: impl FnMut(&CStr, FileType) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut entries = RawDir::new(dir, buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        tell(name, entry.file_type())?;
    }
    Ok(())
}
