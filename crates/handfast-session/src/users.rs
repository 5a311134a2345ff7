//! Who has a session open.
//!
//! A process that has a session open holds a shared lock on its description, which nobody ever locks
//! otherwise; the kernel lets go of it when the process ends, however it ends. Who holds it stands in
//! `/proc/locks`.

use std::fs::File;

use handfast::{Metadata, RelPath, Root};
use rustix::fs::FlockOperation;

use crate::error::Error;
use crate::state::{Catalogue, SPEC};

/// Says that a session is open, for as long as it lives.
pub(crate) fn announce(home: &Root) -> Result<File, Error> {
    let spec = home.open(&RelPath::parse(SPEC)?)?.into_std();
    match rustix::fs::flock(&spec, FlockOperation::NonBlockingLockShared) {
        // On a filesystem without locks nobody is known to use it.
        Ok(()) | Err(_) => Ok(spec),
    }
}

impl Catalogue {
    /// The processes that have a session open, but for this one. `None` if that cannot be told: the
    /// kernel does not show its locks here. Processes that lie outside of this PID namespace are not
    /// seen.
    ///
    /// # Errors
    /// `NotFound`; what the disk says.
    pub fn users(&self, name: &str) -> Result<Option<Vec<u32>>, Error> {
        let spec = self.home(name)?.metadata(&RelPath::parse(SPEC)?)?;
        let Some(locks) = kernel_locks() else {
            return Ok(None);
        };
        let own = std::process::id();
        let mut found: Vec<u32> = locks
            .lines()
            .filter_map(|line| holder(line, &spec))
            .filter(|pid| *pid != own)
            .collect();
        found.sort_unstable();
        found.dedup();
        Ok(Some(found))
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "a file of the kernel, by the only path it has"
)]
fn kernel_locks() -> Option<String> {
    std::fs::read_to_string("/proc/locks").ok()
}

/// The process of a line of `/proc/locks`, if the line is about a file:
/// `1: FLOCK  ADVISORY  READ 1234 fd:01:131 0 EOF`.
fn holder(line: &str, file: &Metadata) -> Option<u32> {
    let mut words = line.split_whitespace().skip(1);
    let (kind, _, _) = (words.next()?, words.next()?, words.next()?);
    let pid: u32 = words.next()?.parse().ok()?;
    let mut place = words.next()?.rsplitn(2, ':');
    let inode: u64 = place.next()?.parse().ok()?;
    let (major, minor) = place.next()?.split_once(':')?;
    let [major, minor] = [major, minor].map(|hex| u32::from_str_radix(hex, 16).ok());
    let device = rustix::fs::makedev(major?, minor?);
    // Filesystems of many volumes tell each file another device than their own, which has no major
    // number.
    let is_here = device == file.identity.device || rustix::fs::major(file.identity.device) == 0;
    (kind == "FLOCK" && inode == file.identity.inode && is_here && pid != 0).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_told_by_its_file() {
        let here = Root::open_ambient(std::env::temp_dir()).unwrap();
        let mut file = here.metadata(&RelPath::root()).unwrap();
        file.identity.device = rustix::fs::makedev(0xfd, 1);
        file.identity.inode = 131;
        let line = "1: FLOCK  ADVISORY  READ 1234 fd:01:131 0 EOF";
        assert_eq!(holder(line, &file), Some(1234));
        for other in [
            "1: FLOCK  ADVISORY  READ 1234 fd:01:132 0 EOF",
            "1: FLOCK  ADVISORY  READ 1234 fd:02:131 0 EOF",
            "1: OFDLCK ADVISORY  READ -1 fd:01:131 0 EOF",
            "1: POSIX  ADVISORY  WRITE 1234 fd:01:131 0 EOF",
            "1: -> FLOCK  ADVISORY  WRITE 1234 fd:01:131 0 EOF",
            "",
        ] {
            assert_eq!(holder(other, &file), None, "{other}");
        }
        file.identity.device = rustix::fs::makedev(0, 40);
        assert_eq!(holder(line, &file), Some(1234));
    }
}
