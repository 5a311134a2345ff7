//! `handfast top`: a broker, live.

mod keys;
mod screen;
mod snapshot;

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease::{connect, told};
use crate::output::Output;
use snapshot::Snapshot;

/// Watch a broker: leases, who holds them, rates, refusals
///
/// What belongs to other users is shown to the broker's own user and to root. On a terminal the
/// picture is redrawn until `q` or Ctrl-C; elsewhere it is printed once.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help!("  handfast top\n  handfast top --once --json"))]
pub(crate) struct TopArgs {
    /// Talk to this broker [default: $HANDFAST_SOCKET, or below the user's runtime directory]
    #[arg(long, value_name = "PATH")]
    socket: Option<OsString>,

    /// Redraw after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,

    /// Print one picture and end
    #[arg(long)]
    once: bool,
}

/// The picture when there is no terminal to fit it to.
const WIDE: screen::Size = screen::Size {
    columns: 160,
    rows: usize::MAX,
};

impl TopArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        match self.watch(out) {
            Ok(()) => Exit::Yes,
            Err(failure) => {
                out.failure(&failure);
                failure.exit
            }
        }
    }

    fn watch(&self, out: &mut Output) -> Result<(), Box<Failure>> {
        let mut client = connect("top", self.socket.as_deref())?;
        let terminal = Output::is_terminal();
        // Programs that read lines of JSON say themselves when they have seen enough.
        let once = self.once || !(terminal || out.is_json());
        // Without a terminal to draw on, nothing is typed either.
        let keys = (!once && terminal).then(keys::Keys::listen);
        let mut before = None;
        loop {
            let now = Snapshot::take(&mut client)
                .map_err(|error| told::failed("watch the broker", b"", &error))?;
            if out.is_json() {
                out.object(true, screen::object(&now, before.as_ref()));
            } else {
                let size = if once {
                    WIDE
                } else {
                    screen::Size::of_terminal()
                };
                if !once {
                    // Home, and clear to the end: no mode is set that would have to be reset.
                    out.data(b"\x1b[H\x1b[J");
                }
                for line in screen::lines(&now, before.as_ref(), size) {
                    out.line(&line);
                }
            }
            out.flush();
            if once || !out.is_open() {
                return Ok(());
            }
            before = Some(now);
            let interval = Duration::from_secs(self.interval);
            match &keys {
                Some(keys) if keys.quit_within(interval) => return Ok(()),
                Some(_) => {}
                None => std::thread::sleep(interval),
            }
        }
    }
}
