//! The keys that end the picture: `q`, Ctrl-C and Ctrl-D.

use std::io::{IsTerminal, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// What ends the picture. The terminal gives Ctrl-C and Ctrl-D as bytes.
const QUIT: [u8; 4] = [b'q', b'Q', 3, 4];

/// Keys as they are typed, without Return and without an echo. The terminal is as it was when this
/// is dropped.
pub(super) struct Keys {
    typed: Receiver<u8>,
    before: Option<Termios>,
}

impl Keys {
    /// Listens on standard input, if that is a terminal.
    pub(super) fn listen() -> Self {
        let (send, typed) = channel();
        let before = std::io::stdin()
            .is_terminal()
            .then(|| tcgetattr(std::io::stdin()).ok())
            .flatten();
        if let Some(before) = &before {
            let mut raw = before.clone();
            raw.local_modes
                .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
            // Where it cannot be set, `q` takes a Return.
            tcsetattr(std::io::stdin(), OptionalActions::Now, &raw).ok();
            // It waits in a read when the process ends, and ends with it.
            std::thread::spawn(move || {
                let bytes = std::io::stdin().lock().bytes();
                for byte in bytes.map_while(Result::ok) {
                    if send.send(byte).is_err() {
                        return;
                    }
                }
            });
        }
        Self { typed, before }
    }

    /// Waits for a key or until the time is over; whether the key means quit.
    pub(super) fn quit_within(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.typed.recv_timeout(left) {
                Ok(key) if QUIT.contains(&key) => return true,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return false,
                // Nobody types here; the picture is drawn until a signal comes.
                Err(RecvTimeoutError::Disconnected) => {
                    std::thread::sleep(until.saturating_duration_since(Instant::now()));
                    return false;
                }
            }
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            tcsetattr(std::io::stdin(), OptionalActions::Now, before).ok();
        }
    }
}
