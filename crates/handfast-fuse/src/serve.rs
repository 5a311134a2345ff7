//! A mount that is served in the background.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use fuser::{BackgroundSession, Config, SessionACL};

use crate::face::Face;
use crate::follow::Follower;
use crate::threads::ServerThreads;
use crate::watch::Watch;

/// Requests that are worked on at a time, besides those that wait for a person.
const THREADS: usize = 8;

/// A mount that is being served, until it is dropped or unmounted.
#[derive(Debug)]
pub struct Served {
    session: BackgroundSession,
    /// Tells the kernel of changes that are made past the mount.
    follower: Option<Follower>,
    watch: Option<Arc<Watch>>,
    turns: Arc<ServerThreads>,
}

impl Served {
    /// Whether some directory could not be watched, so that what lies in it was cached for the short
    /// time only.
    #[must_use]
    pub fn is_partly_unwatched(&self) -> bool {
        self.watch.as_ref().is_none_or(|watch| watch.is_short())
    }

    /// Waits until the mount is gone.
    ///
    /// # Errors
    /// What the device said at the end.
    pub fn join(self) -> io::Result<()> {
        self.turns.end();
        let ended = self.session.join();
        drop(self.follower);
        ended
    }
}

/// Serves a mount through its device. Returns once the kernel has shaken hands.
///
/// # Errors
/// What the device says.
pub fn serve(mut face: Face, device: OwnedFd) -> io::Result<Served> {
    let mut config = Config::default();
    let threads = THREADS + face.waiting;
    let turns = ServerThreads::new(threads);
    face.turns = Arc::clone(&turns);
    config.n_threads = Some(threads);
    config.clone_fd = true;
    // Who may use the mount is the kernel's to decide, by the options of the mount.
    let watch = face.watch.clone();
    let (table, files) = (Arc::clone(&face.table), Arc::clone(&face.files));
    let notifier = Arc::clone(&face.notifier);
    let session = fuser::Session::from_fd(face, device, SessionACL::All, config)?;
    drop(notifier.set(session.notifier()));
    let follower = match &watch {
        Some(watch) => Some(Follower::start(
            Arc::clone(watch),
            table,
            files,
            session.notifier(),
        )?),
        None => None,
    };
    let session = session.spawn()?;
    Ok(Served {
        session,
        follower,
        watch,
        turns,
    })
}
