//! Keys, one by one, as they are pressed.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The terminal without line editing; it is as before once this is dropped.
pub(super) struct Keys {
    before: Termios,
}

impl Keys {
    /// Takes the keys of the terminal on standard input; nothing if there is none.
    pub(super) fn take() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut now = before.clone();
        // Ctrl-C comes as a key too: by a signal the terminal would stay as it is.
        now.local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        tcsetattr(io::stdin(), OptionalActions::Now, &now).ok()?;
        Some(Self { before })
    }

    /// What is typed within a time; nothing if it passes. A terminal that is gone types Ctrl-D.
    pub(super) fn typed(&self, until: Instant) -> Vec<u8> {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left.max(Duration::from_millis(1))).ok();
        let input = io::stdin();
        let mut wanted = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut wanted, timeout.as_ref()) {
            Ok(0) | Err(_) => return Vec::new(),
            Ok(_) => {}
        }
        let mut keys = [0; 256];
        match rustix::io::read(&input, &mut keys) {
            Ok(0) | Err(_) => vec![4],
            Ok(count) => keys[..count].to_vec(),
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // There is nobody to tell.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
