//! The terminal, which a program has while it runs and gives back.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use rustix::termios::{OptionalActions, Termios};

use crate::sys;

/// The terminal of a person who waits for the program.
pub(crate) struct Terminal {
    device: OwnedFd,
    own_group: Pid,
    before: Termios,
}

impl Terminal {
    /// The terminal, if this process is in its foreground: otherwise nothing is to be given.
    pub(crate) fn find() -> Option<Self> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
        let device = rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?;
        let own_group = rustix::process::getpgrp();
        if rustix::termios::tcgetpgrp(&device).ok()? != own_group {
            return None;
        }
        let before = rustix::termios::tcgetattr(&device).ok()?;
        Some(Self {
            device,
            own_group,
            before,
        })
    }

    /// Gives the terminal to the program's group.
    pub(crate) fn give(&self, group: Pid) {
        self.set(group);
    }

    /// Takes the terminal back, as it was.
    pub(crate) fn take_back(&self) {
        self.set(self.own_group);
        // A terminal that is gone needs nothing.
        let _ = rustix::termios::tcsetattr(&self.device, OptionalActions::Drain, &self.before);
    }

    fn set(&self, group: Pid) {
        // From the background this would stop us.
        sys::ignore_signal(libc::SIGTTOU, true);
        let _ = rustix::termios::tcsetpgrp(&self.device, group);
        sys::ignore_signal(libc::SIGTTOU, false);
    }
}
