//! A mount that is served in the background.

use std::io;
use std::os::fd::OwnedFd;

use fuser::{BackgroundSession, Config, SessionACL};

use crate::face::Face;

/// Requests that are worked on at a time.
const THREADS: usize = 8;

/// A mount that is being served, until it is dropped or unmounted.
#[derive(Debug)]
pub struct Served(BackgroundSession);

impl Served {
    /// Waits until the mount is gone.
    ///
    /// # Errors
    /// What the device said at the end.
    pub fn join(self) -> io::Result<()> {
        self.0.join()
    }
}

/// Serves a mount through its device. Returns once the kernel has shaken hands.
///
/// # Errors
/// What the device says.
pub fn serve(face: Face, device: OwnedFd) -> io::Result<Served> {
    let mut config = Config::default();
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    // Who may use the mount is the kernel's to decide, by the options of the mount.
    fuser::Session::from_fd(face, device, SessionACL::All, config)?
        .spawn()
        .map(Served)
}
